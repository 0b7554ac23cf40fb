"""Every run that ended, without checkpoint runs, in the order of submission: what recommendations learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.accuracy import QUEUE_LIMITS
from adminkit.stats.select import CARRIED_ON
from adminkit.trace.run_view import TOO_LONG
from adminkit.trace.sight import everybodys

#: SQL: the fields of a Kind.
KIND: Final = """
cluster, user, job_name, queue, coalesce(req_nodes, nodes), coalesce(req_cpus, cpus),
    coalesce(req_gpus, gpus), req_limit
"""
#: SQL: the runs to learn from.
ENDED: Final = f"""FROM {{run}} WHERE elapsed > 0 AND elapsed < {TOO_LONG} AND end_time IS NOT NULL
    AND user IS NOT NULL AND NOT {CARRIED_ON}{{more}}"""
#: SQLite sorts in temporary files, so that no trace has to fit in memory.
RUNS: Final = f"""
SELECT {KIND}, uid, array_job, submit_time, end_time, elapsed, state, job_id_raw,
    CASE WHEN more_given > 0 THEN last_limit END
{ENDED}
ORDER BY submit_time, cluster, job_id_raw
"""
#: When the last `many` of them began to end.
SINCE: Final = f"SELECT end_time {ENDED} ORDER BY end_time DESC LIMIT 1 OFFSET :many"
#: Runs of a cluster that say how well limits were kept there lately.
MANY: Final = 20_000
#: Runs with a run time but without times: SWF without waits and job tables without starts say only how long a run took.
UNTIMED: Final = f"""
SELECT count(*) FROM run WHERE elapsed > 0 AND elapsed < {TOO_LONG} AND start_time IS NULL AND end_time IS NULL
    AND user IS NOT NULL AND NOT {CARRIED_ON}{{more}}
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
    req_limit: int | None = None  # what was asked for; None for none or unlimited


@dataclass(frozen=True, slots=True)
class Run:
    """One run that ended."""

    kind: Kind
    uid: int | None
    array_job: int | None  # the array it is a task of
    submit_time: int
    end_time: int
    elapsed: int
    state: str | None
    job_id_raw: int | None = None
    last_limit: int | None = None  # what would have ended it, where more time was given beyond req_limit

    @property
    def limit(self) -> int | None:
        """The limit that would have ended it; None for none."""
        return self.kind.req_limit if self.last_limit is None else self.last_limit


def runs(
    db: sqlite3.Connection,
    users: Sequence[str] = (),
    clusters: Sequence[str] = (),
    since: int | None = None,
    *,
    acting: bool = False,
    checkpoint_code: int,
) -> Iterator[Run]:
    """The runs of these users (all for none) on these clusters by submission, one after the other.

    With `since` only those that ended at or after it. `acting`: only those that may have consequences for a person.
    `checkpoint_code`: the site's; a run that left with it has more to do.
    """
    more, params = among(users, clusters, checkpoint_code)
    if since is not None:
        more, params = f"{more} AND end_time >= :since", {**params, "since": since}
    if acting:
        more += " AND acting"
    for row in db.execute(RUNS.format(run="run", more=more), params):
        yield Run(Kind(*row[:8]), *row[8:])


def latest(
    db: sqlite3.Connection, cluster: str, *, acting: bool = False, checkpoint_code: int, many: int = MANY
) -> Iterator[Run]:
    """About the last `many` runs of all users of a cluster that ended, by submission.

    They are everybody's whoever asks: show nothing of them, only what is counted.
    """
    run = everybodys(db, "run")
    more, params = lately(db, run, cluster, acting=acting, checkpoint_code=checkpoint_code, many=many)
    for row in db.execute(RUNS.format(run=run, more=more), params):
        yield Run(Kind(*row[:8]), *row[8:])


def lately(
    db: sqlite3.Connection, run: str, cluster: str, *, acting: bool, checkpoint_code: int, many: int
) -> tuple[str, dict[str, str | int]]:
    """SQL for about the last `many` runs of a cluster in `run` that ended, and the values of all parameters."""
    # Trap: without the plus SQLite reads the whole cluster by its key, not the last runs by their end.
    more, params = " AND +cluster = :cluster", {**among((), (), checkpoint_code)[1], "cluster": cluster}
    if acting:
        more += " AND acting"
    since = db.execute(SINCE.format(run=run, more=more), {**params, "many": many}).fetchone()
    if since is not None:
        more, params = f"{more} AND end_time > :since", {**params, "since": since[0]}
    return more, params


def untimed(
    db: sqlite3.Connection, users: Sequence[str] = (), clusters: Sequence[str] = (), *, checkpoint_code: int
) -> int:
    """How many runs of these users on these clusters have a run time, but neither a start nor an end."""
    more, params = among(users, clusters, checkpoint_code)
    return int(db.execute(UNTIMED.format(more=more), params).fetchone()[0])


def among(users: Sequence[str], clusters: Sequence[str], checkpoint_code: int) -> tuple[str, dict[str, str | int]]:
    """SQL for rows of these, nothing for all, and the values of all parameters."""
    sql, params = "", dict[str, str | int](checkpoint_code=checkpoint_code)
    for column, values in (("user", users), ("cluster", clusters)):
        bound = {f"{column}{number}": value for number, value in enumerate(values)}
        if bound:
            sql += f" AND {column} IN ({', '.join(f':{name}' for name in bound)})"
            params |= bound
    return sql, params


def queue_maximum(db: sqlite3.Connection, queue: str, cluster: str | None, now: int) -> int | None:
    """The queue's maximum limit as it is at `now`, the least of several clusters'; None where there is none."""
    known = db.execute(QUEUE_LIMITS, {"now": now})
    return min((most for c, q, _, most, _ in known if q == queue and cluster in (None, c) and most), default=None)
