"""What a plan promises: days that are enough, and no promise where the past does not say."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from adminkit.stats.switchback import BLOCK, MOST_DAYS, POWER
from adminkit.stats.trial_plan import days_needed, known, power_at, smallest_cut


def history(days: int = 182, spread: float = 0.5, seed: int = 0) -> list[float | None]:
    draw = np.random.default_rng(seed)
    return [float(wait) for wait in 3600 * np.exp(spread * draw.normal(size=days))]


@cache
def planned() -> int:
    """The days that most tests start from; each plan tries hundreds of trials."""
    days = days_needed(history(), -0.4)
    assert days is not None
    return days


def test_the_days_are_the_fewest_that_are_enough() -> None:
    days = planned()
    assert 2 * BLOCK < days < MOST_DAYS and days % BLOCK == 0
    assert (power_at(history(), -0.4, days) or 0) >= POWER > (power_at(history(), -0.4, days - BLOCK) or 1)
    assert days == days_needed(history(), -0.4), "the same past gives the same plan"


def test_a_small_effect_a_rough_past_and_more_power_need_more_days() -> None:
    days = planned()
    assert (days_needed(history(), -0.3) or 0) > days
    assert (days_needed(history(spread=0.7), -0.4) or 0) > days
    assert (days_needed(history(), -0.4, 0.95) or 0) > days
    assert days_needed(history(), -0.01) is None, "more than the longest trial"


def test_longer_waits_are_found_too() -> None:
    assert (power_at(history(), 1.0, 28) or 0) > 0.8
    assert (power_at(history(), 0.0, 28) or 0) == 0.0, "no effect has no direction"


def test_days_that_are_all_equal_need_one_fortnight() -> None:
    assert days_needed([60.0] * 56, -0.01) == BLOCK
    assert power_at([60.0] * 56, -0.01, BLOCK) == 1.0


@pytest.mark.parametrize(("before", "after"), [(92, 0), (0, 7), (92, 7), (300, 300)])
def test_days_before_and_after_the_trace_are_no_part_of_the_past(before: int, after: int) -> None:
    """A site that has three months of records would else plan with trials in which nobody waits."""
    known_days = history(90)
    padded = [*[None] * before, *known_days, *[None] * after]
    assert power_at(padded, -0.4, 28) == power_at(known_days, -0.4, 28)
    assert (power_at(padded, -0.99, 28) or 0) == 1.0
    assert days_needed(padded, -0.4) == days_needed(known_days, -0.4)


def test_days_without_waits_drop_their_pairs() -> None:
    gaps = [None if day % 5 == 0 else wait for day, wait in enumerate(history())]
    assert 0 < (power_at(gaps, -0.4, 56) or 0) < (power_at(history(), -0.4, 56) or 0)


@pytest.mark.parametrize(
    ("past", "why"),
    [
        ([], "no past"),
        ([60.0] * 27, "less than four weeks"),
        ([60.0, *[None] * 200, *[60.0] * 26], "less than four weeks with waits"),
        ([0.0] * 100, "nobody waits"),
    ],
)
def test_a_plan_may_not_be_known(past: list[float | None], why: str) -> None:
    assert days_needed(past, -0.2) is None, why
    assert power_at(past, -0.2, 28) is None, why
    assert not known(past)


def test_the_smallest_cut_is_the_effect_that_the_days_are_enough_for() -> None:
    cut = smallest_cut(history(), 56)
    assert cut is not None
    assert (power_at(history(), -cut, 56) or 0) >= POWER > (power_at(history(), -cut + 0.02, 56) or 1)
    assert (smallest_cut(history(), 112) or 1) < cut
    assert smallest_cut(history(spread=3.0), BLOCK) is None, "too rough for a fortnight"
    assert smallest_cut([60.0] * 20, 28) is None, "too little is known"


def test_the_whole_effect_is_given_to_the_days_of_b() -> None:
    """Weeks are 1 and 1.5 in turn: B is below A in all pairs, whichever days it has, once it is a third shorter."""
    weeks = [60.0 if day // 7 % 2 else 90.0 for day in range(140)]
    assert power_at(weeks, -0.35, BLOCK) == 1.0
    assert (power_at(weeks, -0.3, BLOCK) or 0) < 0.1
