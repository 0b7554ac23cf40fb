"""What the pairs of the trial's days say, beside what the simulator had said of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adminkit.stats.looks import Effect, Look, effect
from tests.soft_real.measure import Figure, Pair, cut, pairs, waits
from tests.soft_real.runs import ARMS, Run, load
from tests.soft_real.workloads import SIZES, size_of
from tests.tune_real.records import DATA
from tests.tune_real.workloads import TRIAL, day

#: Mean waits of the days in the simulator before any run.
SIMULATED: Final = DATA / "simulated.txt"
GROUPS: Final = ("all jobs", *SIZES)

#: Seconds by which submissions may be late for a day to count as one that ran as it was made.
PROMPT: Final = 5.0

#: A mean wait by (seed, arm, group), seconds.
Waits = dict[tuple[int, str, str], float]


@dataclass(frozen=True, slots=True)
class Cut:
    """Jobs that got less than they asked for, of so many that ran."""

    jobs: int
    of: int


def kept() -> list[Pair]:
    """The pairs of the trial's days, without the days whose records were tuned on."""
    return pairs((run for run in load(DATA) if run.seed in TRIAL), day)


def recorded() -> list[Run]:
    """The days whose records were tuned on."""
    return [run for run in load(DATA) if run.seed not in TRIAL]


def by_randomisation(found: Sequence[Pair], group: str = GROUPS[0]) -> Effect | None:
    """The effect on a day's mean wait as `adminkit trial` tells it, looked at once: by the signs of the pairs."""
    means = [[_mean(pair, getattr(pair, arm), group) for pair in found] for arm in ARMS]
    return effect(means[1], means[0], [Look(len(found), 1.0)])


def _mean(pair: Pair, run: Run, group: str) -> float:
    which = np.array([group in (size, GROUPS[0]) for size in pair.sizes])
    return float(waits(run)[which].mean())


def delay(pair: Pair) -> float:
    """How late the latest submission of both runs was, seconds: the host was busy with other things, too."""
    return max(float(run.head["latest submission"].split()[0]) for run in (pair.off, pair.on))


def cut_jobs(found: Sequence[Pair]) -> Cut:
    """Of all runs of these pairs."""
    every = [(pair.day, run) for pair in found for run in (pair.off, pair.on)]
    return Cut(sum(len(cut(one, run)) for one, run in every), sum(len(run.rows) for _, run in every))


def simulate(seeds: Sequence[int] = TRIAL) -> Waits:
    """Anew, with the pick: a minute or two."""
    from tests.tune_real.simulated import waits as said
    from tests.tune_real.tuning import scenario

    picked, found = scenario(), Waits()
    for seed in seeds:
        sizes = np.array([size_of(job) for job in day(seed).workload.jobs])
        for arm, made in zip(ARMS, said(seed, picked), strict=True):
            for group in GROUPS:
                found[seed, arm, group] = round(float(made[:, (sizes == group) | (group == GROUPS[0])].mean()), 2)
    return found


def text(found: Waits) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(("seed", "arm", "jobs", "wait"))
    table.writerows((*key, wait) for key, wait in found.items())
    return out.getvalue()


def simulated() -> Waits:
    """What was kept."""
    with SIMULATED.open() as lines:
        return {(int(row["seed"]), row["arm"], row["jobs"]): float(row["wait"]) for row in csv.DictReader(lines)}


def beside(found: Sequence[Pair], said: Waits) -> list[tuple[Figure, Figure]]:
    """The mean wait of each group on these days: real, and simulated."""
    rows = []
    for group in GROUPS:
        real = (tuple(_mean(pair, getattr(pair, arm), group) for pair in found) for arm in ARMS)
        made = (tuple(said[pair.day.seed, arm, group] for pair in found) for arm in ARMS)
        rows.append((Figure(group, *real), Figure(group, *made)))
    return rows
