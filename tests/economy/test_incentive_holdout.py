"""Who is held out of letters and hints loses no points by it."""

from __future__ import annotations

import pytest

from adminkit.economy.build import compute, explain
from adminkit.job import Job
from tests.economy.incentive_cases import NOW, good, policy, run, trace, worth
from tests.support.builders import HOUR

#: ada asks for far too much; bob, carl and dan earn more and more.
JOBS: list[Job] = [
    *good(1, 12, time_limit=40 * HOUR),
    *good(100, 12, user="bob", uid=1002, time_limit=HOUR * 3 // 2),
    *good(200, 12, user="carl", uid=1003, time_limit=HOUR * 5 // 4),
    *good(300, 12, user="dan", uid=1004),
    run(400, 1, user="eve", uid=1005),
]


def hours(held: set[int]) -> dict[int, float]:
    rules = policy()
    with trace(JOBS) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives), held.__contains__, checkpoint_code=85)
    return {one.uid: one.hours for one in found.standings}


@pytest.mark.parametrize(
    ("held", "uid", "like", "why"),
    [
        (set(), 1001, 1001, "nobody is held out"),
        ({1001}, 1001, 1003, "the median of the others"),
        ({1004}, 1004, 1004, "more than that is kept"),
        ({1005}, 1005, 1005, "one run is too few for a bonus, held out or not"),
        ({1001}, 1002, 1002, "others have what they had"),
    ],
)
def test_a_user_of_the_hold_out_has_at_least_the_median(held: set[int], uid: int, like: int, why: str) -> None:
    usual = hours(set())
    assert 0 == usual[1001] == usual[1005] < usual[1003] < usual[1004]
    assert hours(held)[uid] == usual[like], why


def test_one_user_is_explained_as_everybody_is_computed() -> None:
    rules = policy()
    with trace(JOBS) as db:
        mine = explain(
            db, rules, "aaic", "ada", NOW, worth(rules.incentives), held_out={1001}.__contains__, checkpoint_code=85
        )
    assert mine.standing.hours == hours({1001})[1001] > 0
    assert mine.standing.lacking is None
