"""Several reports that belong together: one below the other for people, one object of all for programs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Final

from rich.cells import cell_len, set_cell_size

from adminkit.quote import clean, quote
from adminkit.render import text
from adminkit.render.format import cells
from adminkit.render.report import Cell, Report
from adminkit.render.say import say
from adminkit.render.sink import write_aside
from adminkit.render.sparkline import PLAIN

#: The colour of a cell, from its field's name and its value; None: the terminal's own.
Tint = Callable[[str, Cell], str | None]

#: Columns of names that users give, which may have a thousand characters, and how many of them a table shows.
NAMES: Final = ("job_name", "step_name")
_WIDEST: Final = 40
_COLOURS: Final = {"good": "\x1b[32m", "fair": "\x1b[33m", "bad": "\x1b[31m", "bold": "\x1b[1m", "dim": "\x1b[2m"}


def emit(sections: Mapping[str, Report], format: str, output: Path | None, tint: Tint | None = None) -> None:
    """Write the sections to stdout or to a file, which appears whole or not at all."""
    terminal = output is None and sys.stdout.isatty()
    if format == "json":
        written = as_json(sections)
    else:
        width = shutil.get_terminal_size().columns if terminal or os.environ.get("COLUMNS") else None
        written = as_text(sections, None, width, colour=terminal and colours(), tint=tint)
    if output is not None:
        write_aside(output, written.encode())
        say(f"wrote {output}")
    else:
        encoding = sys.stdout.encoding or "utf-8"
        if format != "json" and not encoding.lower().startswith("utf"):
            written = written.translate(PLAIN)
        sys.stdout.write(written.encode(encoding, "backslashreplace").decode(encoding))


def colours() -> bool:
    """Whether to write colours to a terminal."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def as_json(sections: Mapping[str, Report]) -> str:
    """One object: the name of each section -> its report, as it is written by itself."""
    return json.dumps({name: json.loads(text.as_json(one)) for name, one in sections.items()}, indent=2) + "\n"


def as_text(
    sections: Mapping[str, Report], tz: tzinfo | None, width: int | None, *, colour: bool, tint: Tint | None = None
) -> str:
    """Each section with its title, its notes and its table, at most `width` columns wide; None: as wide as it is."""
    return "\n".join("\n".join(_section(one, tz, width or 10_000, colour, tint)) for one in sections.values())


def _section(report: Report, tz: tzinfo | None, width: int, colour: bool, tint: Tint | None) -> list[str]:
    fields, whole, _ = cells(report, tz)
    rows = [
        [quote(cell, _WIDEST) if field.name in NAMES else cell for field, cell in zip(fields, row, strict=True)]
        for row in whole
    ]
    values = [[row[report.fields.index(field)] for field in fields] for row in report.rows]
    lines = [_paint(_fit(clean(report.meta.title), width), "bold", colour)]
    lines += [_paint(_fit(clean(note), width), "dim", colour) for note in report.meta.notes]
    for block in text.blocks(fields, rows, width) if rows else ():
        wide = {i: max([cell_len(fields[i].name), *(cell_len(row[i]) for row in rows)]) for i in block}
        left = {i: fields[i].style == "text" for i in block}
        head = "  ".join(_pad(fields[i].name, wide[i], left[i]) for i in block).rstrip()
        lines += ["", _paint(_fit(head, width), "dim", colour)]
        for row, bare in zip(rows, values, strict=True):
            shown = []
            for i in block:
                name = tint(fields[i].name, bare[i]) if tint is not None else None
                padded = _pad(row[i], wide[i], left[i])
                shown.append(_paint(padded, name, colour) if name is not None else padded)
            lines.append("  ".join(shown).rstrip())
    return [*lines, ""]


def _pad(cell: str, width: int, left: bool) -> str:
    blanks = " " * (width - cell_len(cell))
    return cell + blanks if left else blanks + cell


def _fit(line: str, width: int) -> str:
    return line if cell_len(line) <= width else set_cell_size(line, max(width - 1, 0)) + "~"


def _paint(line: str, name: str, colour: bool) -> str:
    return f"{_COLOURS[name]}{line}\x1b[0m" if colour and line.strip() else line
