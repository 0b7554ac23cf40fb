"""The predictor on histories made by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.recommend.menu import MENU, Offer, round_up
from adminkit.recommend.predict import LEVELS, Predictor, Rule
from tests.recommend.histories import ADA, after, history, run
from tests.support.builders import HOUR, MONDAY

MINUTE = 60


@pytest.mark.parametrize(
    ("needs", "expected", "safe", "why"),
    [
        ([HOUR] * 20, HOUR, 3960, "stable: the need and the margin"),
        ([HOUR] * 6, HOUR, 3960, "six recent runs are just enough for one in ten"),
        ([HOUR] * 5, None, None, "five are too few"),
        ([], None, None, "none"),
        ([HOUR] * 20 + [4 * HOUR] * 20, 4 * HOUR, 15_840, "drift upwards is followed"),
        ([4 * HOUR] * 40 + [HOUR] * 60, HOUR, 3960, "drift downwards too, once the old runs are forgotten"),
        ([10 * MINUTE, 10 * HOUR] * 10, 10 * HOUR, 39_600, "two modes: safe for the longer"),
        ([10 * HOUR] + [10 * MINUTE] * 19, 10 * MINUTE, 660, "one outlier of twenty is within the risk"),
        ([10 * MINUTE] * 19 + [10 * HOUR], 10 * MINUTE, 39_600, "but not if it was just now"),
    ],
)
def test_a_history_gives_its_expected_time_and_its_safe_limit(
    needs: list[int], expected: int | None, safe: int | None, why: str
) -> None:
    found = after(history(needs))
    assert (found.expected, found.safe) == (expected, safe), why


@pytest.mark.parametrize(
    ("state", "elapsed", "safe", "why"),
    [
        ("COMPLETED", 2 * HOUR, 7920, "a plain run"),
        ("FAILED", 2 * HOUR, 7920, "it ended by itself: the limit was long enough"),
        ("OUT_OF_MEMORY", 2 * HOUR, 7920, "likewise"),
        ("TIMEOUT", 24 * HOUR, None, "its limit ended it: it needed more than that"),
        ("COMPLETED", 24 * HOUR, None, "so it did where the source knows no TIMEOUT"),
        ("CANCELLED", 2 * HOUR, None, "somebody ended it"),
        ("PREEMPTED", 2 * HOUR, None, "the scheduler did"),
        ("NODE_FAIL", 2 * HOUR, None, "a node did"),
        ("FAILED", 60, None, "a crash in the first minute says nothing"),
        (None, 2 * HOUR, None, "nobody knows"),
    ],
)
def test_how_a_run_ended_says_what_it_tells(state: str, elapsed: int, safe: int | None, why: str) -> None:
    found = after(history([elapsed] * 20, state=state))
    assert (found.safe, found.enough, found.runs) == (safe, True, 20), why
    assert found.cut == (0 if safe else 20)


def test_runs_cut_off_early_neither_shorten_nor_lengthen_what_the_others_say() -> None:
    plain = history([5 * HOUR] * 10)
    cancelled = [run(20 + n, MINUTE, "CANCELLED") for n in range(6)]
    assert after([*plain, *cancelled]).safe == after(plain).safe == 19_800


def test_runs_cut_off_late_make_the_limit_longer_or_take_it_away() -> None:
    long_and_short = history([HOUR] * 6 + [6 * HOUR] * 4)
    cut = [run(20 + n, 2 * HOUR, "CANCELLED") for n in range(3)]
    assert after(history([HOUR] * 10)).safe == 3960
    assert after([*long_and_short, *cut]).safe == 23_760
    assert after([*history([HOUR] * 10), *cut]).safe is None


def test_a_thousand_tasks_of_an_array_are_one_batch() -> None:
    array = [run(0, 5 * MINUTE, array_job=77) for _ in range(1000)]
    assert after(array).enough is False, "one decision of one person is no history"
    diverse = history([2 * HOUR] * 10)
    found = after([*diverse, *(run(30, 5 * MINUTE, array_job=77) for _ in range(1000))])
    assert found.safe == 7920, "a thousand short tasks do not outvote ten long runs"
    assert found.runs == 10 + Rule().batch_runs


def test_tasks_of_one_array_that_are_seen_hours_apart_are_one_batch() -> None:
    assert after([run(n, HOUR, array_job=77) for n in range(20)]).enough is False


def test_jobs_submitted_by_a_loop_are_one_batch() -> None:
    assert after([run(0, HOUR, submit_time=MONDAY + n) for n in range(10)]).enough is False
    assert after([run(0, HOUR, submit_time=MONDAY + 60 * n) for n in range(10)]).enough is True


@pytest.mark.parametrize(
    ("changes", "level", "why"),
    [
        ({}, 0, "the very same"),
        ({"queue": "gq-long"}, 1, "another queue: the name and the limit are the same"),
        ({"gpus": 8}, 1, "another size"),
        ({"job_name": "other"}, 2, "another name: what asks for as much"),
        ({"req_limit": HOUR}, 3, "another limit: all of the user's"),
    ],
)
def test_a_job_without_a_history_of_its_own_takes_the_next_level(
    changes: dict[str, object], level: int, why: str
) -> None:
    found = after(history([HOUR] * 10), ADA._replace(**changes))
    assert (found.level, found.safe) == (LEVELS[level], 3960), why


@pytest.mark.parametrize("changes", [{"user": "bob"}, {"cluster": "other"}])
def test_nothing_is_learnt_from_other_people_or_clusters(changes: dict[str, str]) -> None:
    assert after(history([HOUR] * 10), ADA._replace(**changes)).runs == 0


def test_a_group_whose_runs_were_all_cut_off_does_not_give_way_to_a_wider_one() -> None:
    others = [run(100 + n, HOUR, kind=ADA._replace(job_name="other")) for n in range(20)]
    assert after([*history([24 * HOUR] * 10, state="TIMEOUT"), *others]).safe is None


def test_a_smaller_risk_takes_a_longer_limit_and_more_runs() -> None:
    spread = history([n * HOUR for n in range(1, 21)])
    safe = [after(spread, rule=Rule(risk=risk)).safe or 10**9 for risk in (0.06, 0.1, 0.2, 0.5)]
    assert safe == sorted(safe, reverse=True)
    assert len(set(safe)) > 2
    assert after(history([HOUR] * 6), rule=Rule(risk=0.05)).enough is False


needs = st.lists(st.integers(61, 80_000), min_size=12, max_size=40)


@given(needs, st.integers(2, 5))
def test_a_history_that_is_longer_by_a_factor_has_limits_longer_by_it(found: list[int], factor: int) -> None:
    kind = ADA._replace(req_limit=None)
    once, more = (
        after([run(1000 * n, need * by, kind=kind) for n, need in enumerate(found)], kind) for by in (1, factor)
    )
    assert once.safe is not None and more.safe is not None and once.expected is not None
    assert more.expected == once.expected * factor
    assert abs(more.safe - once.safe * factor) <= factor


@given(needs)
def test_the_safe_limit_is_at_least_the_expected_time_and_at_most_the_longest_run_with_its_margin(
    found: list[int],
) -> None:
    given_ = after(history(found, kind=ADA._replace(req_limit=None)), ADA._replace(req_limit=None))
    assert given_.expected is not None and given_.safe is not None
    assert given_.expected <= given_.safe <= max(found) * 1.1 + 1


@pytest.mark.parametrize("risk", [0.05, 0.1, 0.2, 0.5])
def test_as_many_runs_as_the_rule_says_are_enough(risk: float) -> None:
    rule = Rule(risk=risk)
    assert after(history([HOUR] * rule.least_runs), rule=rule).enough is True
    assert after(history([HOUR] * (rule.least_runs - 1)), rule=rule).enough is False


def test_memory_is_bounded_by_groups_batches_and_runs() -> None:
    rule = Rule(groups=40)
    predictor = Predictor(rule)
    for number in range(60):
        for name in ("train", f"job{number}"):
            for _ in range(rule.batch_runs + 4):
                predictor.ended(run(number, HOUR, kind=ADA._replace(job_name=name)))
    groups = predictor._groups
    assert len(groups) == rule.groups
    assert max(len(group.batches) for group in groups.values()) == rule.batches
    assert max(len(b.values) for group in groups.values() for b in group.batches) == rule.batch_runs
    assert predictor.predict(ADA).safe == 3960, "what is used stays"
    assert predictor.predict(ADA._replace(job_name="job3")).level == LEVELS[2], "what is not used goes"


@pytest.mark.parametrize(
    ("seconds", "limit"),
    [(1, 900), (900, 900), (901, 1800), (7201, 10_800), (1_209_600, 1_209_600), (1_209_601, 1_296_000)],
)
def test_limits_are_rounded_up_to_the_menu_and_to_whole_days_above_it(seconds: int, limit: int) -> None:
    assert round_up(seconds, MENU) == limit


def test_the_defaults_are_one_fact() -> None:
    assert (Offer().risk, Offer().menu) == (Rule().risk, MENU)
