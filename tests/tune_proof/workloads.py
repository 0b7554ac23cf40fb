"""Sites that follow a known law: what stays the same from draw to draw, and three months of jobs drawn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adminkit.job import Job
from adminkit.simulate.case import Case
from adminkit.simulate.core import NONE, Model, Request, Schedule
from tests.support.builders import job

Column = NDArray[np.int64]
Floats = NDArray[np.float64]

HOUR: Final = 3600
DAY: Final = 24 * HOUR
#: 2026-01-05T00:00:00Z, a Monday, when each trace begins.
BEGIN: Final = 1_767_571_200
CORES: Final = 8
CLUSTER: Final = "made"
#: Names of jobs that each user has.
_NAMES: Final = 3
#: How much less the jobs of a user with short jobs need, and what they need at most, seconds.
_SHORTER: Final = 0.2
_SHORT: Final = 2 * HOUR
#: Jobs after which sizes come again in another order: those of a day, about.
_DAYS_JOBS: Final = 30
#: Limits that people type, seconds.
_MENU: Final = np.array([HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 12 * HOUR, DAY, 2 * DAY, 4 * DAY, 7 * DAY])
#: How many jobs come on a day of the week, Monday first, of the number on a Tuesday.
_WEEK: Final = np.array([1.0, 1.1, 1.1, 1.0, 0.9, 0.6, 0.6])
_SETTINGS: Final[Mapping[str, int]] = {
    "release": 2605, "bf_continue": 1, "bf_interval": 60, "bf_resolution": 300, "bf_window": 4 * DAY,
    "bf_max_job_test": 500, "priority_weight_age": 1000, "priority_calc_period": HOUR,
}  # fmt: skip


@dataclass(frozen=True)
class Law:
    """A site and its users. `seed` draws the users' habits; the jobs are drawn for each trace."""

    seed: int
    jobs: int = 3000
    days: int = 90
    nodes: int = 8
    load: float = 0.75  # of all CPUs, over all days
    users: int = 20
    wide: float = 0.2  # the share of jobs on two to four nodes, at most half of all
    whole: bool = False  # whether every job has one whole node: then backfill has nothing to fill
    over: float = 4.0  # limits are up to this many times what is needed, and then rounded up to a menu
    lazy: float = 0.3  # the share of users who ask for the most
    most: int = 4 * DAY  # the queues' maximum limit
    longest: int = 12 * HOUR  # what no job needs
    short: float = 0.0  # the share of users whose jobs need two hours at most, ask for the most, and go to q0
    factors: tuple[int, ...] = (1,)  # PriorityJobFactor of each queue; the other jobs' queue follows from nothing
    model: Model = "slurm"
    settings: Mapping[str, int] = field(default_factory=dict)
    later: Law | None = None  # what comes behind these days, of the same site


def drawn(law: Law, seed: int) -> Case:
    """The jobs of one trace on the site of the law: today's case."""
    parts, begin = list[dict[str, Column]](), BEGIN
    one: Law | None = law
    while one is not None:
        parts.append(_jobs(one, np.random.default_rng([law.seed, seed, begin]), begin))
        begin += one.days * DAY
        one = one.later
    jobs = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return _case(law, {**jobs, "id": np.arange(1, len(jobs["submit"]) + 1)})


def _jobs(law: Law, chance: np.random.Generator, begin: int) -> dict[str, Column]:
    habits = np.random.default_rng([law.seed])
    typical = np.exp(habits.normal(0, 0.4, (law.users, _NAMES)))
    rank = habits.permutation(law.users)
    short = rank < law.short * law.users
    lazy = short | (rank >= (1 - law.lazy) * law.users)
    size, cpus = _sizes(law, chance)
    user, name = _shuffled(np.stack(np.divmod(np.arange(law.users * _NAMES), _NAMES), axis=1), law.jobs, chance).T
    asked = typical[user, name] * np.exp(chance.normal(0, 0.25, law.jobs))
    asked = np.where(short[user], asked * _SHORTER, asked)
    longest = np.where(short[user], min(_SHORT, law.longest), law.longest) - 60
    run = _scaled(asked, cpus, law.load * law.nodes * CORES * law.days * DAY, longest)
    menu = _MENU[law.most >= _MENU]
    typed = menu[np.searchsorted(menu, run * chance.uniform(1.02, law.over, law.jobs)).clip(0, len(menu) - 1)]
    limit = np.where(lazy[user], law.most, typed)
    queue = np.where(short[user], 0, chance.integers(bool(law.short), len(law.factors), law.jobs))
    submit = begin + _arrivals(law, chance)
    return {
        "submit": submit, "run": run, "limit": limit, "procs": cpus, "nodes": size, "cpus": cpus, "user": user,
        "name": name, "queues": np.left_shift(1, queue),
    }  # fmt: skip


