"""What replicates say of a change: paired differences with the wider of two intervals.

The replicates of one change differ by chance within a minute (shaken submissions), and say nothing of other days. So
the days are drawn, too, in blocks (stats/bootstrap.py), and the wider interval counts: that of Student's t over
replicates, or that of the days. A trace's days are few and depend on each other, so theirs is of Student's t, too, with
as many degrees of freedom as there are blocks less one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from adminkit.simulate.calibrate import LEAST_JOBS
from adminkit.simulate.compare import SMALLEST, UNITS
from adminkit.simulate.groups import Groups
from adminkit.simulate.outcome import EDGES, Summary
from adminkit.stats.bootstrap import block_length, days_drawn
from adminkit.stats.student import CONFIDENCE, cdf, quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Draws of the days. They give a standard error, which needs fewer than the ends of an interval.
DRAWS: Final = 500
#: Days of a block, where there are LEAST_BLOCKS of these; else a block is a day.
WEEK: Final = 7
#: Blocks that the days are parted into, at least.
LEAST_BLOCKS: Final = 4
#: What is wanted, by the names of the file. Less of each is better.
OBJECTIVES: Final = ("mean_wait", "p95_wait", "mean_slowdown", "lost_hours")
#: Late starts: jobs that start after the start that today's backfill promised them first.
LATE: Final = "late"
_UNITS: Final = {**UNITS, LATE: "count"}
_HOUR: Final = 3600
_TAIL: Final = 0.95
_SUMS: Final = ("slowdown_today", "slowdown", "lost_today", "lost", "late_today", "late")


@dataclass(frozen=True, slots=True)
class Change:
    """One measure of one group. `low` to `high`: the wider 95 % interval; `p`: two-sided, of no change."""

    part: str
    value: str
    measure: str
    unit: str
    jobs: int
    today: float
    then: float
    change: float
    low: float
    high: float
    p: float

    @property
    def relative(self) -> float | None:
        """The change as a share of today's."""
        return self.change / self.today if self.today else None

    @property
    def is_more(self) -> bool:
        """Whether it is more, beyond the interval, and by what a table could show."""
        return self.low > 0 and self.change >= SMALLEST[self.unit]

    @property
    def is_less(self) -> bool:
        """Whether it is less, in the same way."""
        return self.high < 0 and -self.change >= SMALLEST[self.unit]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One replicate in short: sums by group and day, of today and then; by day only; and of the whole.

    `waits`: jobs, waits today, waits then. The first group is that of all jobs.
    """

    waits: Floats  # (3, groups, days)
    sums: Mapping[str, Floats]  # of _SUMS, by day
    tail: Floats | None  # (2, days, edges)
    busy: Floats  # (2, bins)
    whole: Mapping[str, tuple[float, float]]  # p95_wait, utilization, killed, not_run


@dataclass(frozen=True, slots=True)
class Frame:
    """How outcomes are read: whose waits, in which parts; `length`: days of a block; `draws`: (draws, days)."""

    names: Sequence[tuple[str, str]]  # part and value of each group; the first is that of all
    parts: tuple[str, ...]
    days: int
    length: int
    draws: Floats = field(repr=False, compare=False)


def frame_of(groups: Groups) -> Frame:
    """For summaries that were made with these groups, which have days."""
    assert groups.days is not None
    days, parts = groups.days.count, groups.days.parts
    names = [("all", "(all)"), *((part, value) for part in parts for value in groups.parts[part][1])]
    length = WEEK if days >= LEAST_BLOCKS * WEEK else 1
    return Frame(names, parts, days, length, days_drawn(days, length, DRAWS).astype(float))


def outcome(made: Summary, frame: Frame) -> Outcome:
    """A summary in short."""
    import numpy as np

    by_day: Mapping[str, Any] = made["days"]
    waits = np.concatenate(
        [np.array([by_day[part][key] for key in ("jobs", "wait_today", "wait")]).reshape(3, -1, frame.days)
         for part in ("all", *frame.parts)], axis=1,
    )  # fmt: skip
    sums = {key: np.array(by_day["all"][key]) for key in _SUMS if key in by_day["all"]}
    whole = {key: _pair(made[key]) for key in ("p95_wait", "utilization", "killed", "not_run") if None not in made[key]}
    tail = np.array(by_day["tail"], float) if "tail" in by_day else None
    return Outcome(waits, sums, tail, np.array(made["busy"], float), whole)


def _pair(both: Sequence[float]) -> tuple[float, float]:
    return float(both[0]), float(both[1])


def waits_of(outcomes: Sequence[Outcome], frame: Frame, least: int = LEAST_JOBS) -> list[Change]:
    """The change of the mean wait of all jobs, and of each group of `least` jobs or more."""
    import numpy as np

    jobs, before, after = (sum(one.waits[row] for one in outcomes) for row in range(3))
    each = np.array([_ratios(*one.waits) for one in outcomes])  # (replicates, groups)
    there = frame.draws @ jobs.T  # a draw may have none of a group's days: it counts as no change
    spread = np.std(frame.draws @ (after - before).T / np.maximum(there, 1), axis=0)
    means = np.array([side.sum(axis=1) / np.maximum(jobs.sum(axis=1), 1) for side in (before, after)])
    counted = jobs.sum(axis=1) / len(outcomes)
    return [
        _change(
            name,
            "mean_wait",
            round(counted[place]),
            _pair(means[:, place].tolist()),
            each[:, place],
            spread[place],
            frame,
        )
        for place, name in enumerate(frame.names)
        if counted[place] >= (least if place else 1)
    ]


def _ratios(jobs: Floats, before: Floats, after: Floats) -> Floats:
    import numpy as np

    total = jobs.sum(axis=1)
    found: Floats = (after - before).sum(axis=1) / np.maximum(total, 1)
    return found


def whole_of(measure: str, outcomes: Sequence[Outcome], frame: Frame) -> Change | None:
    """The change of a measure of all jobs; None where the model has none."""
    import numpy as np

    name = frame.names[0]
    jobs = round(sum(float(one.waits[0][0].sum()) for one in outcomes) / len(outcomes))
    if measure == "mean_wait":
        return next(iter(waits_of(outcomes, frame)), None)
    if measure == "mean_slowdown":
        total = sum(one.waits[0][0] for one in outcomes)
        sides = [np.array([one.sums[key] for one in outcomes]) for key in ("slowdown_today", "slowdown")]
        drawn = frame.draws @ (sides[1] - sides[0]).sum(axis=0) / np.maximum(frame.draws @ total, 1)
        means = [side.sum(axis=1) / np.array([one.waits[0][0].sum() for one in outcomes]) for side in sides]
    elif measure in ("lost_hours", LATE):
        keys, unit = (("lost_today", "lost"), _HOUR) if measure == "lost_hours" else (("late_today", "late"), 1)
        if any(keys[0] not in one.sums for one in outcomes):
            return None
        sides = [np.array([one.sums[key] for one in outcomes]) / unit for key in keys]
        drawn = frame.draws @ (sides[1] - sides[0]).mean(axis=0)
        means = [side.sum(axis=1) for side in sides]
    else:
        if any(measure not in one.whole for one in outcomes):
            return None
        means = [np.array([one.whole[measure][at] for one in outcomes]) for at in (0, 1)]
        drawn = _tails(outcomes, frame) if measure == "p95_wait" else _use(outcomes)
    pair = float(means[0].mean()), float(means[1].mean())
    return _change(name, measure, jobs, pair, means[1] - means[0], float(np.std(drawn)), frame)


def each_of(measure: str, outcomes: Sequence[Outcome]) -> tuple[float, ...]:
    """The measure under the change in each replicate: what two changes are compared by."""
    if measure in ("mean_wait", "mean_slowdown"):
        sums = [one.waits[2][0] if measure == "mean_wait" else one.sums["slowdown"] for one in outcomes]
        return tuple(float(over.sum() / max(one.waits[0][0].sum(), 1))
                     for over, one in zip(sums, outcomes, strict=True))  # fmt: skip
    if measure == "lost_hours":
        return tuple(float(one.sums["lost"].sum()) / _HOUR for one in outcomes)
    return tuple(one.whole[measure][1] for one in outcomes)


def _tails(outcomes: Sequence[Outcome], frame: Frame) -> Floats:
    """The change of the 95th percentile in each draw of the days, between the edges of what was counted."""
    import numpy as np

    if any(one.tail is None for one in outcomes):
        return np.zeros(1)
    counts = np.sum([one.tail for one in outcomes if one.tail is not None], axis=0)
    found = []
    for side in counts:
        drawn = frame.draws @ side  # (draws, edges), cumulative
        target = _TAIL * drawn[:, -1]
        place = np.argmax(drawn >= target[:, None], axis=1).clip(1)
        rows = np.arange(len(drawn))
        below, above = drawn[rows, place - 1], drawn[rows, place]
        share = (target - below) / np.maximum(above - below, 1)
        edges = np.log(np.maximum(EDGES, 0.5))
        found.append(np.exp(edges[place - 1] + share.clip(0, 1) * (edges[place] - edges[place - 1])))
    change: Floats = found[1] - found[0]
    return change


def _use(outcomes: Sequence[Outcome]) -> Floats:
    """The change of the machine's use in each draw of the parts of the window, in blocks as days are drawn."""
    import numpy as np

    change = np.mean([one.busy[1] - one.busy[0] for one in outcomes], axis=0)
    if len(change) < 2:
        return np.zeros(1)
    found: Floats = days_drawn(len(change), min(WEEK, len(change)), DRAWS) @ change / len(change)
    return found


