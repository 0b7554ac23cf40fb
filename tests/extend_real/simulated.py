"""What the simulator does with the days, with extending and without: the same jobs, from the day alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adminkit.simulate.core import KILLED, NONE, Request, Schedule, simulate
from tests.extend_real.arms import ARMS, Rule
from tests.extend_real.drive import PERIOD
from tests.extend_real.measure import Three, lost, waits
from tests.extend_real.workloads import SHAPE, Day, day
from tests.simulate_real import runs as records
from tests.simulate_real.request import request

Numbers = NDArray[np.float64]

#: How often each day is simulated, with submissions moved by up to two seconds.
REPLICATES: Final = 20
_MOVED: Final = 2
_RELEASE: Final = "22.05.8"
_MINUTE: Final = 60
#: Seconds of work that a run loses which is put back: the signal comes so long before its end.
_SIGNAL: Final = 10
#: Seconds until a job that was put back may start: what slurmctld waits, and the end of the run before.
_REQUEUED: Final = 6
#: Runs of a job with a checkpoint.
_PIECES: Final = 4
_NO_LIMIT: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Replicate:
    """`lost`: GPU seconds of runs that were ended at their limit and nobody saved; `unfit`: those of them whose job
    needs more than its queue allows; `given`: GPU seconds that runs took beyond the limit asked for; `waits`: of each
    job, seconds; `raised`: whether it got more time.
    """

    lost: float
    unfit: float
    given: float
    waits: Numbers
    raised: NDArray[np.bool_]


@cache
def simulated(seed: int, risk: int, rule: Rule | None) -> list[Replicate]:
    """Each replicate has the same submissions under every rule; None: without extending."""
    what = day(seed, risk)
    asked, random, found = _asked(what, rule), np.random.default_rng(what.seed), []
    for number in range(REPLICATES):
        moved = random.integers(-_MOVED, _MOVED + 1, len(what.workload.jobs)) * (number > 0)
        submit = asked.jobs["submit"].copy()
        submit[: len(moved)] += moved
        found.append(_replicate(what, submit, simulate(_with(asked, submit=submit))))
    return found


def _replicate(what: Day, submit: NDArray[np.int64], made: Schedule) -> Replicate:
    jobs, saves = what.workload.jobs, np.array(what.saves)
    gpus = np.array([job.nodes * job.gpus for job in jobs])
    first = slice(0, len(jobs))
    ran = (made.end - made.start)[first]
    lost = np.where((made.outcome[first] == KILLED) & ~saves, ran * gpus, 0)
    unfit = np.array([job.sleep > SHAPE.queue(job.queues[0]).max_limit for job in jobs])
    over = np.maximum(ran - np.array([job.limit for job in jobs]), 0) * gpus
    raised = np.zeros(len(jobs), bool) if made.raises is None else made.raises[first] > 0
    given = float(over[raised].sum())
    waited = (made.start[first] - submit[first]).astype(float)
    return Replicate(float(lost.sum()), float(lost[unfit].sum()), given, waited, raised)


def _asked(what: Day, rule: Rule | None) -> Request:
    rows = tuple(
        records.Row(
            one.number, one.offset, one.offset, one.offset, one.offset + one.sleep, "COMPLETED", 1, "main", "c1"
        )
        for one in what.workload.jobs
    )
    asked = _in_pieces(request(what.workload, records.Run({"release": _RELEASE}, rows)), np.flatnonzero(what.saves))
    if rule is None:
        return asked
    limit = asked.jobs["limit"]
    step = np.ceil(np.maximum(limit * rule.share, rule.lead) / _MINUTE) * _MINUTE
    settings = {"extend_every": PERIOD, "extend_lead": rule.lead, "extend_times": rule.times}
    made = _with(asked, step=step.astype(np.int64), most_limit=(limit * rule.most).astype(np.int64))
    return Request(made.model, made.jobs, {**made.settings, **settings}, made.queues, made.nodes)


def _in_pieces(asked: Request, which: NDArray[np.int64]) -> Request:
    """With more runs of the jobs that save: each comes only if the one before was ended at its limit."""
    many = len(asked.jobs["id"])
    places = np.concatenate([np.arange(many), *[which] * (_PIECES - 1)])
    jobs = {name: column[places] for name, column in asked.jobs.items()}
    jobs["id"] = np.arange(len(places))
    before = [many + len(which) * piece + np.arange(len(which)) for piece in range(_PIECES - 2)]
    jobs["after"] = np.concatenate([np.full(many, NONE), which, *before])
    jobs["delay"] = np.where(jobs["after"] == NONE, 0, _REQUEUED)
    jobs["if_killed"] = np.where(jobs["after"] == NONE, 0, 1)
    jobs["resume"] = np.where(jobs["after"] == NONE, NONE, _SIGNAL)
    return _with(asked, **jobs)


def _with(asked: Request, **columns: NDArray[np.int64]) -> Request:
    return Request(asked.model, {**asked.jobs, **columns}, asked.settings, asked.queues, asked.nodes)


@dataclass(frozen=True, slots=True)
class Against:
    """A day on the real Slurm and in the simulator: hours lost at limits, of jobs without a checkpoint, as a change by
    extending; and the change of the mean wait, in seconds, of jobs that got no more time. (mean, low, high) of the
    replicates, the bounds of 95 % of them.
    """

    real: float
    simulated: tuple[float, float, float]
    real_wait: float
    simulated_wait: tuple[float, float, float]

    @property
    def beyond(self) -> float:
        """By how much the real change of the hours lies beyond the range of the simulated ones."""
        return max(self.simulated[1] - self.real, self.real - self.simulated[2], 0.0)


def against(one: Three) -> Against:
    """One day."""
    off, on = (simulated(one.day.seed, one.day.risk, rule) for rule in (None, ARMS[one.on.arm]))
    before, after = real_lost(one)
    wait = (waits(one.on) - (waits(one.off) + waits(one.again)) / 2)[_others(one)].mean()
    waited = [float((new.waits - old.waits)[~new.raised].mean()) for old, new in zip(off, on, strict=True)]
    change = [new.lost / old.lost - 1 for old, new in zip(off, on, strict=True)]
    return Against(after / before - 1, bounds(change), float(wait), bounds(waited))


def all_days(found: Sequence[Three]) -> tuple[float, tuple[float, float, float]]:
    """The change of the hours lost on all these days: real, and simulated."""
    before, after = np.sum([real_lost(one) for one in found], axis=0)
    made = _both(found)
    old, new = (np.sum([[one.lost for one in day] for day in days], axis=0) for days in made)
    return float(after / before - 1), bounds(list(new / old - 1))


def _both(found: Sequence[Three]) -> list[list[list[Replicate]]]:
    """Without extending, and with the keys that each day had; by day."""
    return [
        [simulated(one.day.seed, one.day.risk, rule) for one, rule in zip(found, rules, strict=True)]
        for rules in ([None] * len(found), [ARMS[one.on.arm] for one in found])
    ]


def all_waits(found: Sequence[Three]) -> tuple[float, tuple[float, float, float]]:
    """The change of the mean wait, in seconds, of the jobs of all these days that got no more time: real, and
    simulated, where others may be among them in each replicate.
    """
    real = [(waits(one.on) - (waits(one.off) + waits(one.again)) / 2)[_others(one)] for one in found]
    made = _both(found)
    changes = [
        float(
            np.concatenate(
                [(new[nth].waits - old[nth].waits)[~new[nth].raised] for old, new in zip(*made, strict=True)]
            ).mean()
        )
        for nth in range(REPLICATES)
    ]
    return float(np.concatenate(real).mean()), bounds(changes)


def _others(one: Three) -> NDArray[np.bool_]:
    return np.array([job.number not in one.given for job in one.day.workload.jobs])


def real_lost(one: Three) -> tuple[float, float]:
    """GPU seconds without extending, the mean of both runs, and with it; of jobs without a checkpoint."""
    bare = ~np.array(one.day.saves)
    before = [float(lost(one.day, run)[bare].sum()) for run in one.without]
    return sum(before) / 2, float(lost(one.day, one.on)[bare].sum())


def bounds(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean, and the bounds of 95 % of the values."""
    low, high = np.percentile(values, (2.5, 97.5))
    return float(np.mean(values)), float(low), float(high)
