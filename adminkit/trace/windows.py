"""The windows that sync has asked for, each settled or provisional, and small facts about a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.trace.transaction import transaction

JOBS: Final = "job"
STEPS: Final = "step"


@dataclass(frozen=True, slots=True)
class RecordedWindow:
    """One window that was asked for and answered: [since, until), epoch seconds."""

    since: int
    until: int
    provisional: bool
    asked_at: int
    seconds: float = 0.0
    rows: int = 0
    new: int = 0
    changed: int = 0
    rejected: int = 0
    revoked: int = 0


_COLUMNS: Final = "since, until, provisional, asked_at, seconds, rows, new, changed, rejected, revoked"
_INSERT: Final = (
    f"INSERT OR REPLACE INTO window (cluster, pass, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def recorded(db: sqlite3.Connection, cluster: str, which: str) -> list[RecordedWindow]:
    """All windows of one cluster and pass, oldest first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM window WHERE cluster = ? AND pass = ? ORDER BY since, until", (cluster, which)
    )
    return [RecordedWindow(row[0], row[1], bool(row[2]), *row[3:]) for row in rows]


def clusters(db: sqlite3.Connection) -> list[str]:
    """The clusters of which any window was asked, by name."""
    return [row[0] for row in db.execute("SELECT DISTINCT cluster FROM window ORDER BY cluster")]


def record(db: sqlite3.Connection, cluster: str, which: str, window: RecordedWindow) -> None:
    """Write down an answered window. One transaction.

    It replaces every window inside it; a settled one also replaces its part of a provisional one that it overlaps.
    """
    with transaction(db):
        for old in recorded(db, cluster, which):
            inside = window.since <= old.since and old.until <= window.until
            touches = old.since < window.until and window.since < old.until
            if inside or (touches and old.provisional and not window.provisional):
                _forget(db, cluster, which, old)
            if touches and not inside and old.provisional and not window.provisional:
                for since, until in ((old.since, window.since), (window.until, old.until)):
                    if since < until:
                        _insert(db, cluster, which, RecordedWindow(since, until, True, old.asked_at))
        _insert(db, cluster, which, window)


def doubt(db: sqlite3.Connection, cluster: str, which: str, since: int) -> int:
    """Make every window that reaches past `since` provisional again. Returns how many."""
    return db.execute(
        "UPDATE window SET provisional = 1 WHERE cluster = ? AND pass = ? AND until > ? AND provisional = 0",
        (cluster, which, since),
    ).rowcount


def take_back(db: sqlite3.Connection, cluster: str, which: str, now: int) -> int | None:
    """Make what was asked for in time to come provisional up to `now`, and forget the rest: a window never ends after
    its run, so a clock was fast. Returns how far such windows reached, None where there is none.
    """
    wrong = [one for one in recorded(db, cluster, which) if max(one.until, one.asked_at) > now]
    with transaction(db):
        for old in wrong:
            _forget(db, cluster, which, old)
            if old.since < now:  # nobody knows when it was asked for, except that it was not before its begin
                _insert(db, cluster, which, RecordedWindow(old.since, min(old.until, now), True, old.since))
    return max((max(one.until, one.asked_at) for one in wrong), default=None)


#: Key of the fact that has the site, as JSON of docs/site.md: queues, QOS, the scheduler, and the nodes with a weight.
SITE: Final = "site"
#: Key of the fact that has the processors of the machine, as the header of an SWF trace states them.
MAX_PROCS: Final = "max_procs"
#: Key of the fact that an import brought runs without the moment of being eligible, which have the submission in its
#: place. It is of the rows, so it is written as of 0: a trace as of any day has it.
FROM_SUBMISSION: Final = "waits_from_submission"


def fact(db: sqlite3.Connection, cluster: str, key: str) -> tuple[str, int] | None:
    """(value, when it was written), or None."""
    row = db.execute("SELECT value, at FROM fact WHERE cluster = ? AND key = ?", (cluster, key)).fetchone()
    return (row[0], row[1]) if row else None


def facts(db: sqlite3.Connection, cluster: str, prefix: str) -> dict[str, str]:
    """The facts of a cluster whose keys begin so: the rest of the key -> value."""
    rows = db.execute(
        "SELECT substr(key, ?), value FROM fact WHERE cluster = ? AND substr(key, 1, ?) = ? ORDER BY key",
        (len(prefix) + 1, cluster, len(prefix), prefix),
    )
    return dict(rows.fetchall())


def set_fact(db: sqlite3.Connection, cluster: str, key: str, value: str, at: int) -> None:
    """Keep a small fact about a cluster; the newest value counts."""
    db.execute("INSERT OR REPLACE INTO fact (cluster, key, value, at) VALUES (?, ?, ?, ?)", (cluster, key, value, at))


def _forget(db: sqlite3.Connection, cluster: str, which: str, window: RecordedWindow) -> None:
    db.execute(
        "DELETE FROM window WHERE cluster = ? AND pass = ? AND since = ? AND until = ?",
        (cluster, which, window.since, window.until),
    )


def _insert(db: sqlite3.Connection, cluster: str, which: str, w: RecordedWindow) -> None:
    values = (
        w.since,
        w.until,
        int(w.provisional),
        w.asked_at,
        w.seconds,
        w.rows,
        w.new,
        w.changed,
        w.rejected,
        w.revoked,
    )
    db.execute(_INSERT, (cluster, which, *values))
