"""A model of one training on one kind of GPU: seconds an iteration and watts, by GPUs and global batch.

    seconds(n, b) = max(a·b/n + c, s(n)),   s(n) = d + e·log2(n) + f·(n - 1)
    watts(n, b)   = n·(idle + (busy - idle)·u(n, b)),   u(n, b) = seconds(1, b) / (n·seconds(n, b))

The first term is arithmetic, the part of the batch that each GPU has; the second is talking to the others, which does
not become less with more of them. The form is that of PowerFlow (Gu et al., arXiv 2304.06381), with an s(n) of our own.
No coefficient is negative, and busy >= idle. Least squares of relative errors: which of the two terms a point belongs
to is found by turns, from every order in which points may change from one to the other; with that known it is linear.

A fit says how far off it is for points that it was not shown: each is left out once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Points of which a fit is made, and GPU counts among them, at least.
LEAST_POINTS: Final = 3
LEAST_COUNTS: Final = 2
#: Turns after which an assignment that still changes is given up.
_TURNS: Final = 20
#: Sums of squares that differ by no more are equal: which is smaller is a question of the processor's rounding.
_EQUAL: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Point:
    """One measured configuration. A batch that is not known is 1 in all points of a fit."""

    gpus: int
    batch: float
    seconds: float  # an iteration, or another piece of work that is the same in all points
    watts: float | None = None  # of all its GPUs


@dataclass(frozen=True, slots=True)
class Error:
    """How far off the fit is for points left out, as |predicted / measured - 1|; `points` of them were tried."""

    median: float
    worst: float
    points: int


@dataclass(frozen=True, slots=True)
class Model:
    """A fit. `idle` and `busy` are watts of a GPU, None where fewer than LEAST_POINTS points have watts."""

    arithmetic: tuple[float, float]  # a, c
    talking: tuple[float, float, float]  # d, e, f
    idle: float | None = None
    busy: float | None = None
    error: Error | None = None  # of seconds
    power_error: Error | None = None  # of watts

    def seconds(self, gpus: int, batch: float) -> float:
        """The seconds that an iteration takes."""
        a, c = self.arithmetic
        d, e, f = self.talking
        return max(a * batch / gpus + c, d + e * math.log2(gpus) + f * (gpus - 1))

    def used(self, gpus: int, batch: float) -> float:
        """The parallel efficiency, u in the formula, 1 at most."""
        seconds = self.seconds(gpus, batch)  # 0 for a number of GPUs that no point has
        return min(self.seconds(1, batch) / (gpus * seconds), 1.0) if seconds else 1.0

    def watts(self, gpus: int, batch: float) -> float | None:
        """The power of all GPUs together."""
        if self.idle is None or self.busy is None:
            return None
        return gpus * (self.idle + (self.busy - self.idle) * self.used(gpus, batch))


def refusal(points: Sequence[Point]) -> str | None:
    """Why no model is made of these; None where one is."""
    if len(points) < LEAST_POINTS:
        return f"{len(points)} points: a model needs {LEAST_POINTS}"
    if len({point.gpus for point in points}) < LEAST_COUNTS:
        return "all points have the same number of GPUs"
    return None


def model(points: Sequence[Point]) -> Model | None:
    """Fit the points, each (GPUs, batch) once, and try every one of them; None where refusal() says why not."""
    if refusal(points):
        return None
    whole = _fit(points)
    left = [(_fit([*points[:k], *points[k + 1 :]]), one) for k, one in enumerate(points)]
    timed = [_off(found.seconds(one.gpus, one.batch), one.seconds) for found, one in left]
    powered = [
        _off(watts, one.watts)
        for found, one in left
        if one.watts is not None and (watts := found.watts(one.gpus, one.batch)) is not None
    ]
    return replace(whole, error=_error(timed), power_error=_error(powered) if powered else None)


def _fit(points: Sequence[Point]) -> Model:
    import numpy as np

    gpus, batch, seconds = (
        np.array([getattr(one, name) for one in points], np.float64) for name in ("gpus", "batch", "seconds")
    )
    share = batch / gpus
    one = np.ones(len(points))
    terms = (np.stack([share, one], 1), np.stack([one, np.log2(gpus), gpus - 1], 1))
    best, least = (np.zeros(2), np.zeros(3)), math.inf
    for first in [*np.unique(share), math.inf]:
        computes = share >= first
        for _ in range(_TURNS):
            sides = zip(terms, (computes, ~computes), strict=True)
            found = [_not_negative(term[mine] / seconds[mine, None]) for term, mine in sides]
            predicted = [term @ weights for term, weights in zip(terms, found, strict=True)]
            both = np.maximum(*predicted)
            off = float(np.sum((both / seconds - 1) ** 2))
            if off < least - _EQUAL and both.min() > 0:  # all arithmetic is always one, and the first
                best, least = (found[0], found[1]), off
            again = predicted[0] >= predicted[1]
            if (again == computes).all():
                break
            computes = again
    timed = Model((float(best[0][0]), float(best[0][1])), tuple(map(float, best[1])))  # type: ignore[arg-type]
    return _with_power(timed, points)


def _with_power(timed: Model, points: Sequence[Point]) -> Model:
    import numpy as np

    some = [one for one in points if one.watts]
    if len(some) < LEAST_POINTS:
        return timed
    each = np.array([(one.watts or 0) / one.gpus for one in some])
    used = np.array([timed.used(one.gpus, one.batch) for one in some])
    idle, more = _not_negative(np.stack([np.ones(len(some)), used], 1) / each[:, None])
    return replace(timed, idle=float(idle), busy=float(idle + more))


def _not_negative(rows: NDArray[Any]) -> NDArray[Any]:
    """The weights, none below 0, for which rows @ weights is nearest to 1 everywhere.

    The best of the least squares over every choice of the weights that are not 0; there are three at most.
    """
    import numpy as np

    count = rows.shape[1]
    best, least = np.zeros(count), float(len(rows))
    for many in range(1, count + 1):
        for chosen in combinations(range(count), many):
            weights = np.zeros(count)
            weights[list(chosen)] = np.linalg.lstsq(rows[:, chosen], np.ones(len(rows)), rcond=None)[0]
            off = float(np.sum((rows @ weights - 1) ** 2))
            if (weights >= 0).all() and off < least - _EQUAL:
                best, least = weights, off
    return best


def _off(predicted: float, measured: float) -> float:
    return abs(predicted / measured - 1)


def _error(errors: Sequence[float]) -> Error:
    import numpy as np

    return Error(float(np.median(errors)), max(errors), len(errors))
