"""One recommendation and the risk it has carried."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.recommend.advice import TRIED_BATCHES, History, levels_for, levels_of, walltime
from adminkit.recommend.predict import LEVELS
from adminkit.stats.runs import Kind, Run
from tests.recommend.histories import ADA, OFFER, history, run
from tests.support.builders import HOUR

ASKED = Kind(user="ada", job_name="train")


@pytest.mark.parametrize(
    ("given", "levels"),
    [
        (Kind._fields, LEVELS),
        (["user"], (("user",),)),
        (["user", "job_name"], (("user", "job_name"), ("user",))),
        (["user", "gpus"], (("user", "gpus"), ("user",))),
        (["user", "req_limit"], (("user", "req_limit"), ("user",))),
    ],
)
def test_what_is_not_said_is_not_looked_at(given: list[str], levels: tuple[tuple[str, ...], ...]) -> None:
    assert levels_for(given) == levels


def test_a_steady_user_gets_a_limit_from_the_menu_and_a_small_risk() -> None:
    found = walltime(history([HOUR] * 30), ASKED, OFFER)
    assert (found.given.expected, found.given.safe, found.limit) == (HOUR, 3960, 2 * HOUR)
    assert (found.tried, found.over, found.batches) == (23, 0, 23)
    assert found.risk == pytest.approx(0.5 / 23.5), "never none: the next run may be the first"


def test_the_risk_is_what_the_past_says_and_not_what_was_wished() -> None:
    """Every sixth run is ten times longer than the five before: a wish of one in ten is not kept."""
    needs = [5 * HOUR if n % 6 == 5 else 30 * 60 for n in range(60)]
    found = walltime(history(needs), ASKED, replace(OFFER, risk=0.3))
    assert found.limit == HOUR
    assert found.over == sum(need == 5 * HOUR for need in needs[-found.tried :])
    assert found.risk == pytest.approx((found.over + 0.5) / (found.tried + 0.5))


def test_a_run_that_its_own_limit_ended_counts_as_one_for_which_the_limit_was_too_short() -> None:
    needs: list[Run] = history([HOUR] * 20)
    short = run(30, 1800, "TIMEOUT", ADA._replace(req_limit=1800))
    assert walltime([*needs, short], ASKED, OFFER).over == 1


def test_a_thousand_tasks_are_one_try_of_some_weight() -> None:
    array = [run(30, 5 * HOUR, array_job=9) for _ in range(1000)]
    found = walltime([*history([HOUR] * 25), *array], ASKED, OFFER)
    assert (found.tried, found.over, found.batches) == (18 + 1000, 1000, 19)
    weight = 1000**0.5
    assert found.risk == pytest.approx((weight + 0.5) / (18 + weight + 0.5))


def test_the_risk_is_measured_on_the_last_batches_only() -> None:
    assert walltime(history([HOUR] * 200), ASKED, OFFER).batches == TRIED_BATCHES


@pytest.mark.parametrize(
    ("runs", "enough", "why"),
    [
        ([], False, "nothing has ended"),
        (history([HOUR] * 3), False, "too little"),
        (history([24 * HOUR] * 30, state="TIMEOUT"), True, "all were cut off"),
    ],
)
def test_nothing_is_recommended_without_knowledge(runs: list[Run], enough: bool, why: str) -> None:
    found = walltime(runs, ASKED, OFFER)
    assert (found.limit, found.risk, found.given.enough) == (None, None, enough), why


@pytest.mark.parametrize(
    ("most", "limit", "why"),
    [
        (None, 8 * HOUR, "the menu"),
        (7 * HOUR, 7 * HOUR, "rounding does not go beyond the queue's maximum"),
        (6 * HOUR, None, "what is needed does: no limit is safe there"),
    ],
)
def test_no_limit_above_the_queues_maximum_is_recommended(most: int | None, limit: int | None, why: str) -> None:
    assert walltime(history([6 * HOUR] * 30), ASKED, OFFER, most).limit == limit, why


@settings(max_examples=60, deadline=None)
@given(
    past=st.lists(
        st.tuples(
            st.integers(1, 4),
            st.integers(1, 40),
            st.sampled_from(["COMPLETED", "TIMEOUT"]),
            st.sampled_from(["a", "b"]),
            st.sampled_from([None, HOUR, 9 * HOUR]),
            st.sampled_from([None, 7]),
        ),
        max_size=60,
    ),
    name=st.sampled_from([None, "a", "b"]),
    limit=st.sampled_from([None, HOUR]),
    most=st.sampled_from([None, 1800, 2 * HOUR]),
)
def test_a_history_that_is_tried_once_advises_as_one_that_is_tried_for_each_kind(
    past: list[tuple[int, int, str, str, int | None, int | None]], name: str | None, limit: int | None, most: int | None
) -> None:
    at, runs = 0, []
    for gap, need, state, called, asked, array in past:
        at += gap
        kind = Kind("aaic", "ada", called, "gq", req_limit=asked)
        runs.append(
            replace(
                run(0, need * 300, state, kind, array_job=array), submit_time=at * 900, end_time=at * 900 + need * 300
            )
        )
    wanted = Kind("aaic", "ada", name, "gq", req_limit=limit)
    history = History(runs, OFFER, levels_of(wanted))
    assert history.advice(wanted, most) == walltime(runs, wanted, OFFER, most)
