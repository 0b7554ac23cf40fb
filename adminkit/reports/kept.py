"""All that adminkit keeps about one user: where it is, what it is, and whether that user may read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.stats.kept import Kept

FIELDS: Final = (
    Field("place", help="a file, or a table of one"),
    Field("what", help="what is there about a user"),
    Field("readable", help="yes, no, or none: nothing is there"),
    Field("rows", "count", "how many are about you; unknown where it cannot be read"),
    Field("says", help="in short what it says, or who may read it"),
)
#: Table -> what it says about a user.
WHAT: Final = {
    "run": "your jobs, as slurmdbd has them",
    "step": "their steps",
    "job_aside": "jobs that an audit set aside",
    "outbox": "letters to you",
    "node_event": "nodes that you drained or resumed",
    "action": "what you did to Slurm as an operator",
}


@dataclass(frozen=True, slots=True)
class Place:
    """One place. `rows` is None where it is not known."""

    path: str
    what: str
    readable: str
    rows: int | None = None
    says: str | None = None


def trace_places(path: str, tables: Mapping[str, Kept]) -> list[Place]:
    """A place for each table of a trace."""
    return [Place(f"{path}: {table}", WHAT[table], "yes", len(found.rows)) for table, found in tables.items()]


def kept_report(user: str, places: Sequence[Place], tables: Mapping[str, Kept]) -> dict[str, Report]:
    """The places; then, for each table with rows about the user, these rows as they are."""
    rows: list[list[Cell]] = [[one.path, one.what, one.readable, one.rows, one.says] for one in places]
    notes = [
        "--format json has every row that you may read",
        "Slurm's own accounting is not adminkit's: sacct shows it",
    ]
    sections = {"places": Report(Meta.plain(f"What adminkit keeps about {user}", notes), FIELDS, rows)}
    for table, found in tables.items():
        if found.rows:
            columns = [Field(name) for name in found.columns]
            sections[table] = Report(Meta.plain(WHAT[table], ()), columns, found.rows)
    return sections
