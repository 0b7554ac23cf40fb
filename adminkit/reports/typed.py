"""The answer to what the caller typed, as a Report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from adminkit.quote import clean
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.trace.typed import Answer


def typed_report(answer: Answer, database: str, as_of: int | None, *, bare: bool) -> Report:
    """A row for each row. `bare`: numbers are numbers, for programs; else the texts that SQL would show."""
    notes = [f"the first {plural(len(answer.rows), 'row')}; --limit shows more"] if answer.more else []
    meta = Meta("Answer", database, (None, None), [], {}, None, {}, notes, as_of=as_of)
    rows = [tuple(_cell(value, bare) for value in row) for row in answer.rows]
    numbers = [
        any(isinstance(row[place], int | float) for row in answer.rows) for place, _ in enumerate(answer.columns)
    ]
    styles = ["count" if one else "text" for one in numbers]
    fields = [Field(name, style) for name, style in zip(_names(answer.columns), styles, strict=True)]  # type: ignore[arg-type]
    return Report(meta, fields, rows)


def _names(columns: Sequence[str]) -> list[str]:
    """The columns' names, each once, as they are keys in JSON: job_id, job_id:2."""
    seen: Counter[str] = Counter()
    names = []
    for column in map(clean, columns):
        seen[column] += 1
        names.append(column if seen[column] == 1 else f"{column}:{seen[column]}")
    return names


def _cell(value: Any, bare: bool) -> Cell:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float) and not math.isfinite(value):
        return "Inf" if value > 0 else "-Inf"
    return value if bare or value is None else str(value)
