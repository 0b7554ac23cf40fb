"""Runs that were ended before they were done: by their limit, for want of memory, by the failure of a node.

What such a run had computed is lost, unless its program had saved it, which Slurm does not know. Where a process caught
the signal of the checkpoint plugin, it probably had: of such a run nothing counts as lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from adminkit.slurm.hostlist import hosts
from adminkit.sqlite import sqlite3
from adminkit.stats.weeks import Reserved
from adminkit.trace.run_view import TOO_LONG
from adminkit.trace.step_memory import memory, steps_of

#: States of such runs.
STATES: Final = ("TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL")
#: SQL: the run is one of these. Trap: a run that was put back at its limit is REQUEUED, and lost nothing that is known.
LOST: Final = f"(state IN {STATES} AND elapsed >= 0 AND elapsed < {TOO_LONG})"
#: SQL: … and nothing says that it saved its work.
UNSAVED: Final = f"({LOST} AND coalesce(ckpt_heard, 0) = 0)"

#: Failures of nodes that are so close are one; seconds.
_ONE_FAILURE: Final = 600

_FIELDS: Final = """job_id_raw, submit_time, coalesce(job_id, job_id_raw), array_task, state, elapsed, end_time,
    size_gpus, coalesce(size_units, 0), size_nodes, coalesce(mem, req_mem), max_rss, node_list, ckpt_at, ckpt_heard,
    CASE WHEN more_given > 0 THEN last_limit END"""
_RUN: Final = f"SELECT {_FIELDS} FROM run WHERE cluster = ? AND job_id_raw = ? AND submit_time = ? AND {LOST}"
_TASKS: Final = f"""
SELECT {_FIELDS} FROM run
WHERE cluster = ? AND array_job = ? AND submit_time >= ? AND end_time <= ? AND acting AND {LOST}
"""
#: The runs of the same number after this one, and which run each of them continues.
_LATER: Final = """
SELECT submit_time, previous_submit, state, start_time, end_time FROM run
WHERE cluster = ? AND job_id_raw = ? AND submit_time > ? ORDER BY submit_time
"""
#: Nobody knows which node of a run on several nodes failed.
_FAILED: Final = """
SELECT node_list, end_time FROM run
WHERE end_time >= ? AND end_time <= ? AND +cluster = ? AND state = 'NODE_FAIL' AND size_nodes = 1 AND acting
ORDER BY end_time
"""
_MEMORY: Final = """
SELECT coalesce(mem, req_mem) / coalesce(size_nodes, 1), size_nodes FROM run
WHERE cluster = ? AND job_id_raw = ? AND submit_time = ? AND state = 'COMPLETED'
"""
#: The plugin leaves a note of each run in which it looked for a process to warn.
_PLUGIN: Final = "SELECT 1 FROM run WHERE end_time >= ? AND +cluster = ? AND ckpt_at IS NOT NULL LIMIT 1"
_WEEK: Final = f"""
SELECT user, state, count(*), total(elapsed * coalesce(size_gpus, 0)),
    total(CASE WHEN coalesce(size_gpus, 0) = 0 THEN elapsed * size_units END)
FROM run
WHERE end_time >= ? AND end_time < ? AND +cluster = ? AND {UNSAVED} AND acting AND NOT interactive
    AND user IN ({{users}}) AND coalesce(het_offset, 0) = 0
GROUP BY user, state
"""


class LostRun(NamedTuple):
    """One of these runs. Times are epoch seconds, memory bytes of the whole job; None for unknown."""

    job_id_raw: int
    submit_time: int
    job_id: str  # as Slurm prints it
    array_task: int | None
    state: str  # one of STATES
    elapsed: int  # seconds
    end_time: int | None
    gpus: int | None
    units: int  # GPUs, or CPUs of a run without; 0: neither is known
    nodes: int | None
    mem: int | None  # that it had, else asked for
    max_rss: int | None  # the largest peak of any task
    node_list: str | None
    ckpt_at: int | None  # when the checkpoint plugin looked for a process to warn
    ckpt_heard: int | None  # how many it warned
    last_limit: int | None = None  # what ended it, where it had been given more time than it asked for

    @property
    def saved(self) -> bool:
        """Whether a process was warned in time, so that it may have saved its work."""
        return bool(self.ckpt_heard)

    @property
    def reserved(self) -> Reserved:
        """What it had reserved while it ran."""
        seconds = self.elapsed * self.units
        return Reserved(gpu_seconds=seconds) if self.gpus else Reserved(cpu_seconds=seconds)


class Had(NamedTuple):
    """The memory of a run that completed, per node, bytes; None for unknown."""

    mem: int | None  # that it had
    used: int | None  # the peaks of its tasks, as they were sampled


class LostWeek(NamedTuple):
    """What a user's runs of one week lost. `runs` by state."""

    runs: Mapping[str, int]
    reserved: Reserved  # while they ran


