"""A switchback experiment: whole days on and off at random, and what their difference shows, with its interval.

- The design, and why days are the units and the hours after a switch do not count: Bojinov, Simchi-Levi, Zhao, "Design
  and analysis of switchback experiments", Management Science 69 (2023) 3759.
- Each day is paired with the same day of the next week; chance says which of the two is on. So each weekday is on as
  often as off, and under no effect the sign of each pair's difference is a coin's: Fisher, The Design of Experiments
  (1935), chapter 3. The days may depend on each other as they like.
- The interval has the effects that this test does not reject at 5 %: Rosenbaum, Observational Studies (2002), 2.6.2. An
  effect is a factor on a day's mean wait.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from adminkit.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WEEK: Final = 7
#: Days of a block: each weekday twice, once on and once off.
BLOCK: Final = 2 * WEEK
MOST_DAYS: Final = 26 * BLOCK
#: Pairs below which no difference could be significant: 2 / 2**6 is below 5 %.
LEAST_PAIRS: Final = 6
SIGNIFICANT: Final = 0.05
POWER: Final = 0.8
#: Days with waits below which the variance from day to day is not known.
LEAST_HISTORY: Final = 2 * BLOCK
#: Draws of signs where there are too many to take all of them, and draws of histories.
_SIGNS: Final = 4096
_EXACT: Final = 12
_HISTORIES: Final = 400
_SEED: Final = 17


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a trial, [since, until) in epoch seconds; `on`: soft limits are given."""

    since: int
    until: int
    on: bool


@dataclass(frozen=True, slots=True)
class Change:
    """How the mean wait of a day on differs from that of a day off: -0.2 is a fifth less, with its 95 % interval.

    `high` is infinite where the days say no upper bound.
    """

    pairs: int
    on: float  # mean of the days' mean waits, seconds
    off: float
    change: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        return self.low > 0 or self.high < 0


def check_days(days: int) -> None:
    """UsageError for a number of days that is not a whole number of fortnights, or too large."""
    if days < BLOCK or days % BLOCK or days > MOST_DAYS:
        nearest = min(max(round(days / BLOCK) * BLOCK, BLOCK), MOST_DAYS)
        raise UsageError(
            f"a trial of {days} days cannot have each weekday on as often as off",
            f"choose whole fortnights, {BLOCK} to {MOST_DAYS} days: --days {nearest}",
        )


def calendar(midnights: Sequence[int], seed: int) -> list[Day]:
    """The days between `midnights`, on and off at random: the same seed gives the same days."""
    days = len(midnights) - 1
    check_days(days)
    draw = Random(seed).random  # trap: of Random's methods only this one is the same in every release of Python
    on = [False] * days
    for block in range(0, days, BLOCK):
        for day in range(block, block + WEEK):
            on[day] = draw() < 0.5
            on[day + WEEK] = not on[day]
    return [Day(*one) for one in zip(midnights, midnights[1:], on, strict=False)]


def paired(values: Sequence[float | None], on: Sequence[bool]) -> tuple[list[float], list[float]]:
    """The values of days on and off, pair by pair of the calendar; a pair with a day without a value is left out."""
    ons, offs = [], []
    for block in range(0, len(values), BLOCK):
        for day in range(block, min(block + WEEK, len(values) - WEEK)):
            pair = {on[place]: values[place] for place in (day, day + WEEK)}
            first, second = pair.get(True), pair.get(False)
            if first is not None and second is not None:
                ons.append(first)
                offs.append(second)
    return ons, offs


def change(on: Sequence[float], off: Sequence[float]) -> Change | None:
    """The effect by pairs of days. None where there are too few, or nobody waited on the days off."""
    import numpy as np

    pairs, with_it, without = len(on), np.asarray(on, np.float64), np.asarray(off, np.float64)
    if pairs < LEAST_PAIRS or without.sum() <= 0:
        return None
    ratio = float(with_it.sum() / without.sum())
    test = _Test(with_it, without, _signs(pairs, _SIGNS))
    low = test.bound(ratio, -1) if ratio > 0 else 0.0
    high = test.bound(ratio if ratio > 0 else 1e-6, +1)
    return Change(pairs, float(with_it.mean()), float(without.mean()), ratio - 1, low - 1, high - 1)


@dataclass(frozen=True, slots=True)
class _Test:
    """Flips the signs of the pairs' differences. `signs` has a row for each draw, the first as it is."""

    on: Floats
    off: Floats
    signs: Floats

    def p(self, ratio: float) -> float:
        """Two-sided, of the hypothesis that a day on is `ratio` times the same day off."""
        import numpy as np

        differences = self.on / ratio - self.off
        flipped = np.abs(self.signs @ differences)
        return float(np.mean(flipped >= flipped[0] * (1 - 1e-9)))

    def bound(self, ratio: float, way: int) -> float:
        """The furthest effect, up or down from the estimate, that is not rejected; 0 or infinite for none."""
        step = 4.0**way
        inside, outside = ratio, ratio * step
        for _ in range(12):
            if self.p(outside) <= SIGNIFICANT:
                break
            inside, outside = outside, outside * step
        else:
            return math.inf if way > 0 else 0.0
        for _ in range(40):
            middle = math.sqrt(inside * outside)
            inside, outside = (middle, outside) if self.p(middle) > SIGNIFICANT else (inside, middle)
        return inside


def _signs(pairs: int, most: int) -> Floats:
    """Every way to flip the pairs where there are few, else `most` of them at random; the first row flips none."""
    import numpy as np

    if pairs <= _EXACT:
        rows = np.arange(2**pairs)[:, None] >> np.arange(pairs) & 1
    else:
        rows = np.random.default_rng(_SEED).integers(0, 2, (most, pairs))
        rows[0] = 0
    return np.asarray(1 - 2 * rows, np.float64)


def smallest_change(history: Sequence[float | None], days: int) -> float | None:
    """The smallest cut of the mean wait, as a share, that a trial of `days` days would show four times out of five.

    `history` are the mean waits of consecutive days. Fortnights of it are drawn, days of them are made shorter by
    chance, and the very test of `change` is asked. None where the history is too short, or nothing would be shown.
    """
    import numpy as np

    blocks = [_differences(history[day : day + BLOCK]) for day in range(len(history) - BLOCK + 1)]
    whole = [block for block in blocks if len(block) == WEEK]
    if sum(value is not None for value in history) < LEAST_HISTORY or not whole:
        return None
    draw = np.random.default_rng(_SEED)
    taken = draw.integers(0, len(whole), (_HISTORIES, days // BLOCK))
    drawn = np.asarray(whole, np.float64)[taken].reshape(_HISTORIES, -1, 2)
    flips = draw.integers(0, 2, drawn.shape[:2]).astype(bool)
    on, off = np.where(flips, drawn[..., 0], drawn[..., 1]), np.where(flips, drawn[..., 1], drawn[..., 0])
    signs = _signs(on.shape[1], _SIGNS // 4)

    def power(cut: float) -> float:
        found = [_Test(one * (1 - cut), other, signs).p(1.0) <= SIGNIFICANT for one, other in zip(on, off, strict=True)]
        return sum(found) / _HISTORIES

    if power(0.99) < POWER:
        return None
    low, high = 0.0, 0.99
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def _differences(block: Sequence[float | None]) -> list[tuple[float, float]]:
    """The pairs of a fortnight."""
    pairs = zip(block[:WEEK], block[WEEK:], strict=True)
    return [(first, second) for first, second in pairs if first is not None and second is not None]
