"""What other settings do to such days in the simulator: more days than a real Slurm could run, other seeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from adminkit.recommend.needs import QUANTILES
from tests.soft_real.compare import simulated
from tests.soft_real.history import LEAST, QUANTILE, soft_limits
from tests.soft_real.measure import Figure
from tests.soft_real.runs import DATA
from tests.soft_real.workloads import SHAPE, SIZES, Day, day, size_of

FILE: Final = DATA / "frontier.txt"
#: No seed of a real run.
DAYS: Final = range(101, 141)
REPLAYS: Final = 4
GROUPS: Final = ("all jobs", *SIZES)
OFF: Final = "none"
_DIGITS: Final = 2
_MOST_RUNS: Final = 8

#: A day's mean wait by (seed, setting, group), seconds.
Waits = dict[tuple[int, str, str], float]


def settings(one: Day) -> Iterator[tuple[str, list[int | None]]]:
    """Each with the soft limit of every job of the day."""
    jobs = one.workload.jobs
    yield OFF, [None] * len(jobs)
    for quantile in QUANTILES:
        yield f"quantile {quantile}", soft_limits(one, quantile)
    yield f"quantile {QUANTILE}, wide = 50", held(one, soft_limits(one))
    usual = list(zip(jobs, soft_limits(one, QUANTILE), strict=True))
    yield f"quantile {QUANTILE}, single-node jobs only", [soft if job.nodes == 1 else None for job, soft in usual]
    yield f"quantile {QUANTILE}, multi-node jobs only", [soft if job.nodes > 1 else None for job, soft in usual]
    yield "what each job will need", [max(-(-job.sleep // 60) * 60, LEAST) for job in jobs]


def held(one: Day, soft: Sequence[int | None], percent: int = 50) -> list[int | None]:
    """`soft` without those of jobs that waited while a job of so many of the nodes did: again until both agree."""
    jobs, nodes = one.workload.jobs, len(SHAPE.node_names)
    submit = np.array([job.offset for job in jobs], float)
    wide = np.array([job.nodes * 100 >= percent * nodes for job in jobs])
    kept = list(soft)
    for _ in range(_MOST_RUNS):
        start = submit + simulated(one, kept, 1)[0]
        waited = wide & (start > submit)
        beside = ((submit[waited][:, None] < start) & (submit < start[waited][:, None])).any(axis=0)
        before, kept = kept, [None if met else its for met, its in zip(beside, soft, strict=True)]
        if before == kept:
            break
    return kept


def waits(one: Day) -> Waits:
    sizes = np.array([size_of(job) for job in one.workload.jobs])
    found: Waits = {}
    for name, soft in settings(one):
        mean = simulated(one, soft, REPLAYS).mean(axis=0)
        found[one.seed, name, GROUPS[0]] = round(float(mean.mean()), _DIGITS)
        for size in SIZES:
            found[one.seed, name, size] = round(float(mean[sizes == size].mean()), _DIGITS)
    return found


def text(found: Waits) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(("seed", "setting", "jobs", "wait"))
    table.writerows((*key, wait) for key, wait in found.items())
    return out.getvalue()


def load() -> Waits:
    with FILE.open() as lines:
        return {(int(row["seed"]), row["setting"], row["jobs"]): float(row["wait"]) for row in csv.DictReader(lines)}


def made() -> Waits:
    """Anew: some minutes."""
    return {key: wait for seed in DAYS for key, wait in waits(day(seed)).items()}


def figures(found: Waits) -> dict[str, Sequence[Figure]]:
    """A figure for each of GROUPS, by setting."""
    names = list(dict.fromkeys(name for _, name, _ in found))
    seeds = list(dict.fromkeys(seed for seed, _, _ in found))

    def column(name: str, group: str) -> tuple[float, ...]:
        return tuple(found[seed, name, group] for seed in seeds)

    return {
        name: [Figure(group, column(OFF, group), column(name, group)) for group in GROUPS]
        for name in names
        if name != OFF
    }
