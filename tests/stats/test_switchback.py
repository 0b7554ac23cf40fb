"""The calendar of a switchback experiment, and whether its interval says what it claims."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.errors import UsageError
from adminkit.stats import switchback
from adminkit.stats.switchback import (
    BLOCK,
    MOST_DAYS,
    WEEK,
    Change,
    calendar,
    change,
    check_days,
    paired,
    smallest_change,
)

FORTNIGHTS = st.integers(1, MOST_DAYS // BLOCK)


@given(FORTNIGHTS, st.integers(0, 2**40))
def test_each_weekday_is_on_once_in_each_fortnight(fortnights: int, seed: int) -> None:
    days = calendar(range(BLOCK * fortnights + 1), seed)
    assert [day.since for day in days] == list(range(BLOCK * fortnights))
    assert all(day.until == day.since + 1 for day in days)
    for nth, day in enumerate(days):
        other = nth + WEEK if nth % BLOCK < WEEK else nth - WEEK
        assert day.on is not days[other].on
    assert sum(day.on for day in days) * 2 == len(days)
    assert days == calendar(range(BLOCK * fortnights + 1), seed)


def test_a_seed_means_the_same_days_for_ever() -> None:
    word = "".join("x" if day.on else "." for day in calendar(range(29), 2026))
    assert word == "x...xx..xxx..x.......xxxxxxx"
    words = {tuple(day.on for day in calendar(range(15), seed)) for seed in range(2000)}
    assert len(words) == 2**WEEK, "every one of them may come"


@pytest.mark.parametrize(
    ("days", "hint"), [(0, 14), (1, 14), (13, 14), (20, 14), (22, 28), (365, 364), (10**9, 364), (-14, 14)]
)
def test_a_number_of_days_that_cannot_be_balanced_is_refused(days: int, hint: int) -> None:
    with pytest.raises(UsageError, match=f"a trial of {days} days") as caught:
        check_days(days)
    assert caught.value.hint.endswith(f"--days {hint}")


def test_days_are_compared_with_the_same_day_of_the_other_week() -> None:
    on = [day.on for day in calendar(range(29), 3)]
    values = [float(nth) for nth in range(28)]
    ons, offs = paired(values, on)
    assert len(ons) == 14 and {abs(a - b) for a, b in zip(ons, offs, strict=True)} == {7.0}
    assert len(paired(values[:20], on[:20])[0]) == 7, "the second fortnight has no pair yet"
    assert len(paired(values[:23], on[:23])[0]) == 9, "two of its days have"
    assert len(paired([None, *values[1:]], on)[0]) == 13, "a day without waits takes its pair with it"


def history(days: int, rng: np.random.Generator) -> list[float]:
    """Mean waits that depend on the day before and on the weekday, with days of thrice the median."""
    noise = np.empty(days)
    noise[0] = rng.normal()
    for day in range(1, days):
        noise[day] = 0.6 * noise[day - 1] + 0.8 * rng.normal()
    week = np.array([1, 1.2, 1.3, 1.2, 1, 0.5, 0.4])[np.arange(days) % WEEK]
    return [float(wait) for wait in 3600 * week * np.exp(0.6 * noise)]


@pytest.fixture(autouse=True, scope="module")
def _drawn_once() -> Iterator[None]:
    """The signs are the same for all trials of a length, and to draw them takes a fifth of a trial."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(switchback, "_signs", cache(switchback._signs))
        yield


def trials(many: int, days: int, ratio: float) -> Iterator[Change]:
    """Trials whose days on are `ratio` times as long; each day's own effect differs by a tenth."""
    rng = np.random.default_rng(days)
    for seed in range(many):
        on = [day.on for day in calendar(range(days + 1), seed)]
        spread = 1.0 if ratio == 1 else np.exp(0.1 * rng.normal(size=days))
        found = change(*paired(list(np.where(on, ratio * spread, 1.0) * history(days, rng)), on))
        assert found is not None
        yield found


@pytest.mark.parametrize("days", [14, 28, 56])
def test_without_an_effect_one_in_twenty_is_significant(days: int) -> None:
    share = sum(one.significant for one in trials(400, days, 1.0)) / 400
    print(f"{days} days: {share:.3f} false positives")
    assert share <= 0.05 + 1.96 * math.sqrt(0.05 * 0.95 / 400)
    assert share >= 0.015, "nor is it never"


@pytest.mark.parametrize(("days", "ratio"), [(14, 0.7), (28, 0.7), (56, 0.5), (28, 1.6)])
def test_the_interval_has_the_effect_nineteen_times_out_of_twenty(days: int, ratio: float) -> None:
    true = ratio * math.exp(0.1**2 / 2) - 1
    found = list(trials(200, days, ratio))
    share = sum(one.low <= true <= one.high for one in found) / 200
    middle = float(np.median([one.change for one in found]))
    print(f"{days} days, {ratio}: coverage {share:.3f}, median estimate {middle:+.3f} of {true:+.3f}")
    assert abs(share - 0.95) <= 0.03
    assert middle == pytest.approx(true, abs=0.06)


def test_the_smallest_change_is_shown_four_times_out_of_five() -> None:
    """By half a year of days of the same kind: of one such past it is off by a fifth at most, of many by nothing."""
    found = [smallest_change(history(182, np.random.default_rng(seed)), 28) for seed in range(12)]
    known = [one for one in found if one is not None]
    smallest = sum(known) / len(found)
    share = sum(one.significant for one in trials(200, 28, 1 - smallest)) / 200
    print(f"28 days: {min(known):.2f} to {max(known):.2f}; {smallest:.2f} is shown {share:.3f} of the time")
    assert share == pytest.approx(0.8, abs=0.06)
    assert all(one == pytest.approx(smallest, rel=0.2) for one in known)
    more = smallest_change(history(182, np.random.default_rng(0)), 112)
    assert more is not None and more < found[0]  # type: ignore[operator]
    assert found[0] == smallest_change(history(182, np.random.default_rng(0)), 28)


@pytest.mark.parametrize(
    ("past", "why"),
    [
        ([], "no past"),
        ([60.0] * 27, "less than four weeks"),
        ([60.0, None] * 100, "no fortnight without a gap"),
        ([0.0] * 100, "nobody waits"),
    ],
)
def test_the_smallest_change_may_not_be_known(past: list[float | None], why: str) -> None:
    assert smallest_change(past, 28) is None, why


def test_equal_days_show_everything() -> None:
    smallest = smallest_change([60.0] * 56, 28)
    assert smallest is not None and smallest <= 0.01
    found = change([45.0] * 14, [60.0] * 14)
    assert found is not None and found.significant
    assert (found.change, found.low, found.high) == (pytest.approx(-0.25),) * 3


@pytest.mark.parametrize(
    ("on", "off"), [([1.0] * 5, [2.0] * 5), ([1.0] * 14, [0.0] * 14), ([], []), ([0.0] * 7, [0.0] * 7)]
)
def test_an_effect_may_not_be_known(on: list[float], off: list[float]) -> None:
    assert change(on, off) is None


def test_nobody_waits_any_more() -> None:
    found = change([0.0] * 14, [60.0 + day for day in range(14)])
    assert found is not None and found.significant
    assert (found.change, found.low) == (-1.0, -1.0) and found.high < -0.9


def test_a_day_off_without_waits_may_leave_no_upper_bound() -> None:
    draw = Random(3).random
    found = change([draw() for _ in range(8)], [0.0] * 6 + [1.0, 2.0])
    assert found is not None and math.isinf(found.high) and not found.significant
