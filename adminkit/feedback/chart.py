"""The chart of a letter: bars of the time that was asked for and the part of it that was used.

In HTML a bar is a table of two cells, which mail programs show without being asked to load pictures; in plain text it
is made of # and dots. The numbers stand beside each bar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: Characters of the longest bar in the plain text.
COLUMNS: Final = 32


@dataclass(frozen=True, slots=True)
class Bar:
    """One run, array or week; the longest `asked` or `used` of a chart has its full width."""

    label: str
    used: int  # seconds; of an array its longest task
    asked: int | None  # seconds; None for no limit
    full: int  # used; percent of the chart's width
    empty: int  # asked for and not used; the same
    text: str  # the same in characters


def bars(rows: Sequence[tuple[str, int, int | None]]) -> list[Bar]:
    """The bars of rows (label, used, asked); seconds."""
    longest = max((max(used, asked or 0) for _, used, asked in rows), default=0) or 1
    return [_bar(label, used, asked, longest) for label, used, asked in rows]


def _bar(label: str, used: int, asked: int | None, longest: int) -> Bar:
    whole = max(used, asked or 0)
    full, columns = _of(used, longest, 100), _of(used, longest, COLUMNS)
    text = "#" * columns + "." * (_of(whole, longest, COLUMNS) - columns)
    return Bar(label, used, asked, full, _of(whole, longest, 100) - full, text)


def _of(value: int, longest: int, length: int) -> int:
    """`value` scaled to `length`; a value above 0 is at least 1."""
    return min(max(round(length * value / longest), 1 if value else 0), length)
