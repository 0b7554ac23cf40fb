"""From runs that ended to two numbers for the next one like them: the expected run time and a safe limit.

Pure: it is fed in the order of time, knows nothing that had not ended, and asks no clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from adminkit.recommend.groups import LEVELS, NEEDED, Features, keys

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400

#: Limits that people type. Above the last: whole minutes.
MENU: Final = (
    *(minutes * MINUTE for minutes in (5, 10, 15, 20, 30, 45, 60, 90)),
    *(hours * HOUR for hours in (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 21, 24, 30, 36, 42, 48, 60)),
    *(days * DAY for days in (3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 21, 28, 35, 42)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """How careful a safe limit is. `weight` is what a run over its limit costs, in units of accuracy."""

    weight: float = 3.0
    most_over: float = 0.1  # of a group's runs, by their weights, that may lie above a limit it gives
    margin: float = 1.1  # on the longest run that the limit is to hold
    half_life: float = 20.0  # runs, after which one weighs half
    ring: int = 40  # runs that a group remembers
    going: int = 20  # runs still going, the longest first, that are looked at
    going_weight: float = 0.5  # of each, beside 1 for the newest that ended
    going_margin: float = 1.2  # a run still going is taken to need so many times what it has had


class Run(NamedTuple):
    """How a run ended."""

    elapsed: int  # seconds, above zero
    censored: bool = False  # it ran into its limit: it needed more


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to expect and what to ask for, in seconds. Where `safe` is None, `reason` says why there is none."""

    group: str  # which runs were like it, one of LEVELS
    runs: int  # that this rests on
    expected: float
    safe: float | None  # before it is rounded
    limit: int | None  # the menu's first at or above `safe`; never above the request
    tried: int  # earlier runs of the group that had a limit recommended just before them
    over: int  # of these, went over it
    reason: str | None = None

    @property
    def risk(self) -> float | None:
        """The share of earlier runs that went over; None before there was one."""
        return self.over / self.tried if self.tried else None


class Group:
    """Runs that are alike: the last few, those still going, and how the limits recommended for them did."""

    __slots__ = ("going", "known", "over", "recent", "safe", "tried")

    def __init__(self, ring: int) -> None:
        self.recent: deque[Run] = deque(maxlen=ring)
        self.going: dict[int, int] = {}  # the run's number -> its start; the earliest first
        self.known = False  # whether `safe` is that of the runs as they are, with none going
        self.safe: float | None = None
        self.tried = 0
        self.over = 0


class Predictor:
    """Learns by started() and ended(), answers by predict(). What it is fed must come in the order of time."""

    def __init__(self, settings: Settings = Settings(), menu: Sequence[int] = MENU) -> None:
        self._settings = settings
        self._menu = sorted(menu)
        self._weights = [0.5 ** (back / settings.half_life) for back in range(settings.ring)]
        self._groups: dict[tuple[object, ...], Group] = {}

    def predict(self, features: Features, now: int) -> Recommendation | None:
        """For a job submitted now. None: no group has enough runs."""
        for level, key in enumerate(keys(features)):
            group = self._groups.get(key) if key is not None else None
            if group is not None and len(group.recent) >= NEEDED[level]:
                return self._answer(group, LEVELS[level], features.request, now)
        return None

    def started(self, features: Features, number: int, at: int) -> None:
        """A run began; ended() takes the same number."""
        for group in self._of(features):
            if group is not None:
                group.going[number] = at

    def ended(self, features: Features, run: Run, told: Recommendation | None = None, number: int = 0) -> None:
        """A run is over; `told` is what predict() had said at its submission."""
        for level, group in enumerate(self._of(features)):
            if group is None:
                continue
            group.recent.append(run)
            group.known = False
            group.going.pop(number, None)
            if told is not None and told.limit is not None and told.group == LEVELS[level]:
                group.tried += 1
                group.over += run.censored or run.elapsed > told.limit

    def _of(self, features: Features) -> Iterator[Group | None]:
        """The groups of such a job, made where there was none; None where a feature is unknown."""
        for key in keys(features):
            if key is None:
                yield None
                continue
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = Group(self._settings.ring)
            yield group

    def _safe(self, group: Group, now: int) -> float | None:
        """Before it is capped. Reckoned anew only where something changed: runs still going change by the second."""
        if group.going:
            longest = islice(group.going.values(), self._settings.going)
            return safe_limit(group.recent, self._weights, self._settings, [now - at for at in longest])
        if not group.known:
            group.known, group.safe = True, safe_limit(group.recent, self._weights, self._settings)
        return group.safe

    def _answer(self, group: Group, name: str, request: int | None, now: int) -> Recommendation:
        safe, limit = self._safe(group, now), None
        if safe is not None:
            limit = round_up(safe, self._menu)
            if request:
                safe, limit = min(safe, float(request)), min(limit, request)
        return Recommendation(
            group=name,
            runs=len(group.recent),
            expected=expected(group.recent),
            safe=safe,
            limit=limit,
            tried=group.tried,
            over=group.over,
            reason=None if safe is not None else "too many of these runs ran into their limit",
        )


def expected(recent: Sequence[Run]) -> float:
    """The mean of the last two."""
    last = [run.elapsed for run in (recent[-1], recent[-2] if len(recent) > 1 else recent[-1])]
    return sum(last) / len(last)


def safe_limit(
    recent: Iterable[Run], weights: Sequence[float], settings: Settings, going: Sequence[int] = ()
) -> float | None:
    """The limit that would have served these runs best: accurate, and few of them over it; newer ones weigh more.

    Each run's need is tried in turn with the margin on it. A run that hit its own limit is over any limit, as nobody
    knows what it needed. A run that has been `going` for so many seconds counts once that is above the median of the
    others. None where more than `most_over` are over every limit.
    """
    runs = sorted(
        (float(run.elapsed), run.censored, weight) for run, weight in zip(reversed(list(recent)), weights, strict=False)
    )
    median = runs[len(runs) // 2][0]
    if longer := [had * settings.going_margin for had in going if had > median]:
        runs += [(need, False, settings.going_weight) for need in longer]
        runs.sort()
    above = sum(weight / need for need, _, weight in runs)  # the accuracy of longer runs, per second of limit
    over = total = sum(weight for _, _, weight in runs)
    below = 0.0  # that of shorter runs, times the limit
    best, found = float("-inf"), None
    for need, censored, weight in runs:
        above -= weight / need
        below += weight * need
        over -= 0.0 if censored else weight
        if over > settings.most_over * total:
            continue
        limit = need * settings.margin
        gain = below / limit + limit * above - settings.weight * over
        if gain >= best:
            best, found = gain, limit
    return None if found is None else round(found, 3)


def round_up(seconds: float, menu: Sequence[int]) -> int:
    """The first step of a sorted menu at or above; whole minutes above the last."""
    place = bisect_left(menu, seconds)
    return menu[place] if place < len(menu) else -int(-seconds // MINUTE) * MINUTE
