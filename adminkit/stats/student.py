"""Student's t distribution with a whole number of degrees of freedom, and the mean of differences by it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: The confidence level of the intervals.
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of paired differences, its 95 % interval and the two-sided p-value of no difference."""

    mean: float
    low: float
    high: float
    p: float


def difference(values: Sequence[float]) -> Difference | None:
    """The paired t test; None for fewer than two values. Where all are one value, it is the interval, too."""
    many = len(values)
    if many < 2:
        return None
    mean = math.fsum(values) / many
    spread = math.sqrt(math.fsum((one - mean) ** 2 for one in values) / (many - 1))
    error = spread / math.sqrt(many)
    if error <= 1e-12 * abs(mean):
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    reach = error * quantile((1 + CONFIDENCE) / 2, many - 1)
    return Difference(mean, mean - reach, mean + reach, 2 * (1 - cdf(abs(mean) / error, many - 1)))


def cdf(t: float, freedom: int) -> float:
    """P(T <= t). Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term, total = (1.0, 1.0) if freedom % 2 == 0 else (cosine, cosine)
    for k in range(2 if freedom % 2 == 0 else 3, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    inside = sine * total if freedom % 2 == 0 else 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))
    return 0.5 + inside / 2


def quantile(share: float, freedom: int) -> float:
    """The t with P(T <= t) = share, for a share above a half; by bisection."""
    low, high = 0.0, 1.0
    while cdf(high, freedom) < share:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values, adjusted so that all conclusions together are wrong with a probability of at most their level.

    Holm: A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979) 65.
    """
    adjusted, most = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda one: ps[one])):
        most = max(most, min(1.0, ps[place] * (len(ps) - rank)))
        adjusted[place] = most
    return adjusted
