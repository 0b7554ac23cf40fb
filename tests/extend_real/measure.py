"""What the runs of a day say: work lost at limits, waits of jobs that got no more time, and late heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adminkit.slurm.hostlist import hosts
from tests.extend_real.arms import Group
from tests.extend_real.runs import Row, Run
from tests.extend_real.workloads import SHAPE, Day, day

Numbers = NDArray[np.float64]

DRAWS: Final = 2000
_SEED: Final = 43
_LEVELS: Final = (2.5, 97.5)


@dataclass(frozen=True)
class Three:
    """The runs of a day: without extending, with it, which is of any arm, and without it again."""

    day: Day
    off: Run
    on: Run
    again: Run

    @cached_property
    def given(self) -> frozenset[int]:
        """The jobs that got more time."""
        return frozenset(act.number for act in self.on.acts if act.did == "given")

    @property
    def runs(self) -> tuple[Run, Run, Run]:
        return self.off, self.on, self.again

    @property
    def without(self) -> tuple[Run, Run]:
        return self.off, self.again


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95 % interval by the bootstrap."""

    value: float
    low: float
    high: float


def threes(runs: Iterable[Run], arm: str = "on") -> list[Three]:
    """The whole days with this arm, by risk and seed; a day of which a run is missing is left out. ValueError where a
    run is of another day than its seed and its risk make by now.
    """
    found: dict[tuple[int, int], dict[str, Run]] = {}
    for run in runs:
        if run.head["digest"] != day(run.seed, run.risk).digest:
            raise ValueError(f"day {run.seed} of {run.head['date']} was another one: {run.head['digest']}")
        found.setdefault((run.risk, run.seed), {})[run.arm] = run
    wanted = ("off", arm, "again")
    whole = {key: arms for key, arms in sorted(found.items()) if set(wanted) <= set(arms)}
    return [Three(day(seed, risk), *(arms[name] for name in wanted)) for (risk, seed), arms in whole.items()]


def group(runs: Iterable[Run], of: Group) -> list[Three]:
    """The whole days of a group."""
    return [one for one in threes(runs, of.arm) if one.day.risk == of.risk and one.day.seed in of.seeds]


def waits(run: Run) -> Numbers:
    """Of the jobs' first runs, by their numbers, seconds."""
    return np.array([row.start - row.eligible for row in _firsts(run)], float)


def lost(one: Day, run: Run) -> Numbers:
    """By the jobs' numbers: GPU seconds of runs that Slurm ended at the limit, which nobody saved."""
    jobs = one.workload.jobs
    found = np.zeros(len(jobs))
    for row in run.rows:
        if row.state == "TIMEOUT":
            found[row.number] += (row.end - row.start) * jobs[row.number].nodes * jobs[row.number].gpus
    return found


def killed(run: Run) -> int:
    """Jobs that Slurm ended at their limit."""
    return len({row.number for row in run.rows if row.state == "TIMEOUT"})


def put_back(run: Run) -> int:
    """How often a job was put back."""
    return sum(row.attempt > 1 for row in run.rows)


def late(run: Run) -> dict[int, int]:
    """How much later than first planned, in seconds, the jobs started that were seen at the head of a queue."""
    return {row.number: row.start - row.promised for row in run.rows if row.promised is not None}


def noise(found: Sequence[Three]) -> int:
    """How late heads are without extending: the latest one of both runs of every day, seconds."""
    return max([0, *(seconds for one in found for run in one.without for seconds in late(run).values())])


def later(one: Three, than: int) -> list[int]:
    """The heads that started later than planned by more than `than` seconds while jobs were extended."""
    return [number for number, seconds in late(one.on).items() if seconds > than]


def behind_extended(one: Three, number: int) -> list[int]:
    """The jobs that ran beyond the limit that they asked for, at the moment for which this head was planned first, on
    one of the nodes that it got.
    """
    head = next(row for row in _firsts(one.on) if row.number == number)
    names = set(hosts(head.nodes))
    jobs = one.day.workload.jobs
    return [
        row.number
        for row in one.on.rows
        if row.number in one.given
        and head.promised is not None
        and row.start + jobs[row.number].limit <= head.promised < row.end
        and names & set(hosts(row.nodes))
    ]


def held_by(one: Three, number: int) -> list[tuple[bool, int]]:
    """The runs that ended last on the nodes that this head got, before it started: whether the job had got more time,
    and how long after its limit it ended, seconds.
    """
    head = next(row for row in _firsts(one.on) if row.number == number)
    names = set(hosts(head.nodes))
    before = [row for row in one.on.rows if row.end <= head.start and names & set(hosts(row.nodes))]
    last = max((row.end for row in before), default=0)
    return [(row.number in one.given, row.end - row.start - row.limit) for row in before if row.end == last]