def _sizes(law: Law, chance: np.random.Generator) -> tuple[Column, Column]:
    """Nodes and CPUs of each job: parts of a node, or several whole nodes."""
    if law.whole:
        return np.ones(law.jobs, np.int64), np.full(law.jobs, CORES)
    several = round(law.wide * _DAYS_JOBS)
    widest = min(law.nodes // 2, 4)
    size = np.where(np.arange(_DAYS_JOBS) < several, 2 + np.arange(_DAYS_JOBS) % (widest - 1), 1)
    cpus = np.where(size > 1, size * CORES, np.resize([1, 2, 4, CORES], _DAYS_JOBS))
    size, cpus = _shuffled(np.stack([size, cpus], axis=1), law.jobs, chance).T
    return size, cpus


def _shuffled(rows: Column, many: int, chance: np.random.Generator) -> Column:
    """`many` rows: all of them again and again, each time in another order, so that days are alike."""
    times = -(-many // len(rows))
    return np.concatenate([chance.permutation(rows) for _ in range(times)])[:many]


def _scaled(asked: Floats, cpus: Column, work: float, longest: Column) -> Column:
    """Run times in this proportion, none above `longest`, whose CPU-seconds are `work`."""
    scale = work / float((asked * cpus).sum())
    for _ in range(20):
        run = np.minimum(asked * scale, longest)
        scale *= work / float((run * cpus).sum())
    return np.minimum(asked * scale, longest).astype(np.int64) + 1


def _arrivals(law: Law, chance: np.random.Generator) -> Column:
    """Seconds since the first day, in order: the same number every Monday, and most of them before noon."""
    share = np.resize(_WEEK, law.days)
    ends = np.rint(np.cumsum(share) / share.sum() * law.jobs).astype(np.int64)
    day = np.searchsorted(ends, np.arange(law.jobs), side="right")
    hour = np.clip(chance.normal(10, 2, law.jobs), 0, 23.9)
    return np.sort(day * DAY + (hour * HOUR).astype(np.int64))


def _case(law: Law, jobs: Mapping[str, Column]) -> Case:
    many = len(jobs["submit"])
    known = {name: column.astype(np.int64) for name, column in jobs.items() if name != "name"}
    none, nothing = np.full(many, NONE, np.int64), np.zeros(many, np.int64)
    facts = {
        "origin": np.arange(many, dtype=np.int64), "piece": nothing, "user": known["user"], "account": nothing,
        "class": nothing, "needs": np.minimum(known["run"], known["limit"]), "defaulted": none, "follows": none,
        "name": jobs["name"].astype(np.int64),
    }  # fmt: skip
    names = {
        "users": [f"user{one}" for one in range(law.users)], "accounts": ["physics"], "classes": ["cpu"],
        "queues": [f"q{place}" for place in range(len(law.factors))],
    }  # fmt: skip
    if law.model != "slurm":
        pool = {name: known[name] for name in ("id", "submit", "run", "limit", "procs", "queues")}
        return Case(Request(law.model, pool, {"procs": law.nodes * CORES}), facts, names)
    queues = [{"max_limit": law.most, "factor": factor} for factor in law.factors]
    nodes = [{"count": law.nodes, "cpus": CORES, "queues": (1 << len(queues)) - 1}]
    return Case(Request("slurm", known, {**_SETTINGS, **law.settings}, queues, nodes), facts, names)


def records(case: Case, schedule: Schedule) -> Sequence[Job]:
    """What accounting has of these jobs afterwards."""
    columns = {name: case.column(name).tolist() for name in ("id", "submit", "limit", "procs", "queues")}
    return [
        job(
            number, cluster=CLUSTER, submit_time=submit, start_time=start, end_time=end, elapsed=end - start,
            time_limit=limit, user=f"user{user}", uid=2000 + user, job_name=f"name{name}",
            queue=case.names["queues"][queues.bit_length() - 1], cpus=cpus, gpus=0,
        )
        for number, submit, limit, cpus, queues, user, name, start, end in zip(
            *columns_of(columns), case.facts["user"].tolist(), case.facts["name"].tolist(), schedule.start.tolist(),
            schedule.end.tolist(), strict=True,
        )
    ]  # fmt: skip


def columns_of(columns: Mapping[str, list[int]]) -> Sequence[list[int]]:
    """In the order in which records() takes them."""
    return [columns[name] for name in ("id", "submit", "limit", "procs", "queues")]


def longer(law: Law, later: Law) -> Law:
    """Two months of `law`, and then one of `later`, on the site of the first."""
    return replace(law, days=60, jobs=law.jobs * 2 // 3, later=replace(later, days=30, jobs=later.jobs // 3))
