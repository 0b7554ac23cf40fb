"""One user's last runs with what they used, and which names they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.efficiency import Efficiency, efficiency
from adminkit.stats.lost import UNSAVED
from adminkit.stats.weeks import Reserved
from adminkit.trace.run_view import TOO_LONG
from adminkit.trace.step_memory import steps_of

#: The runs of one user that started and ended.
_MINE: Final = f"""
FROM run WHERE cluster = :cluster AND (uid = :uid OR uid IS NULL AND user = :user) AND end_time >= :since
    AND start_time IS NOT NULL AND elapsed >= 0 AND elapsed < {TOO_LONG}
"""
_LAST: Final = f"""
SELECT job_id_raw, submit_time, coalesce(job_id, job_id_raw), job_name, queue, state, start_time, end_time, elapsed,
    req_limit, size_nodes, size_cpus, size_gpus, coalesce(mem, req_mem), cpu_time, admin_comment,
    gpu_kind
{_MINE} ORDER BY end_time DESC, job_id_raw DESC LIMIT :most
"""
_COUNT: Final = f"SELECT count(*), min(end_time) {_MINE}"
#: Hours of GPUs, and of CPUs for runs without.
_LOST: Final = f"""
SELECT count(*), total(elapsed * coalesce(size_gpus, 0)),
    total(CASE WHEN coalesce(size_gpus, 0) = 0 THEN elapsed * size_units END)
{_MINE} AND elapsed > 0 AND {UNSAVED}
"""
#: Runs past the limit that was asked for, because they were given more time; how far, and how many completed.
_OVER: Final = f"""
SELECT count(*), total(more_used), total(state = 'COMPLETED')
{_MINE} AND more_used > 0
"""
_NAMES: Final = f"""
SELECT job_name, count(*), max(end_time), avg(1.0 * elapsed / req_limit), max(elapsed), max(user)
{_MINE} AND elapsed > 0 AND job_name IS NOT NULL GROUP BY job_name ORDER BY max(end_time) DESC, job_name LIMIT :most
"""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose runs, on which cluster; `user` is for rows without a uid."""

    cluster: str
    uid: int
    user: str


@dataclass(frozen=True, slots=True)
class OwnRun:
    """One run. None: unknown; `limit` None: no limit."""

    job_id: str
    job_name: str | None
    queue: str | None
    state: str | None
    start_time: int | None
    end_time: int
    elapsed: int
    req_limit: int | None
    nodes: int | None
    cpus: int | None
    gpus: float | None  # equivalents
    mem: int | None  # bytes, as allocated
    used: Efficiency

    @property
    def accuracy(self) -> float | None:
        return self.elapsed / self.req_limit if self.req_limit else None


@dataclass(frozen=True, slots=True)
class OwnName:
    """The runs of one name."""

    job_name: str
    runs: int
    last: int  # epoch seconds
    accuracy: float | None  # their mean, which may exceed 1
    longest: int  # seconds
    user: str | None


def last_runs(db: sqlite3.Connection, owner: Owner, since: int, most: int) -> list[OwnRun]:
    """The last `most` runs that ended at or after `since`, the newest first."""
    rows = db.execute(_LAST, {**_values(owner, since), "most": most}).fetchall()
    return [_run(row, steps_of(db, owner.cluster, row[0], row[1])) for row in rows]


def _run(row: Sequence[object], steps: Sequence[object]) -> OwnRun:
    job, name, queue, state, start, end, elapsed, limit, nodes, cpus, gpus, mem, cpu_time, comment, kind = row[2:]
    used = efficiency(elapsed, cpus, mem, gpus, cpu_time, steps, comment, nodes, kind, start=start)  # type: ignore[arg-type]
    return OwnRun(str(job), name, queue, state, start, end, elapsed, limit, nodes, cpus, gpus, mem, used)  # type: ignore[arg-type]


def lost(db: sqlite3.Connection, owner: Owner, since: int) -> tuple[int, Reserved]:
    """Those of the same runs that lost their work, as far as is known (stats/lost.py), and what they had reserved."""
    runs, gpu, cpu = db.execute(_LOST, _values(owner, since)).fetchone()
    return int(runs), Reserved(gpu, cpu)


def ran_over(db: sqlite3.Connection, owner: Owner, since: int) -> tuple[int, int, int]:
    """How many of the same runs ran past their limits because they were given more time; seconds past them, and how
    many of these runs completed.
    """
    runs, seconds, completed = db.execute(_OVER, _values(owner, since)).fetchone()
    return int(runs), int(seconds), int(completed)


def counted(db: sqlite3.Connection, owner: Owner, since: int) -> tuple[int, int | None]:
    """How many runs ended at or after `since`, and when the first of them did."""
    runs, first = db.execute(_COUNT, _values(owner, since)).fetchone()
    return int(runs), first


def names(db: sqlite3.Connection, owner: Owner, since: int, most: int) -> list[OwnName]:
    """The names of runs that ended at or after `since`, the one used last first."""
    rows = db.execute(_NAMES, {**_values(owner, since), "most": most})
    return [OwnName(*row) for row in rows]


def _values(owner: Owner, since: int) -> dict[str, str | int]:
    return {"cluster": owner.cluster, "uid": owner.uid, "user": owner.user, "since": since}
