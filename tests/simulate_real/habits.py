"""What days of people's jobs are drawn from: names that somebody starts again and again, in batches of like jobs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tests.simulate_real.workloads import Draw, Job

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Habit:
    """What one person starts under one name. `usual` and `spread`: of a log-normal run time, seconds."""

    user: str
    name: str
    queue: str
    gpus: int  # on each node
    nodes: int
    usual: float
    spread: float

    def seconds(self, draw: Draw, shortest: int, longest: int, times: float = 1.0) -> int:
        """A run time between two bounds; `times`: as long as usual."""
        return round(min(max(self.usual * times * math.exp(self.spread * normal(draw)), shortest), longest))

    def job(self, number: int, offset: int, sleep: int, limit: int) -> Job:
        """On parts of its nodes."""
        return Job(
            number, offset, (self.queue,), self.nodes, self.gpus, 500 * self.gpus, self.gpus, "", False, limit, None,
            sleep, self.user, 0,
        )  # fmt: skip


def whole(job: Job, cpus: int) -> Job:
    """The job on whole nodes of so many CPUs."""
    return replace(job, cpus=cpus, whole=True)


def begin(draw: Draw, early: float, until: int, span: int) -> int:
    """When a batch comes: a share of the batches in the first `until` seconds, the others at any time."""
    return draw.whole(0, until) if draw.chance(early) else draw.whole(0, span)


def one_of(draw: Draw, things: Sequence[T]) -> T:
    return things[draw.whole(0, len(things) - 1)]


def normal(draw: Draw) -> float:
    """About normal, of mean 0 and variance 1: a sum of twelve, the same in every C library."""
    return sum(draw.whole(0, 9999) for _ in range(12)) / 10_000 - 6
