"""Which rows count for what, by their source.

Reports count every row. What acts on people (points, letters, hints) counts rows that came from slurmdbd itself or that
an operator vouched for, without those that an audit could not confirm: the column `acting` of `run`. Rows of the demo
pass too, so that a preview has something to show: whatever installs or sends calls `refuse_demo` first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.sqlite import sqlite3
from adminkit.trace.run_view import step_of

#: Answered from an index that has only such rows.
_DEMO: Final = "SELECT EXISTS (SELECT 1 FROM job WHERE cluster = ? AND source = 'demo')"
_HELD: Final = "SELECT count(*), count(DISTINCT coalesce(user, uid)), min(end_time), max(end_time) FROM run"
_BY_SOURCE: Final = "SELECT source, count(*) FROM run WHERE {which} GROUP BY source ORDER BY count(*) DESC, source"
#: SQL: whether a step belongs to the run in this row, and has the same source.
STEP_OF_RUN: Final = step_of("run")
#: SQL: the rows that sync keeps up to date.
SYNCED: Final = "source = 'slurmdbd'"


@dataclass(frozen=True, slots=True)
class Held:
    """The runs, users and clusters of a trace, and its first and last end (epoch seconds)."""

    runs: int
    users: int
    clusters: Sequence[str]
    first: int | None
    last: int | None


def held(db: sqlite3.Connection) -> Held:
    """Count the runs and users of the trace."""
    runs, users, first, last = db.execute(_HELD).fetchone()
    names = [row[0] for row in db.execute("SELECT DISTINCT cluster FROM run ORDER BY cluster")]
    return Held(runs, users, names, first, last)


def refuse_demo(db: sqlite3.Connection, clusters: Sequence[str], what: str) -> None:
    """Raise AdminkitError where one of the clusters has rows of `adminkit demo`: `what` must not follow from these."""
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
    """Map each source to its number of runs of these users (all for none) on these clusters, the largest first."""
    which, params = ["TRUE"], [*users, *clusters]
    for column, values in (("user", users), ("cluster", clusters)):
        if values:
            which.append(f"{column} IN ({', '.join('?' * len(values))})")
    return dict(db.execute(_BY_SOURCE.format(which=" AND ".join(which)), params).fetchall())
