"""The calendar of a switchback experiment, and which of its days count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.errors import UsageError
from adminkit.stats.switchback import BLOCK, GRACE, MOST_DAYS, WEEK, Day, calendar, check_days, held, paired

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
    found = paired(values, on, 56)
    assert len(found.on) == 14 and {abs(a - b) for a, b in zip(found.on, found.off, strict=True)} == {7.0}
    assert [(look.pairs, look.share) for look in found.looks] == [(7, 0.25), (14, 0.5)]


@pytest.mark.parametrize(
    ("values", "expected", "why"),
    [
        ([1.0] * 13, [], "no fortnight is whole"),
        ([1.0] * 27, [7], "the second is not"),
        ([None, *[1.0] * 27], [6, 13], "a day without waits takes its pair with it"),
        ([None, *[1.0] * 6, None, *[1.0] * 20], [6, 13], "two of one pair take one"),
        ([None, *[1.0] * 7, None, *[1.0] * 19], [5, 12], "of two pairs, two"),
        ([None] * 14 + [1.0] * 14, [0, 7], "a fortnight may have none"),
    ],
)
def test_a_look_is_after_a_whole_fortnight(values: list[float | None], expected: list[int], why: str) -> None:
    on = [day.on for day in calendar(range(29), 3)]
    found = paired(values, on[: len(values)], 28)
    assert [look.pairs for look in found.looks] == expected, why
    assert len(found.on) == len(found.off) == (expected[-1] if expected else 0)


DAY = 86_400
TWO = [Day(0, DAY, on=True), Day(DAY, 2 * DAY, on=False)]


@pytest.mark.parametrize(
    ("placed", "expected", "why"),
    [
        ([(0, "b"), (DAY, "a")], [True, True], "as planned"),
        ([(60, "b"), (DAY + 300, "a")], [True, True], "a switch takes minutes"),
        ([(3 * 3600, "b"), (DAY, "a")], [True, True], "within a quarter of the carry-over"),
        ([(3 * 3600 + 1, "b"), (DAY, "a")], [False, True], "later is too late"),
        ([(-DAY, "b"), (DAY - 60, "a")], [False, True], "it ended a minute early"),
        ([(-DAY, "a")], [False, True], "B never came"),
        ([(0, "b"), (50_000, ""), (50_600, "b"), (DAY, "a")], [False, True], "neither, for ten minutes"),
        ([(0, "b"), (60_000, "a"), (60_060, "b"), (DAY, "a")], [False, True], "A, for a minute"),
        ([], [False, False], "nothing was ever seen in place"),
        ([(0, "a"), (30, "b"), (60, "b"), (DAY, "b"), (DAY + 60, "a")], [True, True], "before and after the switch"),
    ],
)
def test_a_day_counts_whose_side_was_in_place(placed: list[tuple[int, str]], expected: list[bool], why: str) -> None:
    assert held(TWO, placed, 12 * 3600) == expected, why


def test_without_a_carry_over_a_switch_still_takes_a_moment() -> None:
    assert held(TWO, [(GRACE, "b"), (DAY + GRACE + 1, "a")], 0) == [True, False]
