"""The two words of AdminComment by which an extension is known (docs/comment-words.md).

What was given stands in the job itself, written by the same update as its limit: both hold, or neither does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adminkit.trace.comment_words import EXTENDED, RECORD
from adminkit.trace.word_parts import COMMENT_MAX

#: Keys that stand before `ext` are read over, those of a later release too; the rules end a record.
_OPTED_IN: Final = re.compile(
    rf"{RECORD.prefix}:lim=\w+,src=[ed](?:,(?!ext=|rules=)[a-z]+=[A-Za-z0-9_.+-]+)*,ext=auto(?=[, ]|\Z)", re.ASCII
)
_GIVEN: Final = re.compile(
    rf"(?:(?<= )|\A){EXTENDED.prefix}:asked=(\d{{1,12}}),lim=(\d{{1,12}}),n=(\d{{1,4}})(?= |\Z)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Given:
    """`asked`: the limit before the first extension; `limit`: the one that was set last, both in seconds; `times`: the
    raises that stand.
    """

    asked: int
    limit: int
    times: int

    def __str__(self) -> str:
        return f"{EXTENDED.prefix}:asked={self.asked},lim={self.limit},n={self.times}"


def opted_in(comment: str) -> bool:
    """Whether the job is to be extended, by the policy's record, which its user cannot write."""
    return _OPTED_IN.match(comment) is not None


def given_of(comment: str) -> Given | None:
    """What the job was given; None where it never was."""
    found = _GIVEN.search(comment)
    return None if found is None else Given(int(found[1]), int(found[2]), int(found[3]))


def with_given(comment: str, given: Given) -> str | None:
    """The comment with this word in the place of its own; all other words stay to the byte. None: no room for it."""
    found = _GIVEN.search(comment)
    if found is not None:
        text = f"{comment[: found.start()]}{given}{comment[found.end() :]}"
    else:
        text = f"{comment} {given}" if comment else str(given)
    return text if len(text.encode("utf-8", "replace")) <= COMMENT_MAX else None
