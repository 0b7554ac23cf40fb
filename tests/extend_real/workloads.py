"""Days of a small site, about sixty times as fast as a real one: each is made of its seed and its risk.

People start jobs under a few names each, and ask for what `recommend` makes of their earlier runs, so a known share of
the jobs needs more than it asks for. Of six days the first is quiet, each one is busier than the one before, and on the
last more work comes than the nodes can do. Tests hold the digests: who changes a day has to run it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from adminkit.recommend.advice import History
from adminkit.recommend.menu import Offer
from adminkit.recommend.predict import LEVELS
from adminkit.stats.runs import Kind, Run
from tests.simulate_real import habits
from tests.simulate_real.habits import begin, one_of, whole
from tests.simulate_real.shape import Nodes, Queue, Shape
from tests.simulate_real.workloads import USERS, Draw, Job, Workload

SEEDS: Final = (1, 2, 3, 4, 5, 6)
#: Days that ran later, at one risk, with other keys: they were committed when the keys had been chosen on the first.
NEW: Final = (7, 8, 9, 10, 11, 12)
NEW_RISK: Final = 30
EVERY: Final = SEEDS + NEW
#: Percent: of `recommend`, how many jobs may need more than they ask for.
RISKS: Final = (10, 30)
#: Work that comes / work that all GPUs could do while jobs come, by seed.
LOADS: Final = {
    1: 0.6, 2: 0.7, 3: 0.8, 4: 0.9, 5: 1.0, 6: 1.1,
    7: 0.6, 8: 0.7, 9: 0.8, 10: 0.9, 11: 1.0, 12: 1.1,
}  # fmt: skip
#: Whole minutes, which Slurm's limits are: the menu of recommended limits.
MENU: Final = tuple(range(60, 601, 60))
#: Seconds that jobs ask for whose user has too few runs.
UNKNOWN: Final = 300
#: Seconds over which jobs come.
SPAN: Final = 300
#: Runs of each name before the day, one at a time.
PAST_RUNS: Final = 30
#: Percent of the jobs that save when the checkpoint signal comes.
SAVES: Final = 15
#: Of five names, one has new data on the day, with which its jobs need so many times as long.
GROWTH: Final = 1.4
_SHORTEST: Final = 10
_LONGEST: Final = 280
_PER_NODE: Final = 8
#: Batches that did not fit into what is left of a day's work.
_MISSES: Final = 5
_NOW: Final = 2_000_000_000
#: Nodes, GPUs on each, weight: three in ten jobs have several nodes.
SIZES: Final = (
    (1, 1, 55),
    (1, 2, 8),
    (1, 4, 3),
    (1, 8, 1),
    (2, 1, 16),
    (2, 2, 7),
    (2, 8, 2),
    (3, 1, 4),
    (4, 2, 3),
    (8, 8, 1),
)
#: Nodes, and GPUs on each, as often as they come.
_EVERY_SIZE: Final = tuple((nodes, gpus) for nodes, gpus, share in SIZES for _ in range(share))

SHAPE: Final = Shape(
    (Nodes("c", 16, 16, 64_000, _PER_NODE, "p100"),),
    (Queue("gq", ("c",), 600), Queue("gq-short", ("c",), 180)),
    {"bf_interval": 2, "bf_resolution": 5, "bf_continue": True},
    {
        "PriorityWeightAge": 1000,
        "PriorityMaxAge": 60,  # minutes
        "PriorityCalcPeriod": 1,  # minutes
        "PriorityWeightJobSize": 40,
        "KillWait": 3,
    },
)


@dataclass(frozen=True, slots=True)
class Habit(habits.Habit):
    """`grown`: needs more since its earlier runs."""

    grown: bool

    def need(self, draw: Draw, today: bool = True) -> int:
        return self.seconds(draw, _SHORTEST, _LONGEST, GROWTH if self.grown and today else 1)


@dataclass(frozen=True, slots=True)
class Day:
    """`names` and `saves`, whether a job has a checkpoint, are of the workload's jobs, in their order."""

    seed: int
    risk: int  # percent
    workload: Workload
    names: tuple[str, ...]
    saves: tuple[bool, ...]

    @property
    def digest(self) -> str:
        """Of everything that a run depends on."""
        return hashlib.sha256(repr((SHAPE, self.workload.jobs, self.names, self.saves)).encode()).hexdigest()[:16]

    @property
    def load(self) -> float:
        return sum(job.nodes * job.gpus * job.sleep for job in self.workload.jobs) / (_machine() * SPAN)


