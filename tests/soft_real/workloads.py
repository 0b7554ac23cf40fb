"""Six days of a site like the study's, a hundred times as fast: each is made of its seed alone.

People start jobs under a few names each, and a name's jobs need about as long as those before them, so that a history
says what they need. What they ask for has little to do with it. Tests hold the digests: who changes a day has to run
it again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from tests.simulate_real import habits
from tests.simulate_real.habits import begin, normal, one_of, whole
from tests.simulate_real.shape import Nodes, Queue, Shape
from tests.simulate_real.workloads import USERS, Draw, Job, Workload

SEEDS: Final = (1, 2, 3, 4, 5, 6)
#: Limits that people ask for, seconds.
MENU: Final = (300, 600, 900, 1200, 1800, 2700, 3600)
#: Runs of each name before the day, over so many days.
PAST_RUNS: Final = 25
PAST_DAYS: Final = 30
#: Elapsed / limit of the study's single-GPU jobs: queue -> (median, mean).
ACCURACY: Final = {
    "gq": (0.032, 0.103),
    "gq-short": (0.033, 0.147),
    "gq-middle": (0.224, 0.354),
    "gq-long": (0.245, 0.472),
}
#: Names whose jobs ask for the maximum of their queue whatever they need. Others ask by ACCURACY, which often is more
#: than the maximum too: together 70 % of gq's jobs ask for it, as in the study.
AT_MOST: Final = 0.3
#: The sizes of the tables, in the order of size.
SIZES: Final = ("1 GPU", "2 to 8 GPUs", "2 to 4 nodes", "8 to 12 nodes")
#: The queue of each name of single-GPU jobs.
QUEUES: Final = ("gq",) * 27 + ("gq-short",) * 3 + ("gq-middle",) * 2 + ("gq-long",)
PER_NODE: Final = 8
_SHORTEST: Final = 5
_LONGEST: Final = 120

#: One GPU each; the other sizes have their own lines below.
_SINGLE: Final = 390
_GPUS: Final = (2, 2, 4, 4, *(8,) * 8)
_NODES: Final = (2, 2, 2, 2, 4, 8, 8, 10, 12)
#: Seconds over which they come.
_SPAN: Final = 285

SHAPE: Final = Shape(
    (Nodes("c", 16, 16, 64_000, PER_NODE, "p100"),),
    (
        Queue("gq", ("c",), 1200),
        Queue("gq-short", ("c",), 300),
        Queue("gq-middle", ("c",), 2700),
        Queue("gq-long", ("c",), 3600),
    ),
    {"bf_interval": 2, "bf_resolution": 5, "time_min_as_soft_limit": True},
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
    """With the limit that its jobs ask for."""

    limit: int
    is_new: bool  # without a history

    def need(self, draw: Draw) -> int:
        return self.seconds(draw, _SHORTEST, _LONGEST)


@dataclass(frozen=True, slots=True)
class Past:
    """A run before the day: `ago` seconds before it begins."""

    habit: Habit
    ago: int
    elapsed: int


@dataclass(frozen=True, slots=True)
class Day:
    """`names` are of the workload's jobs, in their order; `past` is by submission."""

    seed: int
    workload: Workload
    names: tuple[str, ...]
    past: tuple[Past, ...]

    @property
    def digest(self) -> str:
        """Of everything that a run depends on."""
        return hashlib.sha256(repr((SHAPE, self.workload.jobs, self.names, self.past)).encode()).hexdigest()[:16]


def size_of(job: Job) -> str:
    if job.nodes > 1:
        return SIZES[3] if job.nodes >= 8 else SIZES[2]
    return SIZES[1] if job.gpus > 1 else SIZES[0]


