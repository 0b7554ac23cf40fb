"""From sums of runs to a score, from a score to hours of ageing. Pure; docs/incentives.md has the reasons."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Final

from adminkit.stats.incentives import COUNTED, DAY, GPU_HOUR, LEFT_OUT, MISSED, Criteria, Scored, Sums

if TYPE_CHECKING:
    from adminkit.policy.incentive_settings import Incentives

#: Jobs whose names differ in numbers only, such as train_1 and train_2, share one cap.
_NUMBERS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Standing:
    """One user's bonus and how it came about. `hours` is 0 where `lacking` says what is missing."""

    uid: int
    user: str | None
    runs: int  # that weigh
    missed: int  # of these, ended at their limit
    days: int
    weight: float  # GPU-hours, after the caps and the half-life
    score: float | None  # 0 … 1; None where nothing weighs
    share: float  # GPU-hours of the runs that weigh / all the user's GPU-hours
    hours: float
    lacking: str | None  # runs, days, share, score; None for a bonus
    bundles: int
    earns_class: bool
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason -> runs, only where there are some


@dataclass(frozen=True, slots=True)
class Weighed:
    """One run as it counts. `capped`: the fraction of its weight that the cap of its name and day leaves."""

    run: Scored
    weight: float  # GPU-hours, after the caps and the half-life
    score: float
    capped: float


