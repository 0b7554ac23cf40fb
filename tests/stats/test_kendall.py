"""Tau-b against its definition, pair by pair, and against published figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from adminkit.stats.kendall import tau_b


def by_pairs(x: list[int], y: list[int], tied: int) -> float | None:
    agree = in_x = in_y = 0
    for i in range(len(x)):
        for j in range(i):
            over = 0 if abs(x[i] - x[j]) <= tied else math.copysign(1, x[i] - x[j])
            under = 0 if abs(y[i] - y[j]) <= tied else math.copysign(1, y[i] - y[j])
            agree += int(over * under)
            in_x += over != 0
            in_y += under != 0
    return agree / math.sqrt(in_x * in_y) if in_x and in_y else None


@given(some.lists(some.tuples(some.integers(-9, 30), some.integers(-9, 30)), max_size=40), some.integers(0, 5))
def test_it_is_the_sum_over_all_pairs(points: list[tuple[int, int]], tied: int) -> None:
    x, y = [one for one, _ in points], [one for _, one in points]
    found = tau_b(np.array(x, dtype=np.int64), np.array(y, dtype=np.int64), tied)
    assert found == pytest.approx(by_pairs(x, y, tied))


@pytest.mark.parametrize(
    ("x", "y", "expected", "why"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1, "the same order"),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1, "the opposite one"),
        ([12, 2, 1, 12, 2], [1, 4, 7, 1, 0], -0.47140452079103173, "the example of scipy.stats.kendalltau"),
        ([1, 1, 1], [1, 2, 3], None, "all tied"),
        ([1], [1], None, "no pair"),
    ],
)
def test_known_orders(x: list[int], y: list[int], expected: float | None, why: str) -> None:
    assert tau_b(np.array(x), np.array(y)) == pytest.approx(expected), why


def test_a_hundred_thousand_are_no_matter() -> None:
    rng = np.random.default_rng(1)
    x = rng.permutation(100_000)
    y = x.copy()
    y[:2] = y[1::-1].copy()  # one pair the other way
    pairs = 100_000 * 99_999 // 2
    between = abs(int(x[0]) - int(x[1]))
    assert tau_b(x, y) == pytest.approx(1 - 2 * (2 * between - 1) / pairs, abs=1e-12)
