"""Whose jobs a rule looks at, as a phrase that stands for {whose} in a text: "in gq", "of the QOS low in gq".

Lua fills in what the phrase names: of several queues, QOS, accounts or classes the ones of the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adminkit.messages import catalogue, template
from adminkit.policy.model import Rule

#: Condition -> its words, in the order in which they are said.
_PLACES: Final[Mapping[str, str]] = {
    "queues": template("in {queue}"),
    "accounts": template("under the account {account}"),
    "qos": template("of the QOS {qos}"),
}
_YOURS: Final = template("of yours")
_CLASS: Final = template("of the class {class_in}")  # that the rule is for
_TWO: Final = template("{first} {second}")
_OF_CLASS: Final = template("{class} {others}")
_ALL: Final = template("on this cluster")  # of a rule without conditions


def whose(rule: Rule, language: str) -> str:
    """The phrase for this rule: all its conditions but the exceptions."""
    say = catalogue(language).gettext
    phrase = ""
    for name, words in _PLACES.items():
        if getattr(rule, name) is not None:
            phrase = say(_TWO).format(first=phrase, second=say(words)) if phrase else say(words)
    if rule.classes is not None:
        phrase = say(_OF_CLASS).format(**{"class": say(_CLASS), "others": phrase}) if phrase else say(_CLASS)
    if rule.users is not None:
        phrase = say(_TWO).format(first=say(_YOURS), second=phrase) if phrase else say(_YOURS)
    return phrase or say(_ALL)
