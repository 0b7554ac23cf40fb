"""What a trial showed: of all jobs by three measures, and of each group of jobs with a verdict that holds for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from adminkit.stats.looks import LEVEL, Effect, effect
from adminkit.stats.student import holm
from adminkit.stats.switchback import BLOCK, Day, paired
from adminkit.stats.waits import DayWaits, Waits, by_day

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALL: Final = "all"
MEAN: Final = "mean wait"
#: Measures of a day of all jobs; the first is the one that the trial is about.
MEASURES: Final = (MEAN, "p95 wait", "mean slowdown")


@dataclass(frozen=True, slots=True)
class Shown:
    """One row: the jobs, by which part they are a group, the measure, and its effect; None: not known (yet).

    `p` is of the groups together (Holm); for the measures of all jobs it is their own.
    """

    part: str
    name: str
    measure: str
    effect: Effect | None
    p: float | None

    @property
    def significant(self) -> bool:
        return self.p is not None and self.p <= LEVEL and self.effect is not None and self.effect.significant


@dataclass(frozen=True, slots=True)
class Result:
    """`days` are those that are over, `counts` whether each had its side in place, `waits` theirs.

    `looks` are how many there were, and `first` the first at which the mean wait's interval excluded no change.
    """

    days: Sequence[Day]
    counts: Sequence[bool]
    waits: Sequence[DayWaits]
    looks: int
    first: int | None
    rows: Sequence[Shown]

    @property
    def answer(self) -> Shown:
        return self.rows[0]


def trial_result(waits: Waits, days: Sequence[Day], counts: Sequence[bool], carry_over: int, planned: int) -> Result:
    """What `days` show, which are over; `planned` is how many the trial was begun for."""

    def seen(values: Sequence[float | None], looks: int | None = None) -> Effect | None:
        there = [value if counted else None for value, counted in zip(values, counts, strict=True)]
        pairs = paired(there, [day.on for day in days], planned)
        return effect(pairs.on, pairs.off, pairs.looks[:looks])

    whole = by_day(waits, days, carry_over)
    means = [day.mean for day in whole]
    of_all = dict(zip(MEASURES, (means, [day.p95 for day in whole], [day.slowdown for day in whole]), strict=True))
    rows = [_own(ALL, measure, seen(values)) for measure, values in of_all.items()]
    found = [
        (part, name, seen([day.mean for day in by_day(waits, days, carry_over, mask)]))
        for part, name, mask in _groups(waits)
    ]
    adjusted = iter(holm([one.p for *_, one in found if one is not None]))
    rows += [Shown(part, name, MEAN, one, None if one is None else next(adjusted)) for part, name, one in found]
    looks = len(days) // BLOCK
    early = (seen(means, nth) for nth in range(1, looks + 1))
    first = next((nth for nth, one in enumerate(early, 1) if one is not None and one.significant), None)
    return Result(days, counts, whole, looks, first, rows)


def _own(name: str, measure: str, one: Effect | None) -> Shown:
    return Shown(ALL, name, measure, one, None if one is None else one.p)


def _groups(waits: Waits) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """The groups of each part that has more than one with jobs."""
    for part, (codes, names) in waits.parts.items():
        there = set(codes.tolist()) - {-1}
        if len(there) > 1:
            for place, name in enumerate(names):
                if place in there:
                    yield part, name, codes == place
