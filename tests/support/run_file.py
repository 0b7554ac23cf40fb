"""The file of a run on a real Slurm: a comment of a line for each word of its head, then a table of its jobs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

Row = TypeVar("Row")


def text(head: Mapping[str, str], rows: Iterable[Any], kind: type[Any]) -> str:
    """The file; `rows` are of the dataclass `kind`."""
    out = io.StringIO()
    out.writelines(f"# {key}: {value}\n" for key, value in head.items())
    table = csv.DictWriter(out, [field.name for field in fields(kind)], lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(row) for row in rows)
    return out.getvalue()


def parse(words: str, kind: type[Row]) -> tuple[dict[str, str], tuple[Row, ...]]:
    """(head, rows) of a file's text; ValueError for another text. Fields of `kind` are int, str, or int | None."""
    lines = words.splitlines()
    head = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    table = csv.DictReader(line for line in lines if not line.startswith("# "))
    kinds = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    return head, tuple(kind(**{name: _cell(kinds[name], cell) for name, cell in line.items()}) for line in table)


def _cell(kind: str, cell: str) -> int | str | None:
    if kind == "str":
        return cell
    return None if cell == "" and kind.endswith("None") else int(cell)
