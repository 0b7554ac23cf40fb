"""How far the simulator is from what several runs on a real Slurm had, and how far these are from each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adminkit.simulate.core import simulate
from tests.simulate_real.request import request
from tests.simulate_real.runs import Run
from tests.simulate_real.workloads import WORKLOADS, Workload, workload

Numbers = NDArray[np.float64]

#: The bars of the simulator's distance to the mean of the real runs.
MAKESPAN: Final = 0.02  # of the real
WAIT: Final = 0.05  # of the real, or
WAIT_SECONDS: Final = 3.0
TAU: Final = 0.95
#: How often a run is replayed: records are whole seconds, and a second decides who is first.
REPLAYS: Final = 8
#: Starts that are this close count as tied: seconds, or bf_interval where that is longer.
TIED: Final = 3.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """When each job came, started and ended, in the order of the workload; seconds."""

    submit: Numbers
    start: Numbers
    end: Numbers

    @property
    def makespan(self) -> float:
        return float(self.end.max() - self.submit.min())

    @property
    def wait(self) -> float:
        return float((self.start - self.submit).mean())


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure: of the real runs, of the simulator; `distance` of the two, and what it may be at most.

    `bar` is the order's, `spread` the largest distance between two real runs.
    """

    name: str
    real: float
    simulated: float
    distance: float
    bar: float
    spread: float

    @property
    def within(self) -> bool:
        return self.distance <= max(self.bar, self.spread)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A workload on a release: what came of each real run, and of its simulation."""

    workload: Workload
    release: str
    real: tuple[Outcome, ...]
    simulated: tuple[Outcome, ...]
    measures: tuple[Measure, ...]

    @property
    def within(self) -> bool:
        return all(one.within for one in self.measures)


@dataclass(frozen=True, slots=True)
class Sign:
    """What a policy does to the mean wait of some jobs, seconds: of the real runs, of the simulator.

    `spread` is the largest distance between two real runs of one policy: a smaller difference has no sign.
    """

    release: str
    first: str
    second: str
    jobs: str
    real: float
    simulated: float
    spread: float

    @property
    def known(self) -> bool:
        return abs(self.real) > self.spread

    @property
    def right(self) -> bool:
        return not self.known or (self.real > 0) == (self.simulated > 0)


def compare(runs: Sequence[Run]) -> Comparison:
    """Runs of one workload on one release, each simulated with its own records."""
    what = workload(runs[0].workload)
    real = [outcome(run) for run in runs]
    simulated = [one for number, run in enumerate(runs) for one in simulated_outcomes(run, number)]
    tied = max(TIED, what.shape.scheduler.get("bf_interval", 30))
    pairs = list(combinations(real, 2))
    span, wait = _mean(one.makespan for one in real), _mean(one.wait for one in real)
    its_span, its_wait = _mean(one.makespan for one in simulated), _mean(one.wait for one in simulated)
    starts = [np.mean([one.start for one in outcomes], axis=0) for outcomes in (real, simulated)]
    order = 1 - tau(starts[0], starts[1], tied)
    measures = (
        Measure(
            "makespan",
            span,
            its_span,
            abs(its_span - span),
            MAKESPAN * span,
            max((abs(a.makespan - b.makespan) for a, b in pairs), default=0.0),
        ),
        Measure(
            "mean wait",
            wait,
            its_wait,
            abs(its_wait - wait),
            max(WAIT * wait, WAIT_SECONDS),
            max((abs(a.wait - b.wait) for a, b in pairs), default=0.0),
        ),
        Measure(
            "order of starts",
            1.0,
            1 - order,
            order,
            1 - TAU,
            max((1 - tau(a.start, b.start, tied) for a, b in pairs), default=0.0),
        ),
    )
    return Comparison(what, runs[0].head["release"], tuple(real), tuple(simulated), measures)


def compare_all(runs: Iterable[Run]) -> list[Comparison]:
    """By release, the newest first, and in the order of the workloads."""
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.release, run.workload), []).append(run)
    names = [one.name for one in WORKLOADS]
    keys = sorted(found, key=lambda key: (-int(key[0]), names.index(key[1])))
    return [compare(found[key]) for key in keys]


def signs(comparisons: Sequence[Comparison]) -> list[Sign]:
    """Of each two workloads of the same jobs on the same release: of all jobs, and of those that the policy is for."""
    found = []
    for first, second in combinations(comparisons, 2):
        if (first.release, first.workload.pair) != (second.release, second.workload.pair):
            continue
        found.append(_sign(first, second, "all jobs", [True] * len(second.workload.jobs)))
        if queue := second.workload.favours:
            named = [queue in job.queues for job in second.workload.jobs]
            found.append(_sign(first, second, f"jobs in the queue {queue}", named))
    return found


def _sign(first: Comparison, second: Comparison, jobs: str, which: Sequence[bool]) -> Sign:
    of = np.array(which)
    waits = [
        [[float((one.start - one.submit)[of].mean()) for one in outcomes] for outcomes in (each.real, each.simulated)]
        for each in (first, second)
    ]
    real, simulated = (_mean(waits[1][kind]) - _mean(waits[0][kind]) for kind in (0, 1))
    spread = max(max(each[0]) - min(each[0]) for each in waits)
    return Sign(first.release, first.workload.name, second.workload.name, jobs, real, simulated, spread)


def outcome(run: Run) -> Outcome:
    """What the real Slurm did."""
    rows = sorted(run.rows, key=lambda row: row.number)
    return Outcome(*(np.array([getattr(row, name) for row in rows], float) for name in ("eligible", "start", "end")))


def simulated_outcomes(run: Run, seed: int = 0, times: int = REPLAYS, **other: int) -> list[Outcome]:
    """What the simulator does with the jobs of a run: first as they were recorded, then with submissions that are
    moved at random by up to a second. `other` are settings that the real Slurm did not have.

    AssertionError where it leaves a job out."""
    what = workload(run.workload)
    if run.head["digest"] != what.digest:
        raise ValueError(f"{run.workload} of {run.head['date']} was another workload: {run.head['digest']}")
    asked, random, found = request(what, run), np.random.default_rng(seed), []
    asked = replace(asked, settings={**asked.settings, **other})
    for number in range(times):
        moved = asked.jobs["submit"] + random.integers(-1, 2, len(what.jobs)) * (number > 0)
        schedule = simulate(replace(asked, jobs={**asked.jobs, "submit": moved}))
        assert (schedule.start >= 0).all(), f"{run.workload}: {int((schedule.start < 0).sum())} jobs did not run"
        found.append(Outcome(*(column.astype(float) for column in (moved, schedule.start, schedule.end))))
    return found


def tau(first: Numbers, second: Numbers, tied: float) -> float:
    """Kendall's tau-b of two orders of the same jobs; starts of at most `tied` seconds from each other are tied."""
    signs_of = []
    for starts in (first, second):
        apart = starts[:, None] - starts[None, :]
        signs_of.append(np.where(np.abs(apart) <= tied, 0, np.sign(apart)))
    one, other = signs_of
    pairs = float(np.abs(one).sum()) * float(np.abs(other).sum())
    return float((one * other).sum()) / pairs**0.5 if pairs else 1.0


def _mean(numbers: Iterable[float]) -> float:
    return float(np.mean(list(numbers)))
