"""What users' first letter changed: matched difference in differences with a cluster bootstrap over users.

Letters go to users who did badly, and whoever did badly by chance does better next time, letter or not (regression to
the mean). So the change of each user with a letter is compared with the mean change of users without one who had done
about as badly in the same weeks. Days are counted from 1970, in UTC.

- Difference in differences: Ashenfelter, Card, Review of Economics and Statistics 67 (1985) 648; with matched controls:
  Heckman, Ichimura, Todd, Review of Economic Studies 64 (1997) 605.
- A user's runs are not independent observations, so users are drawn, not runs: Bertrand, Duflo, Mullainathan, "How much
  should we trust differences-in-differences estimates?", Quarterly Journal of Economics 119 (2004) 249; Cameron,
  Gelbach, Miller, "Bootstrap-based improvements for inference with clustered errors", Review of Economics and
  Statistics 90 (2008) 414.
- Trap: the bootstrap keeps the matches as they are, and so leaves out what another draw would have matched. Abadie and
  Imbens, Econometrica 76 (2008) 1537, show that it is not valid for nearest neighbours in general; findings/effect.py
  concludes nothing from few users.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select, span

DAY: Final = 86_400
#: Matches that are drawn at a time, users times neighbours: some MB.
_AT_ONCE: Final = 1 << 18
Measure = Literal["accuracy", "unused_hours"]
MEASURES: Final[tuple[Measure, ...]] = ("accuracy", "unused_hours")

_FIRST: Final = """
SELECT uid, min(sent_at) FROM outbox
WHERE cluster = ? AND state = 'sent' AND sent_at IS NOT NULL AND uid IS NOT NULL AND kind IN ('end', 'digest')
GROUP BY uid
"""
_DAYS: Final = f"""
SELECT uid, submit_time / {DAY} AS submitted, end_time / {DAY} AS ended, count(*), total(elapsed * 1.0 / req_limit),
    total(CASE WHEN size_gpus > 0 THEN max(req_limit - elapsed, 0) * size_gpus END),
    total(CASE WHEN coalesce(size_gpus, 0) = 0 THEN max(req_limit - elapsed, 0) * size_units END),
    max(size_gpus > 0)