def lost_run(db: sqlite3.Connection, cluster: str, job_id_raw: int, submit_time: int) -> LostRun | None:
    """The run with this key; None if it is not one of these."""
    row = db.execute(_RUN, (cluster, job_id_raw, submit_time)).fetchone()
    return None if row is None else _made(row)


def lost_tasks(db: sqlite3.Connection, cluster: str, array: int, submit: int, until: int) -> list[LostRun]:
    """The lost tasks of an array whose first task was submitted at `submit`, with an end by `until`.

    The costliest first; those that may have saved their work last.
    """
    found = [_made(row) for row in db.execute(_TASKS, (cluster, array, submit, until))]
    return sorted(found, key=lambda one: (one.saved, -one.elapsed * one.units, one.array_task or 0, one.submit_time))


def put_back(db: sqlite3.Connection, cluster: str, run: LostRun) -> str | None:
    """What became of the job after this run: waits, runs, completed, ended; None where Slurm did not put it back."""
    last, found = run.submit_time, None
    for submit, previous, *outcome in db.execute(_LATER, (cluster, run.job_id_raw, run.submit_time)):
        if previous != last:
            break
        last, found = submit, outcome
    if found is None:
        return None
    state, start, ended = found
    if ended is not None:
        return "completed" if state == "COMPLETED" else "ended"
    return "waits" if start is None or state == "PENDING" else "runs"


def node_failures(db: sqlite3.Connection, cluster: str, since: int, now: int) -> Mapping[str, int]:
    """How often each node failed under a job of one node that ended in [since, now]."""
    times: dict[str, list[int]] = defaultdict(list)
    for names, end in db.execute(_FAILED, (since, now, cluster)):
        node = hosts(names or "")
        if len(node) == 1 and (not times[node[0]] or end - times[node[0]][-1] > _ONE_FAILURE):
            times[node[0]].append(end)
    return {node: len(ends) for node, ends in times.items() if ends}


def memory_had(db: sqlite3.Connection, cluster: str, keys: Iterable[tuple[int, int]]) -> list[Had]:
    """The memory of those of these runs (JobIDRaw, Submit) that completed."""
    found = []
    for key in keys:
        row = db.execute(_MEMORY, (cluster, *key)).fetchone()
        if row is not None:
            mem, nodes = row
            # Where there are several nodes the use of each is not known.
            found.append(Had(mem, memory(steps_of(db, cluster, *key), nodes) if nodes == 1 else None))
    return found


def plugin_seen(db: sqlite3.Connection, cluster: str, since: int) -> bool:
    """Whether the checkpoint plugin looked for a process to warn in any run that ended since then."""
    return db.execute(_PLUGIN, (since, cluster)).fetchone() is not None


def lost_week(
    db: sqlite3.Connection, cluster: str, since: int, until: int, users: Sequence[str]
) -> dict[str, LostWeek]:
    """The losses by user, of those who lost something in runs that ended in [since, until)."""
    found: dict[str, LostWeek] = {}
    query = _WEEK.format(users=", ".join("?" * len(users)))
    for user, state, runs, gpu, cpu in db.execute(query, (since, until, cluster, *users)):
        before = found.get(user, LostWeek({}, Reserved()))
        reserved = Reserved(before.reserved.gpu_seconds + gpu, before.reserved.cpu_seconds + cpu)
        found[user] = LostWeek({**before.runs, state: runs}, reserved)
    return found


def _made(row: tuple) -> LostRun:  # type: ignore[type-arg]
    return LostRun(row[0], row[1], str(row[2]), *row[3:])
