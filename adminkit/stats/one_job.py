"""One job: its runs, the steps of each, and the letters about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from adminkit.errors import UsageError
from adminkit.quote import quote
from adminkit.sqlite import sqlite3
from adminkit.stats.efficiency import Efficiency, efficiency
from adminkit.stats.select import clusters
from adminkit.trace.io_word import FileWaits, file_waits_of
from adminkit.trace.run_view import step_of
from adminkit.trace.step_memory import steps_of

#: 4711, a task of an array 4711_3, a component of a het job 4711+1.
_ID: Final = re.compile(r"([1-9][0-9]{0,17})(?:(_|\+)([0-9]{1,9}))?", re.ASCII)
#: Components of a het job have numbers that follow each other; Slurm allows 128 (MAX_HET_JOB_COMPS).
_COMPONENTS: Final = 128
#: What the id is -> SQL for its runs. Each is answered by an index of the table job.
_WHOLE: Final = (
    "job_id_raw = :number",
    "array_job = :number",
    f"job_id_raw BETWEEN :number AND :number + {_COMPONENTS} AND het_job = :number",
)
_PART: Final = {
    "_": ("array_job = :number AND array_task = :part",),
    "+": (f"job_id_raw BETWEEN :number AND :number + {_COMPONENTS} AND het_job = :number AND het_offset = :part",),
}
_COLUMNS: Final = """cluster, job_id_raw, submit_time, coalesce(job_id, job_id_raw), job_name, user, uid, account,
    queue,
    qos, state, reason, eligible_time, start_time, end_time, elapsed, wait, req_limit, limit_source,
    coalesce(req_nodes, nodes), coalesce(req_cpus, cpus), coalesce(req_mem, mem), size_nodes, size_cpus, size_gpus,
    gpu_type, coalesce(mem, req_mem), nullif(energy, 0), exit_code, exit_signal, continues, ckpt_requeues, ckpt_end,
    more_used, node_list, tasks, cpu_time, admin_comment, gpu_kind,
    gpu_parts IS NOT NULL OR req_gpu_parts IS NOT NULL"""
_RUNS: Final = f"SELECT {_COLUMNS} FROM run WHERE cluster = :cluster AND "
_STEPS: Final = f"""
SELECT step.step, step.step_name, step.state, step.start_time, step.end_time, step.elapsed, step.nodes, step.tasks,
    step.cpu_time, nullif(step.mem_used, 0), step.gpus_used, nullif(step.energy, 0)
FROM run JOIN step ON {step_of("run")}
WHERE run.cluster = ? AND run.job_id_raw = ? AND run.submit_time = ?
ORDER BY step.start_time IS NULL, step.start_time, step.step
"""
_LETTERS: Final = """
SELECT kind, state, due_at, sent_at, attempts FROM outbox
WHERE cluster = :cluster AND job_id_raw IN ({numbers}) AND submit_time >= :first ORDER BY due_at
"""
_UNKNOWN: Final = Efficiency(None, None, None, None)


class StepUse(NamedTuple):
    """A step of a run. Times are epoch seconds, memory bytes, energy joules; None: unknown."""

    step: str
    step_name: str | None
    state: str | None
    start_time: int | None
    end_time: int | None
    elapsed: int | None
    nodes: int | None
    tasks: int | None
    cpu_time: float | None
    mem_used: int | None
    gpus_used: float | None
    energy: int | None


class LetterOf(NamedTuple):
    """A letter about a job. Times are epoch seconds."""

    kind: str
    state: str
    due_at: int
    sent_at: int | None
    attempts: int


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of the job. Times are epoch seconds, durations seconds, sizes bytes, energy joules; None: unknown."""

    cluster: str
    job_id_raw: int
    submit_time: int
    job_id: str
    job_name: str | None
    user: str | None
    uid: int | None
    account: str | None
    queue: str | None
    qos: str | None
    state: str | None
    reason: str | None  # Slurm's code: what it last waited for, other than priority and resources
    eligible_time: int | None
    start_time: int | None
    end_time: int | None
    elapsed: int | None
    wait: int | None
    req_limit: int | None  # None: no limit, or unknown
    limit_source: str
    req_nodes: int | None  # as asked for, like the next two
    req_cpus: int | None
    req_mem: int | None
    nodes: int | None  # as allocated, else as asked for, like the next ones
    cpus: int | None
    gpus: float | None  # equivalents
    gpu_type: str | None
    mem: int | None
    energy: int | None
    exit_code: int | None
    exit_signal: int | None
    continues: int  # 0, 1: an earlier run of the job was put back into the queue
    ckpt_requeues: int | None
    ckpt_end: str | None
    more_used: int | None
    node_list: str | None
    tasks: int | None  # of an array, that share this row
    has_parts: bool = False  # some of its GPUs were, or may have been, MIG slices, shards or MPS
    used: Efficiency = _UNKNOWN
    file_waits: FileWaits | None = None

    @property
    def accuracy(self) -> float | None:
        return self.elapsed / self.req_limit if self.req_limit and self.elapsed is not None else None

    @property
    def held(self) -> int | None:
        """Seconds from submission until the job might start: a dependency, a hold, a begin time."""
        return None if self.eligible_time is None else max(self.eligible_time - self.submit_time, 0)


