"""What is recommended after a history: hand-made cases."""

from __future__ import annotations

import pytest

from adminkit.recommend.groups import Features, keys, size_of
from adminkit.recommend.predict import MENU, Predictor, Run, round_up
from tests.recommend.histories import ADA, HOUR, after


@pytest.mark.parametrize("runs", [[], [HOUR], [HOUR, HOUR]])
def test_too_little_history_recommends_nothing(runs: list[int]) -> None:
    assert after(runs) is None


@pytest.mark.parametrize(
    ("runs", "expected", "limit", "why"),
    [
        ([HOUR] * 20, HOUR, 90 * 60, "stable: the menu's step above an hour and its margin"),
        ([HOUR] * 20 + [4 * HOUR] * 20, 4 * HOUR, 5 * HOUR, "drifting up: the newer runs count"),
        ([4 * HOUR] * 20 + [HOUR] * 60, HOUR, 90 * 60, "drifting down: the old runs are forgotten"),
        ([60, 4 * HOUR] * 20, (60 + 4 * HOUR) / 2, 5 * HOUR, "bimodal: half of the runs are no price for accuracy"),
        ([23 * HOUR] * 5, 23 * HOUR, 24 * HOUR, "never more than is asked for anyway"),
        ([HOUR] * 1000, HOUR, 90 * 60, "an array of a thousand tasks is one habit"),
        ([5] * 10, 5, 300, "no limit is shorter than the menu's first"),
    ],
)
def test_a_history_gives_two_numbers(runs: list[int], expected: float, limit: int, why: str) -> None:
    found = after(runs)
    assert found is not None
    assert (found.expected, found.limit) == (expected, limit), why


def test_runs_that_all_hit_their_limit_say_nothing_of_what_they_need() -> None:
    found = after([Run(HOUR, censored=True)] * 20)
    assert found is not None
    assert (found.safe, found.limit, found.reason) == (None, None, "too many of these runs ran into their limit")
    assert found.expected == HOUR


def test_one_run_at_its_limit_among_many_does_not_stop_a_recommendation() -> None:
    found = after([HOUR] * 10 + [Run(HOUR, censored=True)] + [HOUR] * 10)
    assert found is not None
    assert found.limit == 90 * 60
    assert (found.over, found.tried) == (1, 18)


def test_the_risk_is_what_became_of_earlier_recommendations() -> None:
    found = after([HOUR] * 10 + [8 * HOUR] + [HOUR] * 3)
    assert found is not None
    assert (found.over, found.tried, found.risk) == (1, 11, 1 / 11)


@pytest.mark.parametrize(
    ("changes", "group", "why"),
    [
        ({}, "name, queue, size and limit", "the same in everything"),
        ({"job_name": "other"}, "size and limit", "another name"),
        ({"request": 2 * HOUR}, "name, queue and size", "another limit"),
        ({"size": (2, 16, None), "request": None}, "name and queue", "another size"),
        ({"job_name": "train", "queue": "other", "request": None}, "name", "another queue"),
        ({"job_name": "other", "size": (2, 16, None)}, "limit", "the limit alone"),
        ({"job_name": None, "queue": None, "size": None, "request": None}, "user", "nothing but the user"),
    ],
)
def test_the_narrowest_group_with_enough_runs_answers(changes: dict[str, object], group: str, why: str) -> None:
    predictor = Predictor()
    for _ in range(10):
        predictor.ended(ADA, Run(HOUR))
    found = predictor.predict(ADA._replace(**changes), 0)  # type: ignore[arg-type]
    assert found is not None
    assert found.group == group, why


def test_users_learn_nothing_from_each_other() -> None:
    predictor = Predictor()
    for _ in range(10):
        predictor.ended(ADA, Run(HOUR))
    assert predictor.predict(ADA._replace(user="bob"), 0) is None


def test_numbers_in_a_name_do_not_make_it_another_job() -> None:
    one, two = Features("ada", "train_1"), Features("ada", "train_2")
    assert keys(one)[4] == keys(two)[4]
    assert keys(Features("ada", "train"))[4] != keys(Features("ada", "test"))[4]


@pytest.mark.parametrize(
    ("size", "expected", "why"),
    [
        ((1, 2, 16), (1, 2, None), "CPUs do not count beside GPUs"),
        ((None, 2, None), (1, 2, None), "one node where nothing else is said"),
        ((2, 0, 64), (2, 0, 64), "a job without GPUs has its CPUs"),
        ((None, None, None), None, "nothing is known"),
    ],
)
def test_size_is_one_word(
    size: tuple[int | None, int | None, int | None], expected: tuple[int, int, int | None] | None, why: str
) -> None:
    assert size_of(*size) == expected, why


@pytest.mark.parametrize(
    ("seconds", "limit"), [(1, 300), (300, 300), (301, 600), (MENU[-1], MENU[-1]), (MENU[-1] + 1, MENU[-1] + 60)]
)
def test_limits_are_the_menus_and_whole_minutes_above_it(seconds: float, limit: int) -> None:
    assert round_up(seconds, MENU) == limit