FROM run WHERE """


@dataclass(frozen=True, slots=True)
class Design:
    """How the effect is measured."""

    days: int = 28  # on each side of the letter
    least_runs: int = 3  # on each side, for a user to count
    settle: int = 7  # days after these in which runs may still end, before a user counts
    selected: int = 1  # days before the letter: a run that ended then may be why it was sent, and counts on no side
    neighbours: int = 5  # matches of a user, at most
    accuracy_apart: float = 0.1  # caliper: the largest difference of mean accuracies before
    hours_apart: float = 0.3  # caliper for unused hours: the largest difference of log(1 + hours a week)
    draws: int = 2000  # of the bootstrap
    seed: int = 5


class _Day(NamedTuple):
    """The runs of one user that were submitted, and ended, on these days."""

    submitted: int
    ended: int
    runs: int
    ratios: float
    unused: float  # GPU-seconds; of a cluster without runs on GPUs, CPU-seconds


class _Sides(NamedTuple):
    """One user around one day, a measure before and after."""

    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Change:
    """One measure: of all users with a letter and runs on both sides, and of those with a match.

    `low` and `high` are the 95 % percentile interval of the bootstrap; None where no user had a match.
    """

    measure: Measure
    users: int
    before: float | None  # mean over users
    after: float | None
    compared: int  # users with a match
    others: int  # distinct users they were matched with
    change: float | None  # mean over those compared
    expected: float | None  # mean change of their matches
    effect: float | None  # change - expected
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Effect:
    """`too_recent`: users whose days after the first letter are not over; `too_few`: users with few runs on a side."""

    changes: Sequence[Change]
    ever: int  # users who had a letter
    lettered: int  # of these, whose first one was sent in the window
    too_recent: int
    too_few: int
    held_out: bool  # whether the controls are the hold-out
    others: int  # possible controls: users with runs and without a letter around some user's letter
    first: int | None  # the day of the first of these letters
    span: tuple[int, int]  # [since, until), epoch seconds, of the runs read
    ends: tuple[int | None, int | None]  # the first and the last of the trace
    runs: int
    on_gpus: bool = True  # unused hours are GPU-hours; else no run had GPUs, and they are CPU-hours


def effect(
    db: sqlite3.Connection, chosen: Filter, now: int, design: Design, held_out: Callable[[int], bool], least_others: int
) -> Effect:
    """The effect of letters on one cluster, chosen.clusters. Controls: the hold-out, if enough of it have runs.

    The window of `chosen` is that of first letters; the design says which runs are looked at.
    """
    (cluster,) = chosen.clusters
    sent = {uid: at for uid, at in db.execute(_FIRST, (cluster,)) if not held_out(uid)}
    first = {uid: at // DAY for uid, at in sent.items()}
    since, until = chosen.since or 0, math.inf if chosen.until is None else chosen.until
    lettered = {uid: first[uid] for uid, at in sent.items() if since <= at < until}
    today = now // DAY
    due = {uid: day for uid, day in lettered.items() if day + design.days + design.settle < today}
    begin = min(due.values(), default=today) - design.days
    days, runs, on_gpus = _days(db, chosen, begin)
    around: dict[int, dict[int, dict[Measure, _Sides]]] = {
        day: {uid: sides for uid, mine in days.items() if (sides := _sides(mine, day, design))}
        for day in sorted(set(due.values()))
    }
    held = {uid for sides in around.values() for uid in sides if held_out(uid)}
    use_held = len(held) >= least_others
    pools = {day: _pool(around[day], day, first, design, held if use_held else None) for day in around}
    mine = {uid: around[day][uid] for uid, day in due.items() if uid in around[day]}
    changes = [_change(measure, mine, due, pools, design) for measure in MEASURES]
    everybody = {uid for pool in pools.values() for uid in pool}
    return Effect(
        changes, len(sent), len(lettered), len(lettered) - len(due), len(due) - len(mine), use_held, len(everybody),
        min(lettered.values(), default=None), (begin * DAY, now), span(db), runs, on_gpus,
    )  # fmt: skip


def _days(db: sqlite3.Connection, chosen: Filter, begin: int) -> tuple[dict[int, list[_Day]], int, bool]:
    """Map each uid to its runs since the day `begin`, summed by days of submission and end; count them; and say
    whether any had GPUs: then only these have unused hours."""
    counted = select(replace(chosen, since=None, until=None), limits=True)
    query = _DAYS + counted.where + " AND end_time >= :begin AND submit_time >= :begin AND uid IS NOT NULL"
    rows = db.execute(query + " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3", {**counted.params, "begin": begin * DAY}).fetchall()
    on_gpus = any(row[-1] for row in rows)
    found: dict[int, list[_Day]] = defaultdict(list)
    for uid, submitted, ended, runs, ratios, gpu, cpu, _ in rows:
        found[uid].append(_Day(submitted, ended, runs, ratios, gpu if on_gpus else cpu))
    return found, sum(row[3] for row in rows), on_gpus


def _sides(days: Sequence[_Day], letter: int, design: Design) -> dict[Measure, _Sides] | None:
    """The measures before and after a letter's day, which is on neither side; None where a side has too few runs."""
    sums = []
    for since, until, ended in (
        (letter - design.days, letter, letter - design.selected),
        (letter + 1, letter + 1 + design.days, None),
    ):
        runs, ratios, unused = 0, 0.0, 0.0
        for place in range(bisect_left(days, since, key=lambda one: one.submitted), len(days)):
            day = days[place]
            if day.submitted >= until:
                break
            if ended is None or day.ended < ended:
                runs, ratios, unused = runs + day.runs, ratios + day.ratios, unused + day.unused
        if runs < design.least_runs:
            return None
        sums.append((ratios / runs, unused / 3600 * 7 / design.days))
    (accuracy, hours), (accuracy_after, hours_after) = sums
    return {"accuracy": _Sides(accuracy, accuracy_after), "unused_hours": _Sides(hours, hours_after)}


