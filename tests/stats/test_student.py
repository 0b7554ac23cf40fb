"""Student's t and Holm's procedure, against published tables."""

from __future__ import annotations

import math
import random

import pytest

from adminkit.stats.student import cdf, difference, holm, quantile


@pytest.mark.parametrize(
    ("share", "freedom", "t"),
    [
        # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2
        (0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 3, 3.182), (0.975, 10, 2.228), (0.975, 19, 2.093),
        (0.975, 20, 2.086), (0.975, 99, 1.984), (0.95, 19, 1.729), (0.999, 19, 3.579), (0.995, 30, 2.750),
    ],
)  # fmt: skip
def test_quantiles_are_those_of_the_table(share: float, freedom: int, t: float) -> None:
    assert quantile(share, freedom) == pytest.approx(t, abs=0.0005)
    assert cdf(quantile(share, freedom), freedom) == pytest.approx(share, abs=1e-9)
    assert cdf(-t, freedom) == pytest.approx(1 - share, abs=1e-4)


def test_a_difference_is_the_mean_with_its_interval() -> None:
    found = difference([1.0, 2.0, 3.0, 4.0])
    assert found is not None
    error = math.sqrt(5 / 3) / 2
    assert found.mean == 2.5
    assert found.high - found.mean == pytest.approx(3.18245 * error, rel=1e-5)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)
    assert found.p == pytest.approx(2 * (1 - cdf(2.5 / error, 3)))


@pytest.mark.parametrize(
    ("values", "expected", "why"),
    [
        ([], None, "nothing"),
        ([1.0], None, "one value has no spread"),
        ([0.0] * 20, (0, 0, 0, 1), "no difference at all"),
        ([3.0] * 20, (3, 3, 3, 0), "always the same one"),
    ],
)
def test_differences_without_spread(
    values: list[float], expected: tuple[float, float, float, float] | None, why: str
) -> None:
    found = difference(values)
    assert (found and (found.mean, found.low, found.high, found.p)) == expected, why


def test_about_one_interval_in_twenty_misses() -> None:
    rng = random.Random(5)
    missed = 0
    for _ in range(2000):
        found = difference([rng.gauss(1, 3) for _ in range(20)])
        assert found is not None
        missed += not found.low <= 1 <= found.high
    assert 70 <= missed <= 130


@pytest.mark.parametrize(
    ("ps", "adjusted"),
    [
        ([], []),
        ([0.01], [0.01]),
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # Holm's steps by hand
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
    ],
)
def test_holm(ps: list[float], adjusted: list[float]) -> None:
    assert holm(ps) == pytest.approx(adjusted)
