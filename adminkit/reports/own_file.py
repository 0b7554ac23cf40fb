"""What a user's own file holds, from the trace and back: points as a report, charges and letters as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.render.report import Meta, Report
from adminkit.reports.incentives import ONE
from adminkit.sqlite import sqlite3
from adminkit.stats.kept import Kept, kept
from adminkit.stats.ledger import CloseOf, Line, closes, lines

#: Runs of which a file explains the points.
RUNS: Final = 200
_PAIRS: Final = ("window", "span")


@dataclass(frozen=True, slots=True)
class Own:
    """One user's file, read."""

    made: int  # epoch seconds
    points: Report | None
    why_not: str  # where there are no points to show
    lines: list[Line]
    closes: list[CloseOf]
    letters: Kept


def written(
    db: sqlite3.Connection, uid: int, user: str, made: int, points: Callable[[str], Report] | AdminkitError
) -> dict[str, Any]:
    """What the file of that user says. `points` explains theirs, or says why nobody's are known."""
    report, why_not = None, ""
    try:
        if isinstance(points, AdminkitError):
            raise points
        report = points(user)
    except AdminkitError as error:
        why_not = error.message
    letters = kept(db, uid, user)["outbox"]
    return {
        "user": user,
        "made": made,
        "points": None if report is None else {"meta": asdict(report.meta), "rows": [*map(list, report.rows)]},
        "why_not": why_not,
        "lines": [*map(list, lines(db, users=[user]))],
        "closes": [*map(list, closes(db))],
        "letters": {"columns": [*letters.columns], "rows": [*map(list, letters.rows)]},
    }


def read_back(found: Mapping[str, Any], path: str) -> Own:
    """What a file says. AdminkitError for one that has not this shape."""
    try:
        points = found["points"]
        report = None if points is None else Report(_meta(points["meta"], path), ONE, points["rows"])
        letters = Kept(found["letters"]["columns"], found["letters"]["rows"])
        made, why_not = int(found["made"]), str(found["why_not"])
        return Own(
            made, report, why_not, [Line(*row) for row in found["lines"]], [CloseOf(*row) for row in found["closes"]],
            letters,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise AdminkitError(
            f"{path} is of another release", "have an operator run adminkit trace own --apply"
        ) from error


def _meta(found: Mapping[str, Any], path: str) -> Meta:
    known = {one.name for one in fields(Meta)}
    values: dict[str, Any] = {
        name: tuple(value) if name in _PAIRS else value for name, value in found.items() if name in known
    }
    return Meta(**{**values, "database": path})
