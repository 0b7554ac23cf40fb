"""What ended lately, as the judgement on letters needs it: a run, or an array as a whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from adminkit.stats.select import CHECKPOINT, GPUS, LIMIT, NODES, TOO_LONG, Filter, select
from adminkit.stats.sources import ACTING, STEP_OF_JOB
from adminkit.trace.runs import LOST

#: Tasks that were submitted longer ago belong to an older array of the same number: Slurm's numbers come around.
_SAME_ARRAY: Final = 180 * 86_400

#: SQL: how a batch job that can be carried on says so, or shows it.
_CHECKPOINT: Final = f"""({CHECKPOINT} OR ckpt_at IS NOT NULL OR coalesce(restarts, 0) > 0
    OR exit_code = :code OR ckpt_asked = 1)"""
#: SQL: somebody sat before it. salloc and srun name themselves; where that is not known there is no batch step.
INTERACTIVE: Final = f"""(job_name = 'interactive' OR submitted_by IN ('salloc', 'srun') OR EXISTS (SELECT 1 FROM step
        WHERE {STEP_OF_JOB} AND step = 'interactive')
    OR submitted_by IS NULL AND EXISTS (SELECT 1 FROM step
        WHERE {STEP_OF_JOB})
    AND NOT EXISTS (SELECT 1 FROM step
        WHERE {STEP_OF_JOB} AND step = 'batch'))"""
_COUNTS: Final = f"state = 'COMPLETED' AND elapsed >= 0 AND elapsed < {TOO_LONG}"
_BOUNDED: Final = f"{_COUNTS} AND {LIMIT} > 0 AND {LIMIT} < {TOO_LONG}"
_UNITS: Final = f"max(coalesce(nullif({GPUS}, 0), {NODES}, 1), 1)"

_SUMS: Final = f"""
    min(submit_time), max(end_time), max(user), max(uid), max(account), max(queue), max(job_name), count(*),
    count(*) FILTER (WHERE end_time IS NULL AND seen_open >= :now - {LOST}),
    count(*) FILTER (WHERE {_COUNTS}), count(*) FILTER (WHERE {_BOUNDED}),
    coalesce(max(elapsed) FILTER (WHERE {_BOUNDED}), 0), coalesce(max({LIMIT}) FILTER (WHERE {_BOUNDED}), 0),
    coalesce(sum(elapsed * {_UNITS}) FILTER (WHERE {_BOUNDED}), 0),
    coalesce(sum({LIMIT} * {_UNITS}) FILTER (WHERE {_BOUNDED}), 0),
    coalesce(max({INTERACTIVE}), 0), coalesce(max({_CHECKPOINT}), 0)
"""
#: Components of a het job share one limit: its leader speaks for all.
_RECENT: Final = f"""
FROM job WHERE cluster = :cluster AND {ACTING} AND end_time >= :since AND end_time <= :now
    AND coalesce(het_offset, 0) = 0"""
_RUNS: Final = f"""
SELECT job_id_raw, 0, {_SUMS} {_RECENT} AND array_job IS NULL GROUP BY job_id_raw, submit_time ORDER BY end_time
"""
_ARRAYS: Final = f"""
SELECT array_job, 1, {_SUMS} FROM job
WHERE cluster = :cluster AND {ACTING} AND submit_time >= :now - {_SAME_ARRAY}
    AND array_job IN (SELECT array_job {_RECENT} AND array_job IS NOT NULL)
GROUP BY array_job
"""
#: How well each user asked: used and reserved, over runs that count in a report.
_HABITS: Final = f"""
SELECT uid, count(*), sum(1.0 * elapsed), sum(1.0 * {LIMIT}) FROM job
WHERE {{where}} AND uid IS NOT NULL
GROUP BY uid
"""
#: A digest tells of batch runs.
_ACTIVE: Final = f"""
SELECT DISTINCT uid, user, account FROM job
WHERE {{where}} AND NOT coalesce({INTERACTIVE}, 0)
    AND uid IS NOT NULL AND user IS NOT NULL
ORDER BY uid, user, account
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """One run, or all tasks of an array together. Sums are over tasks that completed with a finite limit."""

    number: int  # the run's JobIDRaw, the array's number
    array: int  # 0, 1
    submit: int  # the first of its tasks
    until: int  # when the last one that has ended did
    user: str | None
    uid: int | None
    account: str | None
    queue: str | None
    job_name: str | None
    tasks: int
    open: int  # still to end
    completed: int
    bounded: int  # of these, with a limit
    elapsed: int  # seconds, of the longest
    limit: int  # seconds, the largest
    used: int  # GPU-seconds; node-seconds without GPUs
    reserved: int
    interactive: int  # 0, 1; so was one of its tasks
    checkpoint: int  # 0, 1


@dataclass(frozen=True, slots=True)
class Habit:
    """What a user asked for and used: seconds, of the runs that count in a report."""

    runs: int
    used: float
    reserved: float

    @property
    def used_share(self) -> float:
        return self.used / self.reserved


def ended(db: sqlite3.Connection, cluster: str, since: int, now: int, checkpoint_code: int) -> Iterator[Ended]:
    """What ended in [since, now] and may have consequences, single runs first."""
    values = {"cluster": cluster, "since": since, "now": now, "code": checkpoint_code}
    for sql in (_RUNS, _ARRAYS):
        for row in db.execute(sql, values):
            yield Ended(*row)


def habits(db: sqlite3.Connection, counted: Filter) -> dict[int, Habit]:
    """By uid, over the runs that count."""
    which = select(counted, limits=True)
    return {row[0]: Habit(*row[1:]) for row in db.execute(_HABITS.format(where=which.where), which.params)}


def active(db: sqlite3.Connection, counted: Filter) -> list[tuple[int, str, str | None]]:
    """(uid, user, account) of those with something to tell about the runs that count."""
    which = select(counted, limits=True)
    return [(row[0], row[1], row[2]) for row in db.execute(_ACTIVE.format(where=which.where), which.params)]
