"""Which GPUs a running job holds without using them, by what a source measured of it; and what keeps that from being
known. Pure.

A number is believed only where it is certainly of this run of this job and of all its GPUs, and not old. Everything
else is "not measured", with the reason, and never idle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.usage.usage import Answer, GpuUse

#: Why a job is not measured, as docs/idle.md has them; "" where it is.
Why = Literal["", "nobody", "parts", "shared", "clock", "node", "count", "stale", "gaps", "run"]
#: Which of several sources' reasons is said: the one that a source got furthest with.
_FURTHEST: Final[Sequence[Why]] = ("gaps", "stale", "run", "count", "node", "clock", "shared", "parts", "nobody")
#: Seconds by which two hosts' clocks may differ.
SKEW: Final = 60
#: The least share of the time that readings stand for.
_COVERED: Final = 0.8
#: Seconds for which a GPU has not been used that is shown as idle, unless somebody says otherwise.
IDLE: Final = 600
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Held:
    """A running job with what is known of its GPUs. `why` is not "": it is not measured, and `uses` is empty."""

    job: GpuJob
    source: str | None = None
    uses: tuple[GpuUse, ...] = ()
    why: Why = "nobody"

    @property
    def measured(self) -> bool:
        return not self.why

    def idle(self, least: int) -> int:
        """How many of its GPUs were not in use for the last `least` seconds or longer."""
        return sum(use.gpus for use in self.uses if use.quiet >= max(least, 1))

    @property
    def quiet(self) -> int | None:
        """Seconds for which none of its GPUs was in use; None: not measured."""
        return min((use.quiet for use in self.uses), default=None)

    @property
    def was_used(self) -> bool:
        """Whether one of its GPUs was in use in the time that was looked at."""
        return any(use.last_used is not None for use in self.uses)

    def idle_since(self, least: int) -> int | None:
        """Since when all GPUs that idle() counts have been idle, epoch seconds; None: none is."""
        return max((use.until - use.quiet for use in self.uses if use.quiet >= max(least, 1)), default=None)

    def idle_hours(self, least: int) -> float | None:
        """GPU-hours that the GPUs that idle() counts have been idle until now; None: not measured."""
        if not self.measured:
            return None
        return sum(use.quiet * use.gpus for use in self.uses if use.quiet >= max(least, 1)) / _HOUR

    @property
    def unused_hours(self) -> float | None:
        """GPU-hours of the time that was looked at in which the GPUs were not in use; None: not measured."""
        return sum(use.measured - use.busy for use in self.uses) / _HOUR if self.measured else None


def held(jobs: Sequence[GpuJob], answers: Sequence[Answer], now: int, fresh: int) -> list[Held]:
    """Each job with the first answer that measured it, in the order of the jobs. `fresh`: seconds."""
    starts = {job.job_id: job.start or 0 for job in jobs}
    shared = [_shared(answer, starts) for answer in answers]
    found = []
    for job in jobs:
        looks = [_look(job, one, job.job_id in of_two, now, fresh) for one, of_two in zip(answers, shared, strict=True)]
        good = next((look for look in looks if look.measured), None)
        found.append(good or min(looks, key=lambda look: _FURTHEST.index(look.why), default=Held(job)))
    return found


def _look(job: GpuJob, answer: Answer, is_shared: bool, now: int, fresh: int) -> Held:
    uses = answer.uses.get(job.job_id, ())
    if job.kind != "whole":
        return Held(job, why="parts")
    if not uses:
        return Held(job)
    why = _why(job, answer, uses, is_shared, now, fresh)
    if why:
        return Held(job, answer.source, why=why)
    return Held(job, answer.source, tuple(_of_run(use, job.start or 0) for use in uses), "")


def _why(job: GpuJob, answer: Answer, uses: Sequence[GpuUse], is_shared: bool, now: int, fresh: int) -> Why:
    """The first reason that holds."""
    start = job.start
    if is_shared:
        return "shared"
    if answer.at is not None and abs(answer.at - now) > SKEW:
        return "clock"
    if any(use.since > now + SKEW or use.until > now + SKEW or (use.last_used or 0) > now + SKEW for use in uses):
        return "clock"
    if not {use.node for use in uses} <= set(job.nodes):
        return "node"
    if sum(use.gpus for use in uses) != job.gpus or any(use.gpus < 1 for use in uses):
        return "count"
    if start is None or start > now + SKEW or any(use.until <= start for use in uses):
        return "run"
    if any(use.until < now - fresh for use in uses):
        return "stale"
    if any(use.since > use.until or use.covered < _COVERED for use in uses):
        return "gaps"
    return ""


def _of_run(use: GpuUse, start: int) -> GpuUse:
    """What of it is this run's: a job that was put back has the same id. The sums are then at most these."""
    if use.since >= start:
        return use
    last = None if use.last_used is None or use.last_used < start else use.last_used
    measured = min(use.measured, float((use.until - start) * use.gpus))
    busy = 0.0 if last is None else min(use.busy, measured)
    return replace(use, since=start, last_used=last, measured=measured, busy=busy)


def _shared(answer: Answer, starts: Mapping[int, int]) -> set[int]:
    """The jobs, by id, one of whose GPUs another job had at the same time, or that have one GPU twice.

    Only times count that both jobs had the GPU: readings reach `window` seconds back, so they also have the jobs that
    had it before. `starts`: when each running job's run began, epoch seconds; what is older is of an earlier run.
    """
    least = SKEW + answer.step
    times: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for job_id, uses in answer.uses.items():
        for use in uses:
            times.setdefault((use.node, use.gpu), []).append((max(use.since, starts.get(job_id, 0)), use.until, job_id))
    found: set[int] = set()
    for (_, gpu), rows in times.items():
        if not gpu:
            continue  # sums of whole GPUs that Slurm gave to each of the jobs
        latest: tuple[int, int] | None = None  # the end, and the job, of the row before that ends last
        for since, until, job_id in sorted(rows):
            if latest is not None and (latest[1] == job_id or min(latest[0], until) - since >= least):
                found |= {latest[1], job_id}
            latest = (until, job_id) if latest is None or until > latest[0] else latest
    return found
