"""Which rows count for what, by who told us of them.

Reports count every row. What acts on people (points, letters, hints) counts what slurmdbd told us itself or an operator
vouched for, and nothing that slurmdbd could not confirm when an audit asked it: the column `acting` of `run`. Rows of
the demo pass too, so that a preview has something to show: whatever installs or sends calls `refuse_demo` first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.trace.run_view import step_of

#: Found in an index of such rows alone.
_DEMO: Final = "SELECT EXISTS (SELECT 1 FROM job WHERE cluster = ? AND source = 'demo')"
_HELD: Final = "SELECT count(*), count(DISTINCT coalesce(user, uid)), min(end_time), max(end_time) FROM run"
_BY_SOURCE: Final = "SELECT source, count(*) FROM run WHERE {which} GROUP BY source ORDER BY count(*) DESC, source"
#: SQL: whether a step belongs to the run in this row, and is the word of the same source.
STEP_OF_RUN: Final = step_of("run")
#: SQL: told by slurmdbd itself, what sync looks after.
SYNCED: Final = "source = 'slurmdbd'"


@dataclass(frozen=True, slots=True)
class Held:
    """What a trace has: runs, whose, where, and when the first and the last ended (epoch seconds)."""

    runs: int
    users: int
    clusters: Sequence[str]
    first: int | None
    last: int | None


def held(db: sqlite3.Connection) -> Held:
    """All of the trace in a few numbers."""
    runs, users, first, last = db.execute(_HELD).fetchone()
    names = [row[0] for row in db.execute("SELECT DISTINCT cluster FROM run ORDER BY cluster")]
    return Held(runs, users, names, first, last)


def refuse_demo(db: sqlite3.Connection, clusters: Sequence[str], what: str) -> None:
    """Raise AdminkitError where one of the clusters has rows of `adminkit demo`: `what` never follows from those."""
    for cluster in clusters:
        if db.execute(_DEMO, (cluster,)).fetchone()[0]:
            raise AdminkitError(
                f"{cluster} has rows of `adminkit demo`, whose jobs never ran: {what}",
                "look at them with the preview; name another cluster, or the site's own trace with --db",
            )


def jobs_besides_demo(db: sqlite3.Connection, cluster: str) -> int:
    """How many runs are not of the demo's own cluster and source."""
    sql = "SELECT count(*) FROM run WHERE cluster <> ? OR source <> 'demo'"
    return int(db.execute(sql, (cluster,)).fetchone()[0])


def by_source(db: sqlite3.Connection, users: Sequence[str] = (), clusters: Sequence[str] = ()) -> dict[str, int]:
    """How many runs of these users (all for none) on these clusters each source told us of, the most first."""
    which, params = ["TRUE"], [*users, *clusters]
    for column, values in (("user", users), ("cluster", clusters)):
        if values:
            which.append(f"{column} IN ({', '.join('?' * len(values))})")
    return dict(db.execute(_BY_SOURCE.format(which=" AND ".join(which)), params).fetchall())
