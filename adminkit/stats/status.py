"""What sync has done: windows, gaps, open runs, rejected rows.

Counts are taken from the trace's own tables (`main.`): they are shown to everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.slurm.cluster import SKEW
from adminkit.sqlite import sqlite3
from adminkit.stats.sources import SYNCED

#: A window never ends after its run, and a run that asked in time to come had a fast clock: it counts for nothing.
_PASSES: Final = """
SELECT cluster, pass, min(since), max(min(until, asked_at)) FILTER (WHERE asked_at <= :now), count(*),
    sum(provisional), sum(rows), sum(revoked), max(asked_at) FILTER (WHERE asked_at <= :now),
    nullif(max(max(until, asked_at, :now)), :now)
FROM window GROUP BY cluster, pass ORDER BY cluster, pass
"""
_ENDS_TO_COME: Final = "SELECT count(*) FROM main.job WHERE cluster = ? AND end_time > ?"
_WINDOWS: Final = "SELECT since, until FROM window WHERE cluster = ? AND pass = ? AND asked_at <= ?"
_OPEN: Final = f"SELECT count(*) FROM main.job WHERE cluster = ? AND end_time IS NULL AND {SYNCED}"
# A run that should have been over for a day by its own limit.
_OVERDUE: Final = f"""
SELECT count(*) FROM main.job WHERE cluster = ? AND end_time IS NULL AND {SYNCED} AND state = 'RUNNING'
  AND start_time + time_limit + coalesce(suspended, 0) + 86400 < ?
"""
_SOURCES: Final = "SELECT source, count(*), max(seen_at) FROM main.rejected GROUP BY source ORDER BY source"
_FACTS: Final = "SELECT cluster, key, value, at FROM fact ORDER BY cluster, key"
_REJECTED: Final = "SELECT source, line, reason, raw, seen_at FROM rejected ORDER BY source, line LIMIT ?"
# LIKE minds no case: `sacctmgr modify job` of older releases stores its words in lower case.
_JOBSTATS: Final = "SELECT count(*), (SELECT count(*) FROM main.job) FROM main.job WHERE admin_comment LIKE 'JS1:%'"


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass (job or step) over one cluster. Times in epoch seconds."""

    cluster: str
    which: str
    since: int
    until: int | None  # how far it reaches by the runs of sync that have been
    windows: int
    provisional: int
    rows: int
    revoked: int
    asked_at: int | None
    to_come: int | None  # how far windows reach beyond now; None as a rule
    gaps: int  # stretches between since and until without an answered window
    gap_seconds: int
    open_runs: int
    overdue: int  # RUNNING for a day after their limit: probably runaway jobs
    ends_to_come: int  # runs that ended in time to come


def passes(db: sqlite3.Connection, now: int) -> list[Pass]:
    """Every pass over every cluster."""
    found = []
    for row in db.execute(_PASSES, {"now": now}).fetchall():
        cluster, which = row[:2]
        missing = _missing(db.execute(_WINDOWS, (cluster, which, now)).fetchall())
        open_runs = db.execute(_OPEN, (cluster,)).fetchone()[0]
        overdue = db.execute(_OVERDUE, (cluster, now)).fetchone()[0]
        to_come = db.execute(_ENDS_TO_COME, (cluster, now + SKEW)).fetchone()[0]
        values = (*row, len(missing), sum(missing), open_runs, overdue, to_come)
        found.append(Pass(**dict(zip(Pass.__slots__, values, strict=True))))
    return found


def facts(db: sqlite3.Connection) -> dict[tuple[str, str], tuple[str, int]]:
    """(cluster, key) -> (value, when noted)."""
    return {(row[0], row[1]): (row[2], row[3]) for row in db.execute(_FACTS)}


def rejected_sources(db: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """(source, rejected rows, when last)."""
    return [(row[0], row[1], row[2]) for row in db.execute(_SOURCES)]


def rejected(db: sqlite3.Connection, limit: int) -> list[tuple[str, int, str, bytes, int]]:
    """(source, line, reason, raw bytes, when) of rejected rows."""
    return [(row[0], row[1], row[2], bytes(row[3]), row[4]) for row in db.execute(_REJECTED, (limit,))]


def any_jobs(db: sqlite3.Connection) -> bool:
    """Whether the trace has any row of a job."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM main.job)").fetchone()[0])


def with_jobstats(db: sqlite3.Connection) -> tuple[int, int]:
    """(runs with a record of Jobstats in AdminComment, all runs)."""
    theirs, whole = db.execute(_JOBSTATS).fetchone()
    return theirs, whole


def _missing(windows: list[tuple[int, int]]) -> list[int]:
    """The lengths of the holes between windows."""
    holes, at = [], None
    for since, until in sorted(windows):
        if at is not None and since > at:
            holes.append(since - at)
        at = until if at is None else max(at, until)
    return holes
