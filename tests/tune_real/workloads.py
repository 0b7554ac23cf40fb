"""Days of one site like the study's, a hundred times as fast: six whose records are tuned on, twelve for the trial.

A day is as those of tests/soft_real, but all of them are of the same people, who keep their habits: what a name needed
on one day says something of the next. A fifth of the single-GPU names are new each day. The site is made of a seed of
its own, each day of its seed. Tests hold the digests: who changes a day has to run it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from tests.simulate_real.workloads import Draw, Workload
from tests.soft_real.workloads import (
    PER_NODE,
    QUEUES,
    SHAPE,
    Day,
    Habit,
    Past,
    batches,
    come,
    habit_of,
    past_of,
    singles,
)

#: Days whose records `adminkit tune` gets.
RECORDS: Final = (101, 102, 103, 104, 105, 106)
#: Days on which its pick is tried.
TRIAL: Final = (201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212)
_SITE: Final = 44
#: GPUs of each name of jobs on one node with several, and nodes of each name of jobs on several.
_MULTI: Final = (2, 2, 4, 4, 8, 8, 8, 8)
_WIDE: Final = (2, 2, 2, 4, 4, 8, 8, 8, 10, 10, 12, 12)


@dataclass(frozen=True, slots=True)
class People:
    """The names that are started on every day, and their runs before the first."""

    single: tuple[Habit, ...]
    multi: tuple[Habit, ...]
    wide: tuple[Habit, ...]
    past: tuple[Past, ...]


@cache
def people() -> People:
    draw = Draw(_SITE)
    single = [habit for habit in singles(draw) if not habit.is_new]
    multi = [habit_of(draw, f"multi{number}", gpus=gpus) for number, gpus in enumerate(_MULTI)]
    wide = [habit_of(draw, f"wide{number}", gpus=PER_NODE, nodes=nodes) for number, nodes in enumerate(_WIDE)]
    return People(tuple(single), tuple(multi), tuple(wide), past_of(draw, [*single, *multi, *wide]))


@cache
def day(seed: int) -> Day:
    """One of RECORDS or of TRIAL. Its past is that of the people before any of these days."""
    draw, known = Draw(seed), people()
    new = [
        habit_of(draw, f"new{number}-{seed}", queue=QUEUES[0], is_new=True)
        for number in range(len(QUEUES) - len(known.single))
    ]
    jobs, names = come(draw, batches(draw, [*known.single, *new], known.multi, known.wide))
    what = Workload(f"tune-{seed}", f"tune-{seed}", seed, "a day of one site like the study's", SHAPE, jobs, (25, 11))
    return Day(seed, what, names, known.past)