def parse_id(text: str) -> tuple[int, str, int | None]:
    """(number, "_" for a task or "+" for a component or "", its number). UsageError for another word."""
    found = _ID.fullmatch(text)
    if found is None:
        raise UsageError(f"this is not the number of a job: {quote(text)}", "write 4711, 4711_3 or 4711+1, as squeue")
    return int(found[1]), found[2] or "", None if found[3] is None else int(found[3])


def runs_of_job(db: sqlite3.Connection, job: str, cluster: str | None, most: int) -> tuple[list[JobRun], int]:
    """The last `most` runs of a job in the order of submission, of all tasks of an array and components of a het job;
    and how many there are. UsageError where several clusters have a job of that number.
    """
    number, kind, part = parse_id(job)
    values = {"number": number, "part": part}
    found: dict[tuple[str, int, int], tuple[object, ...]] = {}
    for name in [cluster] if cluster else clusters(db):
        for wanted in _PART[kind] if kind else _WHOLE:
            rows = db.execute(f"{_RUNS}{wanted}", {**values, "cluster": name})
            found |= {(row[0], row[1], row[2]): row for row in rows}
    if len(names := sorted({key[0] for key in found})) > 1:
        raise UsageError(f"several clusters have a job {job}", f"name one with --cluster: {', '.join(names)}")
    ordered = [found[key] for key in sorted(found, key=lambda key: (key[2], key[1]))]
    return [_run(db, row) for row in ordered[-most:]], len(ordered)


def _run(db: sqlite3.Connection, row: Sequence[object]) -> JobRun:
    *values, cpu_time, comment, kind, parts = row
    run = JobRun(*values)  # type: ignore[arg-type]
    steps = steps_of(db, run.cluster, run.job_id_raw, run.submit_time)
    had = run.elapsed, run.cpus, run.mem, run.gpus, cpu_time
    used = efficiency(*had, steps, comment, run.nodes, kind, start=run.start_time)  # type: ignore[arg-type]
    waits = file_waits_of(comment, run.start_time)
    return replace(run, job_id=str(run.job_id), has_parts=bool(parts), used=used, file_waits=waits)


def steps_used(db: sqlite3.Connection, run: JobRun) -> list[StepUse]:
    """The steps of a run, the first first."""
    return [StepUse(*row) for row in db.execute(_STEPS, (run.cluster, run.job_id_raw, run.submit_time))]


def letters_about(db: sqlite3.Connection, runs: Sequence[JobRun], number: int) -> list[LetterOf]:
    """The letters about these runs, or about the array of that number; the oldest first."""
    if not runs:
        return []
    numbers = sorted({number, *(run.job_id_raw for run in runs)})
    first = min(run.submit_time for run in runs)
    found: list[LetterOf] = []
    for some in _blocks(numbers):
        values = {f"n{place}": one for place, one in enumerate(some)}
        statement = _LETTERS.format(numbers=", ".join(f":{name}" for name in values))
        rows = db.execute(statement, {**values, "cluster": runs[0].cluster, "first": first})
        found += [LetterOf(*row) for row in rows]
    return sorted(found, key=lambda one: one.due_at)


def _blocks(numbers: Sequence[int], most: int = 500) -> Iterator[Sequence[int]]:
    for at in range(0, len(numbers), most):
        yield numbers[at : at + most]
