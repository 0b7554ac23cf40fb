"""What each run asked for and how long it took, in the order of submission: what recommendations learn from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

from adminkit.stats.select import CPUS, GPUS, LIMIT, NODES, TOO_LONG, Filter, select

#: One user after the other, each in the order of submission.
_RUNS: Final = f"""
SELECT user, uid, job_name, queue, coalesce(req_nodes, nodes), coalesce(req_gpus, gpus), coalesce(req_cpus, cpus),
    CASE WHEN {LIMIT} > 0 AND {LIMIT} < {TOO_LONG} THEN {LIMIT} END, time_limit, submit_time, end_time, elapsed, state,
    {GPUS}, {CPUS}, {NODES}
FROM job
WHERE {{where}} AND user IS NOT NULL AND submit_time IS NOT NULL AND end_time IS NOT NULL AND elapsed > 0
ORDER BY user, submit_time, job_id_raw
"""


class Ended(NamedTuple):
    """One run that ended; None for unknown."""

    user: str
    uid: int | None
    job_name: str | None
    queue: str | None
    req_nodes: int | None
    req_gpus: int | None
    req_cpus: int | None
    request: int | None  # seconds: what was asked for, finite
    time_limit: int | None  # seconds: what it had in the end
    submit_time: int
    end_time: int
    elapsed: int
    state: str | None
    gpus: int | None
    cpus: int | None
    nodes: int | None


def ended(db: sqlite3.Connection, chosen: Filter) -> Iterator[Ended]:
    """The runs that `chosen` takes, users by name, each user's runs as they were submitted."""
    selection = select(chosen, limits=False)
    yield from map(Ended._make, db.execute(_RUNS.format(where=selection.where), selection.params))
