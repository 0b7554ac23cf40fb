"""Rows with long texts, for the terminal: each row on one line, its texts on lines of their own below it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

from adminkit.render.format import NONE
from adminkit.render.report import Field

_INDENT: Final = "    "
_GAP: Final = "  "
_STAY: Final = "\u00a0"  # a blank at which no line ends


def records(fields: Sequence[Field], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The lines: a header, then each row with its texts, none wider than `width`. A column that is empty in every row
    is left out; one that does not fit beside those before it stands below, with its name. A cell of the first column
    that does not fit is cut, and its end is an ellipsis.
    """
    main = [
        place
        for place, field in enumerate(fields)
        if not field.below and (place == 0 or any(row[place] != NONE for row in rows))
    ]
    wide = {place: max(map(cell_len, (fields[place].name, *(row[place] for row in rows)))) for place in main}
    beside = _fitting(main, wide, width)
    below = [place for place, field in enumerate(fields) if field.below]
    lines = ["", _line([fields[place].name for place in beside], beside, fields, wide, width)]
    for row in rows:
        lines += ["", _line([row[place] for place in beside], beside, fields, wide, width)]
        named = [f"{fields[place].name}{_STAY}{row[place]}" for place in main[len(beside) :] if row[place] != NONE]
        for text in (_GAP.join(named), *(row[place] for place in below if row[place] != NONE)):
            wrapped = textwrap.wrap(
                text, max(width, 40), initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False
            )
            lines += [line.replace(_STAY, " ") for line in wrapped]
    return lines


def _fitting(places: Sequence[int], wide: Mapping[int, int], width: int) -> Sequence[int]:
    """The first of these columns that stand beside each other in `width`; one at least."""
    used = 0
    for count, place in enumerate(places):
        used += wide[place] + (len(_GAP) if count else 0)
        if count and used > width:
            return places[:count]
    return places


def _line(
    cells: Sequence[str], places: Sequence[int], fields: Sequence[Field], wide: Mapping[int, int], width: int
) -> str:
    padded = []
    for cell, place in zip(cells, places, strict=True):
        blanks = " " * (wide[place] - cell_len(cell))
        padded.append(cell + blanks if fields[place].style == "text" else blanks + cell)
    line = _GAP.join(padded).rstrip()
    return line if cell_len(line) <= width else set_cell_size(line, width - 1) + "…"
