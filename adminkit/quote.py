"""Text that somebody else wrote, made safe for one line of output: no terminal control characters, and short."""

from __future__ import annotations

import unicodedata
from typing import Final

#: Characters of such a text in one place, at most.
MOST: Final = 60
#: Control, format (bidirectional marks …), surrogate, line and paragraph separators.
_STEERING: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")


def clean(text: str) -> str:
    """`text` without characters that steer a terminal or reorder a line; each is shown as its escape."""
    return "".join(c if unicodedata.category(c) not in _STEERING else repr(c)[1:-1] for c in text)


def quote(text: str, most: int = MOST) -> str:
    """`text` clean and cut to `most` characters; a text that is cut ends in …."""
    shown = clean(text[: most + 1])
    return shown if len(shown) <= most else shown[: most - 1] + "…"
