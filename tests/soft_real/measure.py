"""What the pairs say: waits by size, those of head jobs, makespan, jobs that ended early."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import fmean, stdev
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adminkit.stats.student import CONFIDENCE, quantile
from tests.soft_real.runs import Row, Run
from tests.soft_real.workloads import SHAPE, SIZES, Day, day, size_of

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Seconds at the head of the queue that count: a job that starts at once was no head.
HEAD: Final = 5


@dataclass(frozen=True)
class Pair:
    """The two runs of a day."""

    day: Day
    off: Run
    on: Run

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        return tuple(map(size_of, self.day.workload.jobs))

    @cached_property
    def heads(self) -> frozenset[int]:
        """The head jobs of one of the runs, or in both."""
        return heads(self.off.rows) | heads(self.on.rows)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of every pair: without soft limits, with them."""

    name: str
    off: tuple[float, ...]
    on: tuple[float, ...]

    @property
    def change(self) -> Interval:
        return interval([b - a for a, b in zip(self.off, self.on, strict=True)])

    @property
    def ratio(self) -> Interval:
        """Of each pair, with / without, less 1."""
        return interval([b / a - 1 for a, b in zip(self.off, self.on, strict=True)])


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and half of its 95 % interval by Student's t."""

    mean: float
    half: float

    @property
    def sign(self) -> int:
        """0 where the interval holds 0."""
        return 0 if abs(self.mean) <= self.half else (1 if self.mean > 0 else -1)


def interval(of: Sequence[float]) -> Interval:
    half = float("inf") if len(of) < 2 else quantile((1 + CONFIDENCE) / 2, len(of) - 1) * stdev(of) / len(of) ** 0.5
    return Interval(fmean(of), half)


def pairs(runs: Iterable[Run], day: Callable[[int], Day] = day) -> list[Pair]:
    """By number and seed. ValueError where a run is of another day than its seed makes by now, or stands alone."""
    found: dict[tuple[int, int], dict[str, Run]] = {}
    for run in runs:
        if run.head["digest"] != day(run.seed).digest:
            raise ValueError(f"day {run.seed} of {run.head['date']} was another one: {run.head['digest']}")
        found.setdefault((run.number, run.seed), {})[run.arm] = run
    if alone := [key for key, arms in found.items() if len(arms) != 2]:
        raise ValueError(f"one run alone: {alone}")
    return [Pair(day(seed), arms["off"], arms["on"]) for (_, seed), arms in sorted(found.items())]


def waits(run: Run) -> Numbers:
    """By the jobs' numbers, seconds."""
    return np.array([row.start - row.eligible for row in sorted(run.rows, key=lambda row: row.number)], float)


def makespan(run: Run) -> float:
    return float(max(row.end for row in run.rows) - min(row.submit for row in run.rows))


def heads(rows: Sequence[Row]) -> frozenset[int]:
    """The jobs that had the highest priority of all that waited, for HEAD seconds at least.

    All that wait age alike, so their order is that of the priority at submission less what age has added since the
    beginning; of equals the older one is first.
    """
    weights = SHAPE.settings
    rate = weights["PriorityWeightAge"] / (weights["PriorityMaxAge"] * 60)
    order = sorted(rows, key=lambda row: (rate * row.eligible - row.priority, row.number))
    moments = sorted({row.eligible for row in rows} | {row.start for row in rows})
    seconds: dict[int, int] = {}
    for now, after in pairwise(moments):
        head = next((row.number for row in order if row.eligible <= now < row.start), None)
        if head is not None:
            seconds[head] = seconds.get(head, 0) + after - now
    return frozenset(number for number, lasted in seconds.items() if lasted >= HEAD)


def late(run: Run) -> list[int]:
    """How much later than first promised the jobs started that were seen at the head, seconds."""
    return [row.start - row.promised for row in run.rows if row.promised is not None]


def cut(one: Day, run: Run) -> list[Row]:
    """The jobs that did not get what they asked for: a lower limit, another end than their own, or a shorter run."""
    asked = {job.number: job for job in one.workload.jobs}
    return [
        row
        for row in run.rows
        if row.state != "COMPLETED"
        or row.limit < asked[row.number].limit
        or row.end - row.start < asked[row.number].sleep
    ]


def outlived(run: Run) -> tuple[int, int]:
    """How many jobs ran longer than their soft limit, and how many had one."""
    planned = [row for row in run.rows if row.soft is not None]
    return sum(row.end - row.start > (row.soft or 0) for row in planned), len(planned)


def among(pair: Pair, group: str) -> Flags:
    """The jobs of a size, those that were "head jobs", or all."""
    if group in SIZES:
        return np.array([size == group for size in pair.sizes])
    return np.array([group == "all jobs" or number in pair.heads for number in range(len(pair.sizes))])


def figures(found: Sequence[Pair]) -> list[Figure]:
    """Waits in seconds, mean and 95th percentile of all jobs and of each size; of heads; makespan."""
    groups = ("all jobs", *SIZES, "head jobs")
    rows = [one for group in groups for one in _waits(group, found)]
    return [*rows, Figure("makespan", *(tuple(makespan(run) for run in arm) for arm in _arms(found)))]


def figures_of_days(found: Sequence[Pair]) -> list[Figure]:
    """The same of each day, the mean of its pairs."""
    days = list(dict.fromkeys(pair.day.seed for pair in found))
    which = [[number for number, pair in enumerate(found) if pair.day.seed == seed] for seed in days]

    def merged(values: Sequence[float]) -> tuple[float, ...]:
        return tuple(fmean(values[number] for number in numbers) for numbers in which)

    return [Figure(one.name, merged(one.off), merged(one.on)) for one in figures(found)]


def _waits(group: str, found: Sequence[Pair]) -> Iterator[Figure]:
    for name, measure in (("mean", np.mean), ("p95", lambda of: np.percentile(of, 95))):
        arms = (
            tuple(float(measure(waits(run)[among(pair, group)])) for pair, run in zip(found, arm, strict=True))
            for arm in _arms(found)
        )
        yield Figure(f"{name} wait, {group}", *arms)


def _arms(found: Sequence[Pair]) -> tuple[list[Run], list[Run]]:
    return [pair.off for pair in found], [pair.on for pair in found]
