"""A switchback trial that is looked at while it runs: how far a look may reject, and the interval that holds at each.

- Each look spends a part of the 5 %, by the share of the trial that is over: Lan and DeMets, "Discrete sequential
  boundaries for clinical trials", Biometrika 70 (1983) 659, with their function of O'Brien and Fleming's type, which
  spends almost nothing early and leaves the last look nearly the whole level.
- How far a sum of differences must be from zero comes from the pairs themselves: their signs are flipped, each flip is
  followed through all looks, and as many flips may have been outside by a look as its share allows. So the test is
  exact for "a day of B is `ratio` times the same day of A" and asks for no distribution, and no independence of days.
- The interval of a look has the effects that this look does not reject: repeated confidence intervals, Jennison and
  Turnbull, "Interim analyses", Journal of the Royal Statistical Society B 51 (1989) 305. They hold all at once with 95
  %, so that a trial may be ended at any look, and for any reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVEL: Final = 0.05
#: Pairs up to which all flips of signs are followed, and flips drawn where there are more.
EXACT: Final = 12
DRAWS: Final = 4096
_SEED: Final = 17
#: Sums closer than this, relative, are equal: they may have been added up in another order.
_EQUAL: Final = 1e-9
#: Halvings of a bracket of 4 down to one in 10**9, and of levels.
_HALVINGS: Final = 32
_WIDENINGS: Final = 12


@dataclass(frozen=True, slots=True)
class Look:
    """One look: how many pairs were there, counted from the first, and the share of the whole trial that was over."""

    pairs: int
    share: float


@dataclass(frozen=True, slots=True)
class Effect:
    """B's mean of days / A's, less 1: -0.2 is a fifth less. `low` and `high` hold at every look, together with 95 %.

    `high` is infinite where the days say no upper bound. `p` is the level at which this look would just reject.
    """

    pairs: int
    on: float  # mean of the days' values
    off: float
    change: float
    low: float
    high: float
    p: float

    @property
    def significant(self) -> bool:
        return self.low > 0 or self.high < 0


def spent(share: float, level: float = LEVEL) -> float:
    """How much of `level` may be spent once `share` (above 0, at most 1) of a trial is over."""
    normal = NormalDist()
    return min(level, 2 * (1 - normal.cdf(normal.inv_cdf(1 - level / 2) / math.sqrt(share))))


def effect(on: Sequence[float], off: Sequence[float], looks: Sequence[Look], draws: int = DRAWS) -> Effect | None:
    """The effect as the last of `looks` sees it. None where it has no pair that can reject, or A's days are all 0.

    `on` and `off` are the values of the pairs, in the order of time; `looks` are all looks up to this one.
    """
    import numpy as np

    last = looks[-1].pairs if looks else 0
    with_it, without = np.asarray(on[:last], np.float64), np.asarray(off[:last], np.float64)
    flips = signs(last, draws)
    if without.sum() <= 0 or spent(looks[-1].share) * len(flips) + _EQUAL < (2 if last <= EXACT else 1):
        return None
    paths = Paths(sums(flips, with_it, looks), sums(flips, without, looks), tuple(look.share for look in looks))
    ratio = float(with_it.sum() / without.sum())
    low, high = paths.bound(ratio, -1), paths.bound(ratio, +1)
    return Effect(last, float(with_it.mean()), float(without.mean()), ratio - 1, low - 1, high - 1, paths.p())


@dataclass(frozen=True, slots=True)
class Paths:
    """The sums of the values with flipped signs, a row for each flip (the first flips none), a column for each look."""

    on: Floats
    off: Floats
    shares: tuple[float, ...]

    def rejects(self, ratio: float, level: float = LEVEL) -> bool:
        """Whether the last look rejects that a day of B is `ratio` times the same day of A; infinite: no A day is."""
        import numpy as np

        paths = np.abs(self.off if math.isinf(ratio) else self.on - ratio * self.off)
        return bool(paths[0, -1] > limits(paths, self.shares, level)[-1])

    def bound(self, ratio: float, way: int) -> float:
        """The furthest ratio, up or down from the estimate, that is not rejected; 0 or infinite for none."""
        end = math.inf if way > 0 else 0.0
        if not self.rejects(end):
            return end
        inside = ratio if ratio > 0 else 1e-9
        if ratio <= 0 and way < 0:
            return 0.0
        outside = inside * 4.0**way
        for _ in range(_WIDENINGS):
            if self.rejects(outside):
                break
            inside, outside = outside, outside * 4.0**way
        for _ in range(_HALVINGS):
            middle = math.sqrt(inside * outside)
            inside, outside = (inside, middle) if self.rejects(middle) else (middle, outside)
        return inside

    def p(self) -> float:
        """The least level at which this look would reject that nothing changed; 1 where none would."""
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS // 2):
            middle = (low + high) / 2
            low, high = (low, middle) if self.rejects(1.0, middle) else (middle, high)
        return high


def limits(paths: Floats, shares: Sequence[float], level: float = LEVEL) -> list[float]:
    """What a sum must exceed at each look to be outside. By each look at most its part of the paths have been."""
    import numpy as np

    inside = np.ones(len(paths), np.bool_)
    found: list[float] = []
    for column, share in enumerate(shares):
        free = math.floor(spent(share, level) * len(paths) + _EQUAL) - int((~inside).sum())
        values = paths[:, column]
        there = values[inside]
        if free < len(there):
            place = len(there) - 1 - max(free, 0)
            limit = float(np.partition(there, place)[place]) * (1 + _EQUAL)
        else:
            limit = 0.0
        found.append(limit)
        inside &= values <= limit
    return found


def sums(flips: Floats, values: Floats, looks: Sequence[Look]) -> Floats:
    """What `values` add up to by each look, under each of `flips`."""
    import numpy as np

    begins = [0, *(look.pairs for look in looks[:-1])]
    parts = [
        flips[:, first : look.pairs] @ values[first : look.pairs] for first, look in zip(begins, looks, strict=True)
    ]
    return np.asarray(np.cumsum(np.stack(parts, axis=1), axis=1), np.float64)


def signs(pairs: int, draws: int = DRAWS) -> Floats:
    """All ways to flip the signs of a few pairs, or `draws` random ones of more; the first row flips none."""
    import numpy as np

    if pairs <= EXACT:
        rows = np.arange(2**pairs)[:, None] >> np.arange(pairs) & 1
    else:
        rows = np.random.default_rng(_SEED).integers(0, 2, (draws, pairs))
        rows[0] = 0
    return np.asarray(1 - 2 * rows, np.float64)
