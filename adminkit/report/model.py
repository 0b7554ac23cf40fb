"""Report: what a report says, apart from how it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Cell = str | int | float | None
#: How a value is shown to people. JSON and CSV always carry the bare value in base units.
Style = Literal["text", "count", "ratio", "share", "duration", "hours", "time"]

STYLES: Final[tuple[Style, ...]] = ("text", "count", "ratio", "share", "duration", "hours", "time")


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its name is the key in JSON, the header in CSV and tables."""

    name: str
    style: Style = "text"
    help: str = ""


@dataclass(frozen=True, slots=True)
class Meta:
    """What every output begins with.

    `excluded` counts, per filter in the order applied, the jobs it left out; `notes` are sentences a reader must know.
    """

    title: str
    database: str
    window: tuple[int | None, int | None]  # epoch seconds, [since, until); None where open
    clusters: Sequence[str]
    filters: Mapping[str, str]
    jobs: int
    excluded: Mapping[str, int]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """`rows` carry one value per field, in their order; `totals` are rows set apart below them."""

    meta: Meta
    fields: Sequence[Field]
    rows: Sequence[Sequence[Cell]]
    totals: Sequence[Sequence[Cell]] = ()
    pictures: Any = field(default=None, compare=False)  # what report/pictures.py draws; None for none

    def records(self) -> list[dict[str, Cell]]:
        """Every row, the totals last, keyed by field name."""
        names = [f.name for f in self.fields]
        return [dict(zip(names, row, strict=True)) for row in (*self.rows, *self.totals)]
