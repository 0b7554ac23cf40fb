"""How far the trace of each cluster reaches, and what it lacks of a stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.ingest.window_plan import gaps
from adminkit.sqlite import sqlite3
from adminkit.trace.windows import JOBS

#: Seconds before the end of a stretch at which the last job of a file may have ended, though the file is whole.
QUIET: Final = 86_400

_CLUSTERS: Final = "SELECT DISTINCT cluster FROM run ORDER BY cluster"
_LAST: Final = "SELECT max(end_time) FROM run WHERE cluster = ?"
#: A window never ends after its run, and one that was asked for in time to come answers nothing.
_WINDOWS: Final = """
SELECT since, min(until, asked_at) FROM window WHERE cluster = ? AND pass = ? AND asked_at <= ? AND since < asked_at
"""


@dataclass(frozen=True, slots=True)
class Lacking:
    """What the trace lacks of a cluster: `until`, epoch seconds, is where it ends; None where it has no end of a job.

    `gap_seconds` were never answered before that.
    """

    cluster: str
    until: int | None
    gap_seconds: int


def lacking(db: sqlite3.Connection, since: int, until: int, now: int) -> list[Lacking]:
    """The clusters whose trace does not have all of [since, until). What sync fills is told by its windows, what was
    imported by the last end of a job: QUIET before `until` it may be whole.
    """
    found = []
    for (cluster,) in db.execute(_CLUSTERS).fetchall():
        windows = db.execute(_WINDOWS, (cluster, JOBS, now)).fetchall()
        if windows:
            reach = max(end for _, end in windows)
            first = max(since, min(begin for begin, _ in windows))
            holes = sum(one.width for one in gaps(windows, first, min(until, reach))) if first < reach else 0
            short = reach < until
        else:
            (reach,) = db.execute(_LAST, (cluster,)).fetchone()
            holes, short = 0, reach is None or reach < until - QUIET
        if short or holes:
            found.append(Lacking(cluster, reach if short else until, holes))
    return found
