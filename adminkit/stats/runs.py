"""Every run that ended, but for checkpoint runs, in the order of submission: what a recommendation is learnt from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from adminkit.stats.accuracy import QUEUE_LIMITS
from adminkit.stats.select import CHECKPOINT, CPUS, GPUS, LIMIT, NODES, TOO_LONG
from adminkit.stats.sources import ACTING

#: SQL: the fields of a Kind.
KIND: Final = f"""
cluster, user, job_name, queue, coalesce(req_nodes, {NODES}), coalesce(req_cpus, {CPUS}),
    coalesce(req_gpus, {GPUS}), CASE WHEN {LIMIT} > 0 AND {LIMIT} < {TOO_LONG} THEN {LIMIT} END
"""
#: SQLite sorts in temporary files, so that no trace has to fit in memory.
RUNS: Final = f"""
SELECT {KIND}, uid, array_job, submit_time, end_time, elapsed, state
FROM job WHERE elapsed > 0 AND elapsed < {TOO_LONG} AND end_time IS NOT NULL AND user IS NOT NULL
    AND NOT {CHECKPOINT}{{more}}
ORDER BY submit_time, cluster, job_id_raw
"""
#: Runs that ended, nobody knows when: SWF without waits and job tables without starts say only how long they ran.
UNTIMED: Final = f"""
SELECT count(*) FROM job WHERE elapsed > 0 AND elapsed < {TOO_LONG} AND start_time IS NULL AND end_time IS NULL
    AND user IS NOT NULL AND NOT {CHECKPOINT}{{more}}
"""


class Kind(NamedTuple):
    """What is known of a job when it is submitted."""

    cluster: str | None = None
    user: str | None = None
    job_name: str | None = None
    queue: str | None = None
    nodes: int | None = None  # this and the next two: as requested, else as allocated
    cpus: int | None = None
    gpus: int | None = None
    limit: int | None = None  # what was asked for; None for none or unlimited


@dataclass(frozen=True, slots=True)
class Run:
    """One run that ended."""

    kind: Kind
    uid: int | None
    array: int | None  # the array it is a task of
    submit: int
    end: int
    elapsed: int
    state: str | None


def runs(
    db: sqlite3.Connection,
    users: Sequence[str] = (),
    clusters: Sequence[str] = (),
    since: int | None = None,
    *,
    acting: bool = False,
) -> Iterator[Run]:
    """The runs of these users (all for none) on these clusters by submission, one after the other.

    With `since` only those that ended at or after it. `acting`: only those that may have consequences for a person.
    """
    more = ("" if since is None else f" AND end_time >= {since:d}") + _among(users, clusters)
    if acting:
        more += f" AND {ACTING}"
    for row in db.execute(RUNS.format(more=more), (*users, *clusters)):
        yield Run(Kind(*row[:8]), *row[8:])


def untimed(db: sqlite3.Connection, users: Sequence[str] = (), clusters: Sequence[str] = ()) -> int:
    """How many runs of these users on these clusters have a run time, but neither a start nor an end."""
    sql = UNTIMED.format(more=_among(users, clusters))
    return int(db.execute(sql, (*users, *clusters)).fetchone()[0])


def _among(users: Sequence[str], clusters: Sequence[str]) -> str:
    """SQL for rows of these, whose names are bound in this order; nothing for all."""
    return "".join(
        f" AND {column} IN ({', '.join('?' * len(values))})"
        for column, values in (("user", users), ("cluster", clusters))
        if values
    )


def queue_maximum(db: sqlite3.Connection, queue: str, cluster: str | None, now: int) -> int | None:
    """The queue's maximum limit as it is at `now`, the least of several clusters'; None where there is none."""
    known = db.execute(QUEUE_LIMITS, {"now": now})
    return min((most for c, q, _, most, _ in known if q == queue and cluster in (None, c) and most), default=None)
