"""The interval of a ratio of means holds the truth about as often as it says, however the values hang together."""

from __future__ import annotations

import numpy as np
import pytest

from adminkit.stats.bootstrap import block_length, ratio_interval


def series(rng: np.random.Generator, count: int, memory: float) -> np.ndarray:
    """An autoregressive series of mean 0: each value keeps `memory` of the one before."""
    values = np.empty(count)
    now = rng.standard_normal() / np.sqrt(1 - memory**2)
    for place, noise in enumerate(rng.standard_normal(count)):
        now = memory * now + noise
        values[place] = now
    return values


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_interval_holds_the_true_ratio(memory: float) -> None:
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(150):
        under = 50 + series(rng, 2000, memory)
        low, high = ratio_interval(1.1 * under + series(rng, 2000, memory), under, draws=300)
        held += low <= 1.1 <= high
    assert held >= 0.88 * 150, "of a level of 0.95, with a margin of three standard deviations and the blocks' bias"


def test_blocks_are_longer_where_values_hang_together() -> None:
    rng = np.random.default_rng(3)
    lengths = [block_length(series(rng, 4000, memory)) for memory in (0.0, 0.5, 0.95)]
    assert lengths == sorted(lengths)
    assert lengths[0] <= 5
    assert lengths[-1] >= 40


@pytest.mark.parametrize("count", [1, 2, 3, 5, 40])
def test_few_values_and_equal_ones_have_an_interval_too(count: int) -> None:
    same = np.full(count, 7.0)
    assert ratio_interval(same, same) == (1, 1)


def test_the_same_values_have_the_same_interval() -> None:
    values = series(np.random.default_rng(5), 500, 0.8) + 10
    assert ratio_interval(values, values + 1) == ratio_interval(values, values + 1)
