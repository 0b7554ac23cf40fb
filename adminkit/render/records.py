"""Rows with long texts, for the terminal: each row on one line, its texts on lines of their own below it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

from adminkit.render.format import NONE
from adminkit.render.report import Field

_INDENT: Final = "    "


def records(fields: Sequence[Field], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The lines: a header, then each row with its texts, none wider than `width`. A column that is empty in every row
    is left out; a cell that does not fit is cut, and its end is an ellipsis."""
    main = [
        place
        for place, field in enumerate(fields)
        if not field.below and (place == 0 or any(row[place] != NONE for row in rows))
    ]
    below = [place for place, field in enumerate(fields) if field.below]
    wide = {place: max(map(cell_len, (fields[place].name, *(row[place] for row in rows)))) for place in main}
    lines = ["", _line([fields[place].name for place in main], main, fields, wide, width)]
    for row in rows:
        lines += ["", _line([row[place] for place in main], main, fields, wide, width)]
        for text in (row[place] for place in below if row[place] not in ("", NONE)):
            lines += textwrap.wrap(
                text, max(width, 40), initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False
            )
    return lines


def _line(
    cells: Sequence[str], places: Sequence[int], fields: Sequence[Field], wide: dict[int, int], width: int
) -> str:
    padded = []
    for cell, place in zip(cells, places, strict=True):
        blanks = " " * (wide[place] - cell_len(cell))
        padded.append(cell + blanks if fields[place].style == "text" else blanks + cell)
    line = "  ".join(padded).rstrip()
    return line if cell_len(line) <= width else set_cell_size(line, width - 1) + "…"