def _pool(
    around: Mapping[int, Mapping[Measure, _Sides]],
    day: int,
    first: Mapping[int, int],
    design: Design,
    held: Collection[int] | None,
) -> dict[int, Mapping[Measure, _Sides]]:
    """The possible controls for a letter of that day: the hold-out; without one, users who had no letter by its end."""
    return {
        uid: sides
        for uid, sides in around.items()
        if (uid in held if held is not None else first.get(uid, math.inf) > day + design.days)
    }


def _change(
    measure: Measure,
    mine: Mapping[int, Mapping[Measure, _Sides]],
    due: Mapping[int, int],
    pools: Mapping[int, Mapping[int, Mapping[Measure, _Sides]]],
    design: Design,
) -> Change:
    own = {uid: sides[measure] for uid, sides in mine.items()}
    pairs: list[tuple[float, list[tuple[int, float]]]] = []  # a user's change; (uid, change) of each match
    for uid in sorted(own):
        pool = pools[due[uid]]
        near = sorted(
            (apart, other)
            for other, sides in pool.items()
            if (apart := _apart(measure, own[uid].before, sides[measure].before, design)) <= 1 and other != uid
        )
        if near:
            others = [(other, pool[other][measure].change) for _, other in near[: design.neighbours]]
            pairs.append((own[uid].change, others))
    count = len(own)
    before = math.fsum(one.before for one in own.values()) / count if count else None
    after = math.fsum(one.after for one in own.values()) / count if count else None
    people = {other for _, others in pairs for other, _ in others}
    if not pairs:
        return Change(measure, count, before, after, 0, 0, None, None, None, None, None)
    change = math.fsum(one for one, _ in pairs) / len(pairs)
    expected = math.fsum(math.fsum(theirs for _, theirs in others) / len(others) for _, others in pairs) / len(pairs)
    low, high = _interval(pairs, sorted(people), design)
    return Change(
        measure, count, before, after, len(pairs), len(people), change, expected, change - expected, low, high
    )


def _apart(measure: Measure, one: float, other: float, design: Design) -> float:
    """The distance of two users before the letter, in calipers; above 1 they do not match."""
    if measure == "accuracy":
        return abs(one - other) / design.accuracy_apart
    return abs(math.log1p(one) - math.log1p(other)) / design.hours_apart


def _interval(
    pairs: Sequence[tuple[float, Sequence[tuple[int, float]]]], people: Sequence[int], design: Design
) -> tuple[float, float]:
    """The 95 % percentile interval of the effect (Efron, Annals of Statistics 7 (1979) 1): users with letters and users
    without are each drawn with replacement, with all of their runs.

    A control that matches several users is drawn once for all of them. Matches stay as they are.
    """
    import numpy as np

    place = {uid: number for number, uid in enumerate(people)}
    width = max(len(others) for _, others in pairs)
    who = np.zeros((len(pairs), width), dtype=np.int64)
    theirs, there = np.zeros((len(pairs), width)), np.zeros((len(pairs), width))
    for row, (_, others) in enumerate(pairs):
        for column, (uid, change) in enumerate(others):
            who[row, column], theirs[row, column], there[row, column] = place[uid], change, 1
    own = np.array([change for change, _ in pairs])
    random = np.random.default_rng(design.seed)
    effects: list[float] = []
    at_once = max(1, _AT_ONCE // who.size)
    for begin in range(0, design.draws, at_once):
        draws = min(at_once, design.draws - begin)
        drawn, counted = np.empty((draws, len(pairs))), np.empty((draws, len(people)), dtype=np.int64)
        for draw in range(draws):
            drawn[draw] = np.bincount(random.integers(len(pairs), size=len(pairs)), minlength=len(pairs))
            counted[draw] = np.bincount(random.integers(len(people), size=len(people)), minlength=len(people))
        weight = np.take(counted, who, axis=1) * there
        total = weight.sum(axis=2)
        drawn[total == 0] = 0  # no match of this user was drawn
        expected = (weight * theirs).sum(axis=2) / np.maximum(total, 1)
        summed, counts = (drawn * (own - expected)).sum(axis=1), drawn.sum(axis=1)
        effects += (summed[counts > 0] / counts[counts > 0]).tolist()
    if not effects:
        return math.nan, math.nan
    low, high = np.quantile(effects, (0.025, 0.975))
    return float(low), float(high)
