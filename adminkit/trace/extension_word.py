"""The word by which `adminkit extend` says how much more time a running job was given (docs/comment-words.md).

adminkit-ingest reads the very same grammar from sacct's text (kind `admin_comment`); tests hold the two together.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from adminkit.trace.comment_words import EXTENDED

_WORD: Final = re.compile(rf"(?:(?<= )|\A){EXTENDED.prefix}:asked=([0-9]+),lim=([0-9]+),n=([0-9]+)(?= |\Z)")
#: SQLite's largest integer, and C's of 32 bits: a number is read as the largest that fits.
_MOST: Final = (2**63 - 1, 2**63 - 1, 2**32 - 1)


class Extension(NamedTuple):
    """Limits in seconds; `times` 0: everything was taken back."""

    asked: int
    limit: int
    times: int


def extension_of(comment: str) -> Extension | None:
    """The first whole word of AdminComment, which the job's owner cannot write; None for none."""
    found = _WORD.search(comment)
    return None if found is None else Extension(*map(_number, found.groups(), _MOST))


def _number(digits: str, most: int) -> int:
    """Trap: int() refuses thousands of digits."""
    return most if len(digits.lstrip("0")) > len(str(most)) else min(int(digits.lstrip("0") or "0"), most)
