"""How far the simulator is from what several runs on a real Slurm had, and how far these are from each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
    """A workload on a release."""

    workload: Workload
    release: str
    runs: int
    measures: tuple[Measure, ...]

    @property
    def within(self) -> bool:
        return all(one.within for one in self.measures)

    def measure(self, name: str) -> Measure:
        return next(one for one in self.measures if one.name == name)


@dataclass(frozen=True, slots=True)
class Sign:
    """What a policy does to the mean wait, seconds: of the real runs, of the simulator."""

    release: str
    first: str
    second: str
    real: float
    simulated: float

    @property
    def right(self) -> bool:
        return (self.real > 0) == (self.simulated > 0)


def compare(runs: Sequence[Run]) -> Comparison:
    """Runs of one workload on one release, each simulated with its own records."""
    what = workload(runs[0].workload)
    real = [outcome(run) for run in runs]
    simulated = [simulated_outcome(run) for run in runs]
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
    return Comparison(what, runs[0].head["release"], len(runs), measures)


def compare_all(runs: Iterable[Run]) -> list[Comparison]:
    """By release, the newest first, and in the order of the workloads."""
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.release, run.workload), []).append(run)
    names = [one.name for one in WORKLOADS]
    keys = sorted(found, key=lambda key: (-int(key[0]), names.index(key[1])))
    return [compare(found[key]) for key in keys]


def signs(comparisons: Sequence[Comparison]) -> list[Sign]:
    """Of each two workloads of the same jobs on the same release."""
    found = []
    for first, second in combinations(comparisons, 2):
        if (first.release, first.workload.pair) == (second.release, second.workload.pair):
            before, after = first.measure("mean wait"), second.measure("mean wait")
            change = after.real - before.real, after.simulated - before.simulated
            found.append(Sign(first.release, first.workload.name, second.workload.name, *change))
    return found


def outcome(run: Run) -> Outcome:
    """What the real Slurm did."""
    rows = sorted(run.rows, key=lambda row: row.number)
    return Outcome(*(np.array([getattr(row, name) for row in rows], float) for name in ("eligible", "start", "end")))


def simulated_outcome(run: Run) -> Outcome:
    """What the simulator does with the jobs of a run. AssertionError where it leaves one out."""
    what = workload(run.workload)
    if run.head["digest"] != what.digest:
        raise ValueError(f"{run.workload} of {run.head['date']} was another workload: {run.head['digest']}")
    asked = request(what, run)
    schedule = simulate(asked)
    assert (schedule.start >= 0).all(), f"{run.workload}: {int((schedule.start < 0).sum())} jobs did not run"
    return Outcome(*(column.astype(float) for column in (asked.jobs["submit"], schedule.start, schedule.end)))


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
