"""Which rows count for what, by who told us of them: the one home of that rule.

Reports count every row. What acts on people (points, letters, hints) counts what slurmdbd told us itself or an operator
vouched for, and nothing that slurmdbd could not confirm when an audit asked it. Rows of the demo pass too, so that a
preview has something to show: whatever installs or sends calls `refuse_demo` first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from adminkit.errors import AdminkitError

#: Asked of a person, or of slurmctld: where rows of the demo are.
_DEMO: Final = "SELECT EXISTS (SELECT 1 FROM job WHERE cluster = ? AND source = 'demo')"
_BY_SOURCE: Final = "SELECT source, count(*) FROM job WHERE {which} GROUP BY source ORDER BY count(*) DESC, source"


def acting(table: str = "job") -> str:
    """SQL: whether the row may have consequences for a person."""
    return f"({table}.source IN ('slurmdbd', 'trusted') AND {table}.audited IS NOT 'beyond' OR {table}.source = 'demo')"


#: SQL: of the job in this row.
ACTING: Final = acting()
#: SQL: whether a step belongs to the run in this row, and is the word of the same source.
STEP_OF_JOB: Final = """(step.cluster, step.job_id_raw, step.submit_time, step.source)
        = (job.cluster, job.job_id_raw, job.submit_time, job.source)"""
#: SQL: told by slurmdbd itself, what sync looks after.
SYNCED: Final = "source = 'slurmdbd'"


def refuse_demo(db: sqlite3.Connection, clusters: Sequence[str], what: str) -> None:
    """Raise AdminkitError where one of the clusters has rows of `adminkit demo`: `what` never follows from those."""
    for cluster in clusters:
        if db.execute(_DEMO, (cluster,)).fetchone()[0]:
            raise AdminkitError(
                f"{cluster} has rows of `adminkit demo`, whose jobs never ran: {what}",
                "look at them with the preview; name another cluster, or the site's own trace with --db",
            )


def by_source(db: sqlite3.Connection, users: Sequence[str] = (), clusters: Sequence[str] = ()) -> dict[str, int]:
    """How many runs of these users (all for none) on these clusters each source told us of, the most first."""
    which, params = ["TRUE"], [*users, *clusters]
    for column, values in (("user", users), ("cluster", clusters)):
        if values:
            which.append(f"{column} IN ({', '.join('?' * len(values))})")
    return dict(db.execute(_BY_SOURCE.format(which=" AND ".join(which)), params).fetchall())
