"""Every run that ended and its limit, for the judgement on limits: no checkpoint runs, no interactive ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.select import CARRIED_ON, Filter, select

#: Runs whose limit is unknown, or the queue's, are left out: nobody knows what their user asked for.
_RUNS: Final = f"""
SELECT cluster, user, job_name, job_id_raw, submit_time, elapsed, req_limit, state,
    more_used
FROM run
WHERE {{where}} AND end_time IS NOT NULL AND NOT interactive AND NOT {CARRIED_ON}
    AND (req_limit > 0 OR limit_kind = 'unlimited')
ORDER BY end_time, cluster, job_id_raw, submit_time
"""


class Estimate(NamedTuple):
    """One run; seconds."""

    cluster: str
    user: str | None
    job_name: str | None
    job_id_raw: int
    submit_time: int  # epoch seconds
    elapsed: int
    req_limit: int | None  # None: unlimited
    state: str | None
    more_used: int | None  # seconds past req_limit, where more time was given


def estimates(db: sqlite3.Connection, counted: Filter) -> Iterator[Estimate]:
    """The runs that count, in the order in which they ended."""
    which = select(counted, limits=False)
    params = {**which.params, "checkpoint_code": counted.checkpoint_code}
    for row in db.execute(_RUNS.format(where=which.where), params):
        yield Estimate(*row)
