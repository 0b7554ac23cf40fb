"""Looks at a trial that is under way: together they are wrong as often as one look may be, counted flip by flip."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from adminkit.stats import switchback
from adminkit.stats.looks import LEVEL, Look, Paths, effect, limits, signs, spent, sums
from adminkit.stats.student import holm

#: Two fortnights of which a few pairs were dropped: all flips can be followed.
FEW = (Look(5, 0.5), Look(10, 1.0))
THREE = (Look(4, 1 / 3), Look(8, 2 / 3), Look(12, 1.0))


@pytest.mark.parametrize(
    ("share", "expected", "why"),
    [
        (1.0, 0.05, "all of the level by the last look"),
        (0.75, 0.02362, "Lan and DeMets' function of O'Brien and Fleming's type: 2 - 2 Phi(1.96 / sqrt(t))"),
        (0.5, 0.00557, "the figure that textbooks print for the middle"),
        (0.25, 0.00009, "and almost nothing early"),
    ],
)
def test_the_level_is_spent_late(share: float, expected: float, why: str) -> None:
    assert spent(share) == pytest.approx(expected, abs=6e-6), why
    assert spent(share, 0.01) < spent(share)


def pairs_of(seed: int, many: int) -> tuple[list[float], list[float]]:
    """Days of two weeks with heavy tails, which depend on each other."""
    walk = np.random.default_rng(seed).normal(size=(many, 2)).cumsum(axis=0)
    days = np.exp(walk)
    return list(days[:, 0]), list(days[:, 1])


@pytest.mark.parametrize("looks", [FEW, THREE])
@pytest.mark.parametrize("seed", range(4))
def test_of_all_ways_in_which_the_coins_could_fall_one_in_twenty_rejects_at_any_look(
    looks: tuple[Look, ...], seed: int
) -> None:
    """The whole calendar is enumerated: every way of which day of a pair was B's."""
    first, second = pairs_of(seed, looks[-1].pairs)
    rejected = earlier = 0
    for coins in itertools.product((False, True), repeat=looks[-1].pairs):
        on = [a if coin else b for a, b, coin in zip(first, second, coins, strict=True)]
        off = [b if coin else a for a, b, coin in zip(first, second, coins, strict=True)]
        outside = [found is not None and found.p <= LEVEL for found in map(partial(on, off, looks), range(len(looks)))]
        rejected += any(outside)
        earlier += any(outside[:-1])
    ways = 2 ** looks[-1].pairs
    assert rejected <= LEVEL * ways
    assert rejected >= 0.6 * LEVEL * ways, "nor is the level left unused"
    assert earlier <= spent(looks[-2].share) * ways


def partial(on: list[float], off: list[float], looks: tuple[Look, ...]):  # type: ignore[no-untyped-def]
    """The effect at the n-th look."""
    return lambda nth: effect(on, off, looks[: nth + 1])
