"""A Report as text: a table for the terminal, JSON, CSV, Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from datetime import tzinfo
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from adminkit.quote import clean
from adminkit.render.format import cells, header
from adminkit.render.records import records
from adminkit.render.report import Cell, Field, Meta, Report

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def table(
    report: Report, tz: tzinfo | None, width: int | None, *, colour: bool, ascii_only: bool, headed: bool = True
) -> str:
    """The header, if `headed`, and the table. One that is wider than `width` columns is cut into several, each with the
    first column.

    `width` None: no limit, as in a pipe.
    """
    from rich.console import Console
    from rich.text import Text

    fields, rows, totals = cells(report, tz)
    wide = width or 10_000
    console = Console(
        file=_Encoded("ascii" if ascii_only else "utf-8"),
        width=wide,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        emoji=False,
        markup=False,
        highlight=False,
    )
    if headed:
        console.print(Text(clean(report.meta.title), style="bold"))
        console.print(_header_grid(report.meta, tz, width or 10_000))
    if any(field.below for field in fields):
        if rows:
            console.print(Text("\n".join(records(fields, rows, wide))))
        return _printed(console)
    for number, block in enumerate(blocks(fields, [*rows, *totals], wide)):
        if headed or number:
            console.print()
        _print_block(console, fields, rows, totals, block)
    return _printed(console)


def _header_grid(meta: Meta, tz: tzinfo | None, width: int) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", max_width=width - 10)
    for name, text in header(meta, tz):
        grid.add_row(Text(name, style="dim"), Text(clean(text)))
    return grid


def _print_block(
    console: Console,
    fields: Sequence[Field],
    rows: Sequence[Sequence[str]],
    totals: Sequence[Sequence[str]],
    block: Sequence[int],
) -> None:
    """Print these columns. Rich looks at every cell several times, so it gets the cells only where it has to cut them,
    or to draw lines between columns (in ASCII).
    """
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    right = [fields[place].style != "text" for place in block]
    widths = [max(cell_len(text) for text in (fields[i].name, *(row[i] for row in (*rows, *totals)))) for i in block]
    parts = [[*some] for _, some in groupby(rows, lambda row: row[0] if fields[0].name == "part" else None)]
    sections = [[[row[i] for i in block] for row in some] for some in (*parts, totals) if some]
    simple = console.encoding != "ascii" and sum(widths) + 2 * len(widths) - 2 <= console.width
    for place, width, its in zip(block, widths, right, strict=True):
        least = width if simple else None
        shown.add_column(fields[place].name, justify="right" if its else "left", no_wrap=True, min_width=least)
    for section in () if simple else sections:
        shown.add_row(*(Text("\n".join(cells)) for cells in zip(*section, strict=True)), end_section=True)
    console.print(shown)
    if simple:
        for number, section in enumerate(sections):
            console.file.write("\n" if number else "")
            for row in section:
                gaps = (" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
                cells = (
                    f"{gap}{cell}" if its else f"{cell}{gap}" for cell, gap, its in zip(row, gaps, right, strict=True)
                )
                console.file.write("  ".join(cells) + "\n")


def blocks(fields: Sequence[Field], rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """The columns of each block, so that it fits into `width`; the first column begins every block."""
    from rich.cells import cell_len

    widths = [max([len(f.name), *(cell_len(row[i]) for row in rows)]) for i, f in enumerate(fields)]
    blocks: list[list[int]] = [[0]]
    used = widths[0]
    for place in range(1, len(fields)):
        if used + 2 + widths[place] > width and len(blocks[-1]) > 1:
            blocks.append([0])
            used = widths[0]
        blocks[-1].append(place)
        used += 2 + widths[place]
    return blocks


class _Encoded(io.StringIO):
    """A StringIO with an encoding: Rich draws lines in ASCII where that is not a Unicode one."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def _printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().split("\n"))


def as_json(report: Report) -> str:
    """ONE object, {"meta": …, "rows": […]}: base units, null for unknown, the totals as the last rows; then what the
    report has besides, each object of it on a line of its own.
    """
    meta = report.meta
    shown: dict[str, Any] = {
        "title": meta.title,
        **({"answers": list(meta.answers)} if meta.answers else {}),
        "database": meta.database,
        "as_of": meta.as_of,
        "window": {"since": meta.window[0], "until": meta.window[1], **_moment(meta)},
        "span": {"first_end": meta.span[0], "last_end": meta.span[1]},
        "clusters": list(meta.clusters),
        "filters": dict(meta.filters),
        "jobs": meta.jobs,
        "excluded": dict(meta.excluded),
        "notes": list(meta.notes),
    }
    written = json.dumps({"meta": shown, "rows": report.records()}, indent=2, allow_nan=False)
    for name, objects in report.extra.items():
        lines = ",".join(f"\n    {json.dumps(one, allow_nan=False)}" for one in objects)
        written = f"{written[:-2]},\n  {json.dumps(name)}: [{lines}\n  ]\n}}"
    return written + "\n"


def _moment(meta: Meta) -> dict[str, str]:
    """What jobs did in the window, where they did not end."""
    return {} if meta.moment == "ended" else {"moment": meta.moment}


#: What a formula begins with, in spreadsheets' ways of reading CSV.
_FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?", re.ASCII)


def as_csv(report: Report) -> str:
    """A header line and the rows, the totals last; empty for unknown. The report's header is not in it. Texts are
    clean, as people look at it in terminals, too, and no text is a formula where a spreadsheet opens it.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(f.name for f in report.fields)
    for row in (*report.rows, *report.totals):
        writer.writerow(_csv_cell(*pair) for pair in zip(report.fields, row, strict=True))
    return out.getvalue()


def _csv_cell(field: Field, cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    return clean(cell) if field.exact else _no_formula(clean(cell))


def _no_formula(text: str) -> str:
    """With an apostrophe before what a spreadsheet would compute. A number, such as an amount below 0, stays."""
    return f"'{text}" if text.startswith(_FORMULA) and len(text) > 1 and not _NUMBER.fullmatch(text) else text


def header_lines(meta: Meta, tz: tzinfo | None) -> str:
    """The report's header, one plain line for each entry."""
    return "\n".join([clean(meta.title), *(f"{name:<10}{clean(text)}" for name, text in header(meta, tz))]) + "\n"


def markdown(report: Report, tz: tzinfo | None, *, headed: bool = True) -> str:
    """A heading and the header as a list, if `headed`; the table in GitHub's form."""
    fields, rows, totals = cells(report, tz)
    lines: list[str] = []
    if headed:
        lines += [f"# {_md(clean(report.meta.title))}", ""]
        lines += [*(f"- {name}: {_md(clean(text))}" for name, text in header(report.meta, tz)), ""]
    lines += [_md_row([f.name for f in fields]), _md_row(["---" if f.style == "text" else "---:" for f in fields])]
    lines += [_md_row([_md(cell) for cell in row]) for row in (*rows, *totals)]
    return "\n".join(lines) + "\n"


def _md_row(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |"


_MD = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def _md(text: str) -> str:
    return text.translate(_MD)
