"""What the look-alike's jobs used: CPU time, memory, GPUs, their command lines and their steps. All of it is invented.

A stream of its own: nothing here changes a job. Users have habits, so what a program uses is similar from run to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Final, NamedTuple

from adminkit.demo import nights, training
from adminkit.job import Job, Step

#: Every run used at least this share of its CPUs.
_LEAST_CPU: Final = 0.03
_MOST_MEM: Final = 0.98
_GIB: Final = 2**30
#: A job of that name runs a program of its own on each of its GPUs.
BUNDLE: Final = "eight_at_once.sh"


class Use(NamedTuple):
    """What one job used."""

    submit_line: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Habit:
    """What the runs of one program of one user use, on average: shares of what they have."""

    cpu: float
    mem: float
    gpu: float
    submit_line: str


def uses(jobs: Iterable[Job], seed: int) -> Iterator[tuple[Job, Use]]:
    """Each job with what it used; the same jobs in the same order have the same use."""
    rng = Random(seed + 1)
    containers: dict[str | None, str] = {}  # user -> the word that starts their image
    habits: dict[tuple[str | None, ...], _Habit] = {}
    for job in jobs:
        if job.user not in containers:
            containers[job.user] = rng.choice(("", "", "singularity"))
        key = (job.user, job.job_name, job.queue, str(job.gpus), str(job.nodes))
        if key not in habits:
            container = nights.CONTAINER if job.job_name == nights.PIPELINE else containers[job.user]
            habits[key] = _habit(job, container, rng)
        yield job, _use(job, habits[key], rng)


def _habit(job: Job, container: str, rng: Random) -> _Habit:
    """One program in ten never finds a GPU; one in four of several GPUs without a framework uses one of them."""
    gpus = job.gpus or 1
    choices = ("mpirun",) if (job.nodes or 1) > 1 else ("", "mpirun", "horovodrun")
    framework = rng.choice(choices) if gpus > 1 else ""
    gpu = rng.betavariate(4, 2.5)
    if rng.random() < 0.1:
        gpu = 0.0
    elif gpus > 1 and not framework and rng.random() < 0.25:
        gpu /= gpus
    if job.job_name == training.NAME:
        gpu = training.KINDS[gpus].busy
    stem = (job.job_name or "job").partition("_")[0].partition("-v")[0].removesuffix(".sh")
    words = [f"sbatch --partition={job.queue} {stem}.sh", framework, container]
    return _Habit(rng.betavariate(1.6, 3), rng.lognormvariate(-1.9, 0.8), gpu, " ".join(filter(None, words)))


def _use(job: Job, habit: _Habit, rng: Random) -> Use:
    elapsed, cpus, gpus, mem = job.elapsed or 0, job.cpus or 1, job.gpus or 0, job.mem or _GIB
    cpu_time = elapsed * cpus * min(max(habit.cpu * rng.gauss(1, 0.08), _LEAST_CPU), 1)
    used = int(mem * min(habit.mem * rng.lognormvariate(0, 0.12), _MOST_MEM)) // 1024 * 1024
    busy = gpus * min(max(habit.gpu * rng.gauss(1, 0.07), 0), 1)
    if job.job_name == BUNDLE:
        parts = (_step(job, str(nth), "python", 1, cpu_time / gpus, used // gpus, used // gpus, busy / gpus)
                 for nth in range(gpus))  # fmt: skip
        return Use(habit.submit_line, tuple(replace(part, gpus=1) for part in parts))
    if (job.nodes or 1) == 1:
        return Use(habit.submit_line, (_step(job, "batch", job.job_name, 1, cpu_time, used, used, busy),))
    peak = used // gpus // 1024 * 1024
    batch = _step(job, "batch", "batch", 1, 60.0, _GIB // 8, _GIB // 8, 0.0)
    return Use(habit.submit_line, (batch, _step(job, "0", "mpirun", gpus, cpu_time, peak + peak // 16, used, busy)))


def _step(
    job: Job,
    step: str,
    name: str | None,
    tasks: int,
    cpu_time: float,
    max_rss: int,
    mem_used: int,
    busy: float,
) -> Step:
    whole = step != "batch" or job.nodes == 1
    return Step(
        job.cluster, job.job_id_raw, job.submit_time, step,
        step_name="batch" if step == "batch" else name,
        state="CANCELLED" if job.state == "TIMEOUT" else job.state,
        nodes=job.nodes if whole else 1,
        tasks=tasks,
        gpus=job.gpus if whole else (job.gpus or 0) // (job.nodes or 1),
        start_time=job.start_time,
        end_time=job.end_time,
        elapsed=job.elapsed,
        cpu_time=int(cpu_time),
        max_rss=max_rss,
        mem_used=mem_used,
        gpus_used=round(busy * 100) / 100,
    )  # fmt: skip