def widened(outcomes: Sequence[Outcome], frame: Frame) -> Frame:
    """The frame with blocks as long as the days' differences depend on each other, where that is longer.

    At least LEAST_BLOCKS of them: of fewer, the quantile of Student's t says that nothing can be seen. Trap:
    block_length() gives the longest of all where days are alike and have a rhythm, such as that of the week.
    """
    total = sum(one.waits[2][0] - one.waits[1][0] for one in outcomes)
    length = max(frame.length, min(block_length(total), frame.days // LEAST_BLOCKS))
    if length == frame.length:
        return frame
    draws = days_drawn(frame.days, length, DRAWS).astype(float)
    return Frame(frame.names, frame.parts, frame.days, length, draws)


def _change(
    name: tuple[str, str],
    measure: str,
    jobs: int,
    means: tuple[float, float],
    each: Floats,
    spread: float,
    frame: Frame,
) -> Change:
    """`each`: the differences of the replicates; `spread`: the standard error by days."""
    mean = float(each.mean())
    reach, p = _wider([(float(spread), max(frame.days // frame.length - 1, 1)), *_by_replicates(each)], mean)
    return Change(*name, measure, _UNITS[measure], jobs, *means, mean, mean - reach, mean + reach, p)


def _by_replicates(each: Floats) -> list[tuple[float, int]]:
    """The standard error of their mean, and the degrees of freedom; of one replicate, none."""
    many = len(each)
    return [(float(each.std(ddof=1)) / math.sqrt(many), many - 1)] if many > 1 else []


def _wider(errors: Sequence[tuple[float, int]], mean: float) -> tuple[float, float]:
    """Half the width of the wider interval, and the larger p of no change."""
    reach = max(error * _quantile(freedom) for error, freedom in errors)
    small = 1e-12 * max(abs(mean), 1e-300)
    ps = [(0.0 if mean else 1.0) if error <= small else 2 * (1 - cdf(abs(mean) / error, freedom))
          for error, freedom in errors]  # fmt: skip
    return reach, max(ps)


@lru_cache(maxsize=256)
def _quantile(freedom: int) -> float:
    return quantile((1 + CONFIDENCE) / 2, freedom)
