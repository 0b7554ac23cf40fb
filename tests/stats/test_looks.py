"""Looks at a trial that is under way: together they are wrong as often as one look may be, counted flip by flip."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from adminkit.stats.looks import DRAWS, LEVEL, Effect, Look, Paths, effect, limits, signs, spent, sums
from adminkit.stats.switchback import calendar, paired

#: Two fortnights of which a few pairs were dropped: all flips can be followed.
FEW = (Look(5, 0.5), Look(10, 1.0))
THREE = (Look(3, 1 / 3), Look(6, 2 / 3), Look(9, 1.0))


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
        outside = [paths(on, off, looks[: nth + 1]).rejects(1.0) for nth in range(len(looks))]
        rejected += any(outside)
        earlier += any(outside[:-1])
    ways = 2 ** looks[-1].pairs
    assert rejected <= LEVEL * ways
    assert rejected >= 0.6 * LEVEL * ways, "nor is the level left unused"
    assert earlier <= spent(looks[-2].share) * ways


def paths(on: list[float], off: list[float], looks: tuple[Look, ...]) -> Paths:
    flips = signs(looks[-1].pairs)
    shares = tuple(look.share for look in looks)
    return Paths(sums(flips, np.array(on), looks), sums(flips, np.array(off), looks), shares)


def test_a_flip_that_was_outside_is_not_counted_again() -> None:
    """Of 1000 paths a twentieth may be outside in all; those of the first look use up their part."""
    walk = np.abs(np.random.default_rng(5).normal(size=(1000, 3)).cumsum(axis=1))
    first, second, third = limits(walk, [0.5, 0.75, 1.0])
    outside = walk > np.array([first, second, third])
    by = [int(outside[:, :nth].any(axis=1).sum()) for nth in (1, 2, 3)]
    assert by == [math.floor(1000 * spent(share)) for share in (0.5, 0.75, 1.0)] == [5, 23, 50]
    assert limits(walk[:, :2], [0.5, 0.75]) == [first, second], "what comes later changes no earlier look"


def test_equal_sums_are_all_outside_or_none() -> None:
    """Four of ten are equal; one may be outside, so none of the four is."""
    column = np.array([4.0, 4, 4, 4, 3, 2, 1, 1, 1, 1])[:, None]
    assert limits(column, [1.0], 0.1) == [pytest.approx(4.0)]
    assert (column > limits(column, [1.0], 0.4)[0]).sum() == 4
    assert limits(np.zeros((8, 1)), [1.0]) == [0.0], "where nothing differs, nothing is outside"


def trial(days: int, ratio: float, seed: int, rng: np.random.Generator) -> list[Effect | None]:
    """What each look at a trial shows whose days of B are `ratio` times as long; each day's own effect differs by 10 %.

    Waits depend on the day before and on the weekday, and have days of thrice the median.
    """
    noise = np.empty(days)
    noise[0] = rng.normal()
    for day in range(1, days):
        noise[day] = 0.6 * noise[day - 1] + 0.8 * rng.normal()
    waits = 3600 * np.array([1, 1.2, 1.3, 1.2, 1, 0.5, 0.4])[np.arange(days) % 7] * np.exp(0.6 * noise)
    on = [day.on for day in calendar(range(days + 1), seed)]
    own = 1.0 if ratio == 1 else np.exp(0.1 * rng.normal(size=days))
    pairs = paired(list(np.where(on, ratio * own, 1.0) * waits), on, days)
    return [effect(pairs.on, pairs.off, pairs.looks[: nth + 1], 1024) for nth in range(len(pairs.looks))]


def trials(many: int, days: int, ratio: float) -> Iterator[list[Effect | None]]:
    rng = np.random.default_rng(days)
    return (trial(days, ratio, seed, rng) for seed in range(many))


@pytest.mark.parametrize("days", [14, 28, 56])
def test_without_an_effect_one_in_twenty_is_significant_at_any_look(days: int) -> None:
    many = 300
    share = sum(any(one is not None and one.significant for one in each) for each in trials(many, days, 1.0)) / many
    print(f"{days} days: {share:.3f} false positives")
    assert 0.012 <= share <= 0.05 + 1.96 * math.sqrt(0.05 * 0.95 / many)


@pytest.mark.parametrize(("days", "ratio"), [(14, 0.7), (28, 0.7), (28, 1.6)])
def test_the_interval_has_the_effect_nineteen_times_out_of_twenty(days: int, ratio: float) -> None:
    true = ratio * math.exp(0.1**2 / 2) - 1
    last = [each[-1] for each in trials(200, days, ratio)]
    share = sum(one is not None and one.low <= true <= one.high for one in last) / 200
    middle = float(np.median([one.change for one in last if one is not None]))
    print(f"{days} days, {ratio}: coverage {share:.3f}, median estimate {middle:+.3f} of {true:+.3f}")
    assert abs(share - 0.95) <= 0.03
    assert middle == pytest.approx(true, abs=0.06)


@pytest.mark.parametrize(
    ("on", "off", "looks", "why"),
    [
        ([1.0] * 5, [2.0] * 5, [Look(5, 1.0)], "2 of 32 flips are more than one in twenty"),
        ([1.0] * 7, [2.0] * 7, [Look(7, 0.5)], "2 of 128 are more than the half of a trial may spend"),
        ([1.0] * 20, [2.0] * 20, [Look(20, 0.1)], "nothing may be rejected after a tenth"),
        ([1.0] * 14, [0.0] * 14, [Look(14, 1.0)], "nobody waited on A's days"),
        ([], [], [Look(0, 1.0)], "no pair"),
        ([], [], [], "no look"),
    ],
)
def test_an_effect_may_not_be_known(on: list[float], off: list[float], looks: list[Look], why: str) -> None:
    assert effect(on, off, looks) is None, why


def test_equal_days_show_everything() -> None:
    found = effect([45.0] * 14, [60.0] * 14, [Look(7, 0.5), Look(14, 1.0)])
    assert found is not None and found.significant
    assert [found.change, found.low, found.high] == pytest.approx([-0.25] * 3)
    assert found.p <= 4 / DRAWS


def test_pairs_after_the_look_do_not_count() -> None:
    looks = [Look(6, 1.0)]
    assert effect([1.0] * 6 + [9.0] * 8, [2.0] * 14, looks) == effect([1.0] * 6, [2.0] * 6, looks) is not None


def test_the_interval_has_what_is_not_rejected() -> None:
    on, off = pairs_of(3, 10)
    found, tested = effect(on, off, FEW), paths(on, off, FEW)
    assert found is not None and -1 < found.low < found.change < found.high < math.inf
    for bound, way in ((found.low, -1), (found.high, 1)):
        assert not tested.rejects((1 + bound) * 0.999**way)
        assert tested.rejects((1 + bound) * 1.001**way)
    assert not tested.rejects(1.0, found.p * 0.98) and tested.rejects(1.0, found.p * 1.02)


def test_nobody_waits_any_more() -> None:
    found = effect([0.0] * 14, [60.0 + day for day in range(14)], [Look(14, 1.0)])
    assert found is not None and found.significant
    assert (found.change, found.low) == (-1.0, -1.0) and found.high < -0.9


def test_a_day_of_a_without_waits_may_leave_no_upper_bound() -> None:
    draw = Random(3).random
    found = effect([draw() for _ in range(8)], [0.0] * 6 + [1.0, 2.0], [Look(8, 1.0)])
    assert found is not None and math.isinf(found.high) and not found.significant
