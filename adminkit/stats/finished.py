"""What one run that ended, or all tasks of one array, asked for and used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.runs import KIND, Kind
from adminkit.trace.run_view import TOO_LONG

#: Kind's eight fields, then what the run got and used.
_RUN: Final = f"""
SELECT {KIND}, coalesce(job_id, job_id_raw), state, start_time, end_time,
    CASE WHEN elapsed BETWEEN 0 AND {TOO_LONG} THEN elapsed END,
    size_nodes, size_cpus, size_gpus, mem, cpu_time, nullif(energy, 0), admin_comment, gpu_kind,
    last_limit, more_used
FROM run WHERE cluster = ? AND job_id_raw = ? AND submit_time = ?
"""
#: Only the last run of a task that was requeued: SQLite shows the row that has the maximum.
_TASKS: Final = f"""
SELECT job_id_raw, max(submit_time), state, elapsed FROM run
WHERE cluster = ? AND array_job = ? AND submit_time >= ? AND end_time <= ? AND acting
    AND elapsed BETWEEN 0 AND {TOO_LONG} AND start_time IS NOT NULL AND array_task IS NOT NULL
GROUP BY array_task ORDER BY array_task
"""


@dataclass(frozen=True, slots=True)
class Finished:
    """One run. None: unknown; kind.req_limit is None for an unlimited run too."""

    kind: Kind
    job_id: str  # as Slurm prints it
    state: str | None
    start_time: int | None
    end_time: int | None
    elapsed: int | None
    nodes: int | None
    cpus: int | None
    gpus: float | None  # equivalents
    mem: int | None  # bytes, the whole job
    cpu_time: float | None
    energy: int | None  # joules
    admin_comment: str | None
    gpu_kind: str | None = None
    last_limit: int | None = None  # what would have ended it, which is more than kind.req_limit where time was given
    more_used: int | None = None  # seconds of that time; None where none was given


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of one array that ran: run times ascending, state -> tasks, and the key of the longest."""

    elapsed: Sequence[int]
    states: Mapping[str, int]
    key: tuple[int, int]  # job_id_raw and submit of the longest


def finished(db: sqlite3.Connection, cluster: str, job_id_raw: int, submit: int) -> Finished | None:
    """The run with this key; None where the trace has none."""
    row = db.execute(_RUN, (cluster, job_id_raw, submit)).fetchone()
    return None if row is None else Finished(Kind(*row[:8]), str(row[8]), *row[9:])


def tasks(db: sqlite3.Connection, cluster: str, array: int, submit: int, until: int) -> Tasks | None:
    """The tasks that ended by `until`, of the array whose first task was submitted at `submit`; None for none."""
    rows = db.execute(_TASKS, (cluster, array, submit, until)).fetchall()
    if not rows:
        return None
    states: dict[str, int] = {}
    for _, _, state, _ in rows:
        states[state or "UNKNOWN"] = states.get(state or "UNKNOWN", 0) + 1
    longest = max(rows, key=lambda row: row[3])
    ordered = dict(sorted(states.items(), key=lambda one: (-one[1], one[0])))
    return Tasks(sorted(row[3] for row in rows), ordered, (longest[0], longest[1]))