def extra(one: Three) -> float:
    """GPU seconds that jobs ran beyond the limit that they asked for, while jobs were extended."""
    jobs = one.day.workload.jobs
    over = (
        max(0, row.end - row.start - jobs[row.number].limit) * jobs[row.number].nodes * jobs[row.number].gpus
        for row in one.on.rows
        if row.number in one.given
    )
    return float(sum(over))


def acts(found: Iterable[Three]) -> Counter[tuple[str, str]]:
    """How often each was done for each reason."""
    return Counter((act.did, act.why) for one in found for act in one.on.acts)


def lost_for(found: Iterable[Three]) -> dict[str, float]:
    """GPU seconds lost at limits while jobs were extended, by the last reason for which a job got no more time; "" for
    none recorded.
    """
    sums: dict[str, float] = {}
    for one in found:
        whys = {act.number: act.why for act in one.on.acts if act.did == "refused"}
        for number, seconds in enumerate(lost(one.day, one.on)):
            if seconds:
                why = whys.get(number, "")
                sums[why] = sums.get(why, 0.0) + float(seconds)
    return dict(sorted(sums.items(), key=lambda one: -one[1]))


def wait_change(found: Sequence[Three], arm: str) -> Estimate:
    """By how much the mean wait of the jobs that got no more time is longer in the run `arm` than without, seconds:
    "on" against the mean of the runs without, "again" against "off".
    """
    columns = []
    for one in found:
        against = waits(one.off) if arm == "again" else (waits(one.off) + waits(one.again)) / 2
        columns.append((waits(getattr(one, arm)) - against)[_others(one)][:, None])
    return bootstrap(columns, lambda values: float(values[:, 0].mean()))


def mean_wait(found: Sequence[Three], arm: str) -> float:
    """Of the jobs that got no more time, seconds."""
    return float(np.concatenate([waits(getattr(one, arm))[_others(one)] for one in found]).mean())


def lost_change(found: Sequence[Three], *, allowed: bool = False) -> Estimate:
    """Lost at limits with extending / without, less 1; without is the mean of both runs.

    `allowed`: only of the jobs that need no more than their queue's maximum.
    """
    columns = []
    for one in found:
        both = np.stack([lost(one.day, one.on), (lost(one.day, one.off) + lost(one.day, one.again)) / 2], axis=1)
        may = [not allowed or job.sleep <= SHAPE.queue(job.queues[0]).max_limit for job in one.day.workload.jobs]
        columns.append(both[may])
    return bootstrap(columns, _ratio)


def lost_between(found: Sequence[Three], usual: Sequence[Three]) -> Estimate:
    """Lost at limits with the keys of `found` / with those of `usual` on the same days, less 1."""
    pairs = zip(found, usual, strict=True)
    return bootstrap([np.stack([lost(one.day, one.on), lost(of.day, of.on)], axis=1) for one, of in pairs], _ratio)


def wait_between(found: Sequence[Three], usual: Sequence[Three]) -> Estimate:
    """By how much the mean wait of the jobs that got no more time with either keys is longer with those of `found`."""
    columns = [
        (waits(one.on) - waits(of.on))[_others(one) & _others(of)][:, None]
        for one, of in zip(found, usual, strict=True)
    ]
    return bootstrap(columns, lambda values: float(values[:, 0].mean()))


def bootstrap(days: Sequence[Numbers], figure: Callable[[Numbers], float]) -> Estimate:
    """The figure of all jobs' lines, and its interval: days are drawn with replacement, and of each its jobs. The runs
    of a job stay together, so it is paired. The same lines have the same interval.
    """
    random = np.random.default_rng(_SEED)
    drawn = []
    for _ in range(DRAWS):
        which = random.integers(0, len(days), len(days))
        lines = np.concatenate(
            [days[number][random.integers(0, len(days[number]), len(days[number]))] for number in which]
        )
        drawn.append(figure(lines))
    low, high = np.nanpercentile(drawn, _LEVELS)
    return Estimate(figure(np.concatenate(days)), float(low), float(high))


def _ratio(lines: Numbers) -> float:
    on, without = lines.sum(axis=0)
    return float(on / without - 1) if without else float("nan")


def _others(one: Three) -> NDArray[np.bool_]:
    """The jobs that got no more time."""
    return np.array([job.number not in one.given for job in one.day.workload.jobs])


def _firsts(run: Run) -> list[Row]:
    return [row for row in run.rows if row.attempt == 1]