@cache
def day(seed: int, risk: int) -> Day:
    """The jobs are the same at every risk; their limits are not."""
    draw = Draw(seed + 430)
    names = _habits(draw)
    past = [run for number, habit in enumerate(names) for run in _past(draw, number, habit)]
    limits = _limits(names, past, risk)
    came = _come(draw, names, LOADS[seed])
    jobs = tuple(_job(number, offset, names[habit], sleep, limits[habit]) for number, (offset, habit, sleep) in came)
    saves = tuple(draw.whole(1, 100) <= SAVES for _ in jobs)
    what = Workload(f"day-{seed}-{risk}", f"day-{seed}", seed, "a day of a small site", SHAPE, jobs)
    return Day(seed, risk, what, tuple(names[habit].name for _, (_, habit, _) in came), saves)


def _habits(draw: Draw) -> list[Habit]:
    """One name or more of each size, by how frequent it is."""
    found: list[Habit] = []
    for nodes, gpus, share in SIZES:
        for _ in range(max(1, share // 6)):
            usual, spread = float(draw.run(30, 130)), draw.one(4, 6, 9) / 10
            queue = "gq-short" if nodes == 1 and usual < 60 and draw.chance(0.4) else "gq"
            user = USERS[draw.whole(0, 3)]
            found.append(Habit(user, f"job{len(found)}", queue, gpus, nodes, usual, spread, draw.chance(0.2)))
    return found


def _past(draw: Draw, number: int, habit: Habit) -> list[Run]:
    """Runs a day apart, which all asked for the queue's maximum."""
    runs = []
    for ago in range(PAST_RUNS, 0, -1):
        submit, need = _NOW - 86_400 * ago + 60 * number, habit.need(draw, today=False)
        runs.append(Run(kind(habit), None, None, submit, submit + need, need, "COMPLETED"))
    return runs


def kind(habit: Habit) -> Kind:
    """As `recommend` compares jobs."""
    most = SHAPE.queue(habit.queue).max_limit
    gpus = habit.nodes * habit.gpus
    return Kind("alpha", habit.user, habit.name, habit.queue, habit.nodes, gpus, gpus, most)


def _limits(names: Sequence[Habit], past: Sequence[Run], risk: int) -> list[int]:
    """The limit that `recommend` names for each name, seconds. Each name's earlier runs steer its own risk only."""
    found = []
    for habit in names:
        own = sorted((run for run in past if run.kind == kind(habit)), key=lambda run: run.submit_time)
        advice = History(own, Offer(MENU, risk / 100), LEVELS).advice(kind(habit), SHAPE.queue(habit.queue).max_limit)
        found.append(advice.limit or min(UNKNOWN, SHAPE.queue(habit.queue).max_limit))
    return found


def _come(draw: Draw, names: Sequence[Habit], load: float) -> list[tuple[int, tuple[int, int, int]]]:
    """(number, (offset, habit, need)) in the order of offsets: batches of a name, until the day has its work."""
    left = load * _machine() * SPAN
    came: list[tuple[int, int, int]] = []
    misses = 0
    while misses < _MISSES:
        size = one_of(draw, _EVERY_SIZE)
        habit = one_of(draw, [number for number, one in enumerate(names) if (one.nodes, one.gpus) == size])
        one = names[habit]
        many = 1 if one.nodes * one.gpus > 16 else draw.one(1, 1, 1, 2, 3)
        at = begin(draw, 0.15, 30, SPAN)
        batch = [(at + draw.whole(0, 2), habit, one.need(draw)) for _ in range(many)]
        work = sum(one.nodes * one.gpus * need for _, _, need in batch)
        if work > left:
            misses += 1
            continue
        came += batch
        left -= work
    return list(enumerate(sorted(came, key=lambda one: one[0])))


def _job(number: int, offset: int, habit: Habit, sleep: int, limit: int) -> Job:
    job = habit.job(number, offset, sleep, limit)
    return whole(job, SHAPE.nodes[0].cpus) if habit.gpus == _PER_NODE else job


def _machine() -> int:
    return sum(one.count * one.gpus for one in SHAPE.nodes)
