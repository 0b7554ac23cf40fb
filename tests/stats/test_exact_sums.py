"""Sums of floats: right, and the same to the last digit in whichever order they come."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.stats.exact_sums import exact_sums

_VALUES = st.lists(st.floats(-1e15, 1e15, allow_subnormal=False), min_size=1, max_size=80)


@given(_VALUES, st.randoms())
def test_the_sum_is_right_and_no_order_changes_a_digit(values: list[float], random: object) -> None:
    found = exact_sums(np.zeros(len(values), np.int32), 1, np.array(values))[0]
    most = max(map(abs, values))
    assert found == pytest.approx(math.fsum(values), rel=1e-14, abs=most * 1e-13)
    random.shuffle(values)  # type: ignore[attr-defined]
    assert exact_sums(np.zeros(len(values), np.int32), 1, np.array(values))[0] == found


@pytest.mark.parametrize(
    ("values", "groups", "why"),
    [
        ([], [0.0, 0.0], "no row"),
        ([(0, 1.5), (1, 2.0), (0, 0.25)], [1.75, 2.0], "by group"),
        ([(0, math.nan), (0, 3.0)], [3.0, 0.0], "unknown ones are left out"),
        ([(1, 0.0)], [0.0, 0.0], "zeros"),
        ([(0, 1e-300), (0, 1e-300)], [2e-300, 0.0], "tiny ones"),
        ([(0, 1e17), (0, 1.0)], [1e17, 0.0], "what a float cannot tell apart"),
    ],
)
def test_sums_of_groups(values: list[tuple[int, float]], groups: list[float], why: str) -> None:
    number, each = np.array([n for n, _ in values], np.int64), np.array([v for _, v in values], np.float64)
    assert exact_sums(number, 2, each).tolist() == pytest.approx(groups, rel=1e-15), why
