"""Whose jobs a rule looks at, as a phrase that stands for {whose} in a text: "in gq", "of the QOS low in gq".

Lua fills in what the phrase names: of several queues, QOS, accounts or classes the ones of the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adminkit.policy.model import Rule

#: Language -> condition -> its words, in the order in which they are said. {class_in} is that the rule is for.
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "users": "of yours",
        "classes": "of the class {class_in}",
        "queues": "in {queue}",
        "accounts": "under the account {account}",
        "qos": "of the QOS {qos}",
    },
    "ja": {
        "users": "あなた",
        "queues": "{queue}",
        "accounts": "アカウント {account}",
        "qos": "QOS {qos}",
        "classes": "クラス {class_in}",
    },
}
_BETWEEN: Final = {"en": " ", "ja": " の "}
#: Of a rule without conditions.
_ALL: Final = {"en": "on this cluster", "ja": "このクラスタ"}


def whose(rule: Rule, language: str) -> str:
    """The phrase for this rule: all its conditions but the exceptions."""
    words = [word for name, word in _WORDS[language].items() if getattr(rule, name) is not None]
    return _BETWEEN[language].join(words) or _ALL[language]