def criteria_of(settings: Incentives, menu: Sequence[int], cluster: str, now: int, checkpoint_code: int) -> Criteria:
    """The query for the runs of the window, which begins at midnight UTC and ends at `now`."""
    return Criteria(
        cluster=cluster,
        since=(now // DAY - settings.window_days) * DAY,
        until=now,
        menu=menu,
        menu_steps=settings.menu_steps,
        min_elapsed=settings.min_elapsed,
        min_cpu_use=settings.min_cpu_use,
        unknown_counts=settings.unknown_use == "count",
        recorded_only=settings.recorded_only,
        cpus_per_gpu=settings.cpus_per_gpu,
        checkpoint_code=checkpoint_code,
    )


def standings(rows: Iterable[Sums], settings: Incentives, now: int) -> Iterator[Standing]:
    """One standing for each user. `rows` come user by user; one user's are in memory at a time."""
    for _, mine in groupby(rows, key=lambda row: row.uid):
        yield standing(list(mine), settings, now)


def standing(rows: Sequence[Sums], settings: Incentives, now: int) -> Standing:
    """The standing of one user by these rows; at least one."""
    weighing = [row for row in rows if row.reason in (COUNTED, MISSED)]
    names = {row.user for row in rows if row.user is not None}
    score, weight = _score(weighing, settings, now)
    share = _share(rows, settings, now)
    runs, days = sum(row.runs for row in weighing), len({row.day for row in weighing})
    lacking = _lacking(settings, runs, days, share, score)
    bundles, earns_class = _bundles(rows, settings, now)
    counted = Counter[str]()
    for row in rows:
        counted[row.reason] += row.runs
    return Standing(
        uid=rows[0].uid,
        user=max(names, default=None),
        runs=runs,
        missed=counted[MISSED],
        days=days,
        weight=weight,
        score=score,
        share=share,
        hours=0.0 if lacking or score is None else earned(score, settings),
        lacking=lacking,
        bundles=bundles,
        earns_class=earns_class,
        left_out={reason: counted[reason] for reason in LEFT_OUT if counted[reason]},
    )


def as_well_off(everybody: Sequence[Standing], held_out: Callable[[int], bool]) -> list[Standing]:
    """`everybody`, where a user of the hold-out has at least the median bonus of those who are not in it.

    Users with too few runs are left out on both sides: nobody gets a bonus for runs that were not made.
    """
    enough = [one for one in everybody if one.lacking in (None, "score")]
    usual = median([one.hours for one in enough if not held_out(one.uid)] or [0.0])
    lifted = {one.uid for one in enough if held_out(one.uid) and one.hours < usual}
    return [replace(one, hours=usual, lacking=None) if one.uid in lifted else one for one in everybody]


def earned(score: float, settings: Incentives) -> float:
    """Hours of ageing for a score: 0 up to from_score, accuracy_hours at 1, linear between."""
    part = (score - settings.from_score) / (1 - settings.from_score)
    return min(max(part, 0.0), 1.0) * settings.accuracy_hours


def weighed(runs: Iterable[Scored], rows: Sequence[Sums], settings: Incentives, now: int, most: int) -> list[Weighed]:
    """The `most` runs of one user with the most weight, the heaviest first. `rows` are the user's sums."""
    held = {key: total for key, (_, total) in _groups(rows).items()}

    def one(run: Scored) -> Weighed:
        part = _part_left(held[run.day, bare_name(run.job_name)], settings)
        weight = run.held / GPU_HOUR * part * _fading(run.day, settings, now)
        score = run.need / max(run.req_limit, run.need) if run.reason == COUNTED and run.need else 0.0
        return Weighed(run, weight, score, part)

    return nlargest(most, map(one, runs), key=lambda w: (w.weight, w.run.end_time, w.run.job_id or ""))


def bare_name(name: str | None) -> str:
    """A job's name with # for each number in it."""
    return _NUMBERS.sub("#", name or "")


def _groups(rows: Iterable[Sums]) -> dict[tuple[int, str], tuple[int, int]]:
    """(day, bare name) -> (needed, held) of the runs that weigh; GPU-seconds."""
    groups: defaultdict[tuple[int, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for row in rows:
        if row.reason in (COUNTED, MISSED):
            key = row.day, bare_name(row.job_name)
            groups[key] = groups[key][0] + row.needed, groups[key][1] + row.held
    return dict(sorted(groups.items()))


def _score(rows: Iterable[Sums], settings: Incentives, now: int) -> tuple[float | None, float]:
    """(needed / held, held in GPU-hours), with the cap of each name and day and the half-life."""
    needed = total = 0.0
    for (day, _), (need, held) in _groups(rows).items():
        factor = _part_left(held, settings) * _fading(day, settings, now)
        needed += need / GPU_HOUR * factor
        total += held / GPU_HOUR * factor
    return (min(needed / total, 1.0) if total > 0 else None), total


def _part_left(held: int, settings: Incentives) -> float:
    """The fraction of one name's weight on one day that its cap leaves."""
    return min(1.0, settings.name_day_hours * GPU_HOUR / held) if held else 1.0


def _fading(day: int, settings: Incentives, now: int) -> float:
    """0.5 ** (age in whole days / half-life); 1 today."""
    return float(0.5 ** (max(now // DAY - day, 0) / settings.half_life_days))


def _share(rows: Iterable[Sums], settings: Incentives, now: int) -> float:
    """GPU-hours of the runs that weigh / all the user's GPU-hours, with the half-life."""
    weighing: Counter[int] = Counter()
    everything: Counter[int] = Counter()
    for row in rows:
        everything[row.day] += row.used
        weighing[row.day] += row.used if row.reason in (COUNTED, MISSED) else 0
    whole = sum(work * _fading(day, settings, now) for day, work in sorted(everything.items()))
    part = sum(work * _fading(day, settings, now) for day, work in sorted(weighing.items()))
    return part / whole if whole else 0.0


def _bundles(rows: Iterable[Sums], settings: Incentives, now: int) -> tuple[int, bool]:
    """Bundles of the last bundle_days, and whether the user's parallel jobs still earn class points."""
    late = [row for row in rows if row.day > now // DAY - settings.bundle_days]
    parallel, bundled = sum(row.parallel for row in late), sum(row.bundled for row in late)
    return sum(row.bundles for row in late), not bundled or bundled < settings.bundle_share * parallel


def _lacking(settings: Incentives, runs: int, days: int, share: float, score: float | None) -> str | None:
    if runs < settings.min_jobs:
        return "runs"
    if days < settings.min_days:
        return "days"
    if share < settings.min_share:
        return "share"
    return None if score is not None and score > settings.from_score else "score"