@cache
def day(seed: int) -> Day:
    draw = Draw(seed)
    single = singles(draw)
    multi = [habit_of(draw, f"multi{number}", gpus=gpus) for number, gpus in enumerate((2, 4, 8, 8))]
    wide = [
        habit_of(draw, f"wide{number}", gpus=PER_NODE, nodes=nodes) for number, nodes in enumerate((2, 4, 8, 10, 12))
    ]
    jobs, names = come(draw, batches(draw, single, multi, wide))
    past = past_of(draw, [*single, *multi, *wide])
    what = Workload(f"day-{seed}", f"day-{seed}", seed, "a day of the study's site", SHAPE, jobs, (25, 11))
    return Day(seed, what, names, past)


def singles(draw: Draw) -> list[Habit]:
    """Names of single-GPU jobs, a fifth of them new; those of gq come first."""
    return [
        habit_of(draw, f"train{number}", queue=queue, is_new=number % 5 == 4) for number, queue in enumerate(QUEUES)
    ]


def batches(draw: Draw, single: Sequence[Habit], multi: Sequence[Habit], wide: Sequence[Habit]) -> list[list[Habit]]:
    """What is submitted on a day: each batch at once. Of several names of a size, the draw takes one."""
    found = _campaigns(draw, single)
    found += [[one_of(draw, [habit for habit in multi if habit.gpus == gpus])] for gpus in _GPUS]
    for nodes in _NODES:
        of = [habit for habit in wide if habit.nodes == nodes]
        found.append(of if len(of) == 1 else [one_of(draw, of)])
    return found


def habit_of(draw: Draw, name: str, *, queue: str = "gq", gpus: int = 1, nodes: int = 1, is_new: bool = False) -> Habit:
    usual = float(draw.run(12, 90))
    median, mean = ACCURACY[queue]
    accuracy = min(median * math.exp(math.sqrt(2 * math.log(mean / median)) * normal(draw)), 1.0)
    longest = SHAPE.queue(queue).max_limit
    limit = next((one for one in MENU if one >= usual / accuracy), MENU[-1])
    limit = longest if draw.chance(AT_MOST) else limit
    spread = draw.one(2, 5, 9) / 10
    return Habit(USERS[draw.whole(0, 3)], name, queue, gpus, nodes, usual, spread, min(limit, longest), is_new)


def _campaigns(draw: Draw, names: Sequence[Habit]) -> list[list[Habit]]:
    """What is submitted at once: mostly a few jobs of a name, now and then many. The names of the small queues are as
    frequent as those of gq, so that each has a few jobs."""
    found: list[list[Habit]] = []
    left = _SINGLE
    while left:
        many = min(left, draw.whole(1, 5) if draw.chance(0.7) else draw.whole(8, 30))
        found.append([one_of(draw, names)] * many)
        left -= many
    return found


def come(draw: Draw, batches: Sequence[Sequence[Habit]]) -> tuple[tuple[Job, ...], tuple[str, ...]]:
    """Each batch at a time of its own, its jobs within two seconds: a quarter of the batches in the first minute."""
    came: list[tuple[int, int, Habit]] = []
    for number, batch in enumerate(batches):
        at = begin(draw, 0.25, 60, _SPAN)
        came += [(at + draw.whole(0, 2), number, habit) for habit in batch]
    came.sort(key=lambda one: one[:2])
    return (
        tuple(_job(draw, number, offset, habit) for number, (offset, _, habit) in enumerate(came)),
        tuple(habit.name for _, _, habit in came),
    )


def _job(draw: Draw, number: int, offset: int, habit: Habit) -> Job:
    job = habit.job(number, offset, habit.need(draw), habit.limit)
    return whole(job, SHAPE.nodes[0].cpus) if habit.nodes > 1 else job


def past_of(draw: Draw, names: Sequence[Habit]) -> tuple[Past, ...]:
    """Those of names that are not new, at different hours: each is a decision of its own."""
    step = PAST_DAYS * 86_400 // PAST_RUNS
    found = [
        Past(habit, 86_400 + number * step + draw.whole(0, step - 600), habit.need(draw))
        for habit in names
        if not habit.is_new
        for number in range(PAST_RUNS)
    ]
    return tuple(sorted(found, key=lambda one: (-one.ago, one.habit.user, one.habit.name)))
