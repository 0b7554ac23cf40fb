"""How the first rows of a job table would be read, as a Report: one line per field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC

from adminkit.ingest.import_table import Row
from adminkit.ingest.sources.mapping import DURATIONS, SIZES, TIMES, FieldSource
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.units import show_bytes, show_duration, show_time


def preview_report(
    name: str, sources: Mapping[str, FieldSource], columns: Sequence[str], rows: Sequence[Row]
) -> Report:
    """`columns` are Job's, in the order of each row's values; those that no row knows are left out."""
    lines: list[list[Cell]] = []
    for place, column in enumerate(columns):
        values = [None if row.values is None else row.values[place] for row in rows]
        if column in sources or any(value is not None for value in values):
            lines.append([column, _origin(sources.get(column)), *(_shown(column, value) for value in values)])
    notes = [f"line {row.line} would be rejected: {row.reason}" for row in rows if row.values is None]
    fields = [
        Field("field", help="of a job"),
        Field("from", help="the column, or what else the map says"),
        *(Field(f"line_{row.line}", help="the row that begins there") for row in rows),
    ]
    meta = Meta.plain(f"The first rows as {name} reads them; times in UTC", [*notes, "nothing was written"])
    return Report(meta, fields, lines)


def _origin(source: FieldSource | None) -> str:
    if source is None:
        return "follows"
    if source.column is not None:
        return " ".join(part for part in (source.column, source.time, _unit(source)) if part)
    if source.join or source.terms:
        return " + ".join(source.join or [f"{term.column}{_unit(term)}" for term in source.terms])
    if source.sum:
        base, added = source.sum
        return f"{base} + {added.sum[0] if added.sum else added.column}"
    return "the row's number" if source.row is not None else "the same in all rows"


def _unit(source: FieldSource) -> str:
    return f"({source.unit})" if source.unit and source.unit != "count" else ""


def _shown(column: str, value: Cell) -> Cell:
    """A value as people read it."""
    if not isinstance(value, int):
        return value
    if column in TIMES:
        return show_time(value, UTC)
    if column in DURATIONS:
        return show_duration(value)
    return show_bytes(value) if column in SIZES else str(value)
