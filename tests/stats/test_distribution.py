"""Distributions: the same as numpy has of each job by itself, however rows were put together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.stats.distribution import distribution, distributions, merged

LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
_ROWS = st.lists(st.tuples(st.integers(-5, 60), st.integers(1, 9)), min_size=1, max_size=60)


@given(_ROWS)
def test_quantiles_mean_and_deviation_are_those_of_each_job_by_itself(rows: list[tuple[int, int]]) -> None:
    values, many = np.array([v for v, _ in rows]) / 7, np.array([n for _, n in rows])
    each = np.repeat(values, many)
    found = distribution(values, many)
    assert found.jobs == len(each)
    assert found.quantiles(LEVELS) == [float(one) for one in np.quantile(each, LEVELS)]
    assert found.mean() == pytest.approx(each.mean(), rel=1e-12, abs=1e-12)
    wanted = each.std(ddof=1) if len(each) > 1 else None
    assert found.deviation() == (None if wanted is None else pytest.approx(wanted, rel=1e-9, abs=1e-9))
    assert found.share_within(1.0) == (each <= 1.0).mean()


@given(_ROWS, st.randoms())
def test_neither_order_nor_rows_put_together_change_a_digit(rows: list[tuple[int, int]], random: object) -> None:
    values, many = np.array([v for v, _ in rows]) / 7, np.array([n for _, n in rows])
    one, each = distribution(values, many), np.repeat(values, many)
    random.shuffle(each)  # type: ignore[attr-defined]
    other = distribution(each)
    assert (one.mean(), one.deviation(), one.quantiles(LEVELS)) == (
        other.mean(), other.deviation(), other.quantiles(LEVELS),
    )  # fmt: skip


def test_each_group_has_its_own_and_together_they_are_everybodys() -> None:
    number, values, many = np.array([1, 0, 1]), np.array([3.0, 1.0, 2.0]), np.array([1, 2, 4])
    parts = list(distributions(number, 3, values, many))
    assert [(p.values.tolist(), p.many.tolist()) for p in parts] == [([1.0], [2]), ([2.0, 3.0], [4, 1]), ([], [])]
    assert merged(parts).quantiles((0.5,)) == [2.0]
    assert merged([]).jobs == 0


def test_no_job_has_no_mean() -> None:
    with pytest.raises(ValueError, match="no job"):
        distribution(np.zeros(0)).mean()
