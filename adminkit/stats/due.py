"""Runs, and arrays as a whole, that ended lately, with what the judgement on letters needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.lost import LOST, UNSAVED
from adminkit.stats.select import CARRIED_ON, Filter, select
from adminkit.stats.weeks import Reserved
from adminkit.stats.window import SEEN
from adminkit.trace.run_view import TOO_LONG

#: Tasks that were submitted longer ago belong to an older array of the same number: Slurm's numbers come around.
_SAME_ARRAY: Final = 180 * 86_400

#: SQL: the run could be carried on, whether or not it was: it asks for the checkpoint plugin, or the plugin looked for
#: a process to warn.
_CHECKPOINT: Final = f"({CARRIED_ON} OR ckpt_at IS NOT NULL OR coalesce(ckpt_asked, 0))"
_COUNTS: Final = f"state = 'COMPLETED' AND elapsed >= 0 AND elapsed < {TOO_LONG}"
_BOUNDED: Final = f"{_COUNTS} AND req_limit > 0"
_OVER: Final = f"{_BOUNDED} AND more_used > 0"

_SUMS: Final = f"""
    min(submit_time), max(end_time), max(user), max(uid), max(account), max(queue), max(job_name), count(*),
    count(*) FILTER (WHERE end_time IS NULL AND {SEEN}),
    count(*) FILTER (WHERE {_COUNTS}), count(*) FILTER (WHERE {_BOUNDED}),
    coalesce(max(elapsed) FILTER (WHERE {_BOUNDED}), 0), coalesce(max(req_limit) FILTER (WHERE {_BOUNDED}), 0),
    coalesce(sum(elapsed * size_units) FILTER (WHERE {_BOUNDED}), 0),
    coalesce(sum(req_limit * size_units) FILTER (WHERE {_BOUNDED}), 0),
    max(coalesce(size_gpus, 0) > 0), max(interactive), max({_CHECKPOINT}),
    count(*) FILTER (WHERE {LOST}), coalesce(max(elapsed) FILTER (WHERE {UNSAVED}), 0),
    coalesce(sum(elapsed * size_units) FILTER (WHERE {UNSAVED}), 0),
    count(*) FILTER (WHERE {_OVER}), coalesce(sum(more_used * size_units) FILTER (WHERE {_OVER}), 0)
"""
#: The components of a het job share one limit: only the leader counts.
_RECENT: Final = """
FROM run WHERE cluster = :cluster AND acting AND end_time >= :since AND end_time <= :now
    AND coalesce(het_offset, 0) = 0"""
_RUNS: Final = f"""
SELECT job_id_raw, 0, {_SUMS} {_RECENT} AND array_job IS NULL GROUP BY job_id_raw, submit_time ORDER BY end_time
"""
_ARRAYS: Final = f"""
SELECT array_job, 1, {_SUMS} FROM run
WHERE cluster = :cluster AND acting AND submit_time >= :now - {_SAME_ARRAY}
    AND array_job IN (SELECT array_job {_RECENT} AND array_job IS NOT NULL)
GROUP BY array_job
"""
_ONE: Final = f"""
SELECT job_id_raw, 0, {_SUMS} FROM run
WHERE cluster = :cluster AND job_id_raw = :job AND submit_time = :submit GROUP BY job_id_raw
"""
_ONE_ARRAY: Final = f"""
SELECT array_job, 1, {_SUMS} FROM run
WHERE cluster = :cluster AND acting AND submit_time >= :submit AND array_job = :job GROUP BY array_job
"""
#: Seconds used and reserved by each user, over runs that count in a report.
_HABITS: Final = """
SELECT uid, count(*), sum(1.0 * elapsed), sum(1.0 * req_limit) FROM run
WHERE {where} AND uid IS NOT NULL
GROUP BY uid
"""
#: A digest is about batch runs.
_ACTIVE: Final = """
SELECT DISTINCT uid, user, account FROM run
WHERE {where} AND NOT interactive
    AND uid IS NOT NULL AND user IS NOT NULL
ORDER BY uid, user, account
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """One run, or all tasks of an array together. Sums are over tasks that completed with a finite limit."""

    job_id_raw: int  # of an array its number
    is_array: int  # 0, 1
    submit_time: int  # of an array its first task's
    until: int  # the last end, epoch seconds
    user: str | None
    uid: int | None
    account: str | None
    queue: str | None
    job_name: str | None
    tasks: int
    open: int  # of these, have not ended
    completed: int
    bounded: int  # of these, with a limit
    elapsed: int  # seconds, of the longest
    req_limit: int  # seconds, the largest
    used: int  # GPU-seconds; CPU-seconds without GPUs
    reserved: int
    on_gpus: int  # 0, 1: any task
    interactive: int  # 0, 1: any task
    checkpoint: int  # 0, 1: any task
    lost: int  # runs that were ended before they were done: stats/lost.py
    lost_elapsed: int  # seconds, of the longest of these; this and the next of those that nothing says to have saved
    lost_units: int  # GPU-seconds; CPU-seconds without GPUs
    over: int = 0  # completed past the limit that was asked for, because they were given more time
    over_units: int = 0  # GPU-seconds; CPU-seconds without GPUs; of that time

    @property
    def resource(self) -> str:
        """What these sums are of: gpu, cpu."""
        return "gpu" if self.on_gpus else "cpu"

    @property
    def unused_weight(self) -> float:
        """What was reserved and not used, as it compares with others', in GPU-seconds."""
        return self._weight(self.reserved - self.used)

    @property
    def lost_weight(self) -> float:
        """What was lost, as it compares with others'."""
        return self._weight(self.lost_units)

    @property
    def over_weight(self) -> float:
        """What was used past the limit, as it compares with others'."""
        return self._weight(self.over_units)

    def _weight(self, seconds: int) -> float:
        return Reserved.of(seconds, self.resource).weight


@dataclass(frozen=True, slots=True)
class Habit:
    """What a user reserved and used, in seconds, over runs that count in a report."""

    runs: int
    used: float
    reserved: float

    @property
    def used_fraction(self) -> float:
        return self.used / self.reserved


def ended(db: sqlite3.Connection, cluster: str, since: int, now: int, checkpoint_code: int) -> Iterator[Ended]:
    """Runs and arrays that ended in [since, now] and may have consequences for a person, single runs first."""
    values = {"cluster": cluster, "since": since, "now": now, "checkpoint_code": checkpoint_code}
    for sql in (_RUNS, _ARRAYS):
        for row in db.execute(sql, values):
            yield Ended(*row)


def ended_one(
    db: sqlite3.Connection, cluster: str, job: int, submit: int, now: int, checkpoint_code: int, *, is_array: bool
) -> Ended | None:
    """The same of one run, or of the array whose first task was submitted at `submit`; None where there is none."""
    values = {"cluster": cluster, "job": job, "submit": submit, "now": now, "checkpoint_code": checkpoint_code}
    row = db.execute(_ONE_ARRAY if is_array else _ONE, values).fetchone()
    return None if row is None else Ended(*row)


def habits(db: sqlite3.Connection, counted: Filter) -> dict[int, Habit]:
    """Map each uid to its Habit over the runs that count."""
    which = select(counted, limits=True)
    return {row[0]: Habit(*row[1:]) for row in db.execute(_HABITS.format(where=which.where), which.params)}


def active(db: sqlite3.Connection, counted: Filter) -> list[tuple[int, str, str | None]]:
    """(uid, user, account) of everybody with a batch run that counts."""
    which = select(counted, limits=True)
    return [(row[0], row[1], row[2]) for row in db.execute(_ACTIVE.format(where=which.where), which.params)]
