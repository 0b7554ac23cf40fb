"""What the table of submission hints holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.recommend.hints import Hint, Limits, hints
from adminkit.stats.runs import Run
from tests.recommend.histories import ADA, OFFER, history, run
from tests.support.builders import HOUR, MONDAY

DAY = 24 * HOUR
NOW = MONDAY + 5 * DAY


def only(found: list[Hint]) -> Hint:
    assert len(found) == 1
    return found[0]


def test_a_job_name_with_a_history_has_one_entry() -> None:
    hint = only(hints(history([HOUR] * 30), NOW, OFFER))
    assert (hint.cluster, hint.uid, hint.user, hint.job_name, hint.queue) == ("aaic", 1001, "ada", "train", "gq")
    assert (hint.expected, hint.limit, hint.runs) == (HOUR, 2 * HOUR, 23)
    assert hint.risk == pytest.approx(0.5 / 23.5)
    assert 20 * 22 * HOUR < hint.excess_gpu_seconds < 23 * 22 * HOUR, "23 times 22 of 24 hours, fading with time"


def test_a_name_in_two_queues_also_has_an_entry_for_every_queue() -> None:
    long = ADA._replace(queue="gq-long")
    found = hints([run(n, HOUR if n % 2 else 3 * HOUR, kind=ADA if n % 2 else long) for n in range(60)], NOW, OFFER)
    assert {hint.queue: hint.limit for hint in found} == {"gq": 2 * HOUR, "gq-long": 4 * HOUR, "": 4 * HOUR}


def test_the_largest_waste_comes_first_and_only_so_many_are_kept() -> None:
    many = [
        run(n, HOUR, kind=ADA._replace(job_name=name, gpus=gpus))
        for n in range(30)
        for name, gpus in (("small", 1), ("large", 8), ("middle", 4))
    ]
    assert [hint.job_name for hint in hints(many, NOW, OFFER)] == ["large", "middle", "small"]
    assert [hint.job_name for hint in hints(many, NOW, OFFER, limits=Limits(most=2))] == ["large", "middle"]


@pytest.mark.parametrize(
    ("runs", "now", "why"),
    [
        ([], NOW, "no runs"),
        (history([HOUR] * 4), NOW, "too little history"),
        (history([24 * HOUR] * 30, state="TIMEOUT"), NOW, "all were cut off"),
        (history([HOUR] * 30, kind=ADA._replace(req_limit=2 * HOUR)), NOW, "they ask for what they need"),
        (history([HOUR] * 30), NOW + 100 * DAY, "not seen for long"),
        (history([HOUR] * 30, uid=None), NOW, "nobody to show it to"),
        ([run(n // 200, HOUR, array_job=n // 200) for n in range(1000)], NOW, "arrays: too few batches to try it on"),
    ],
)
def test_no_entry_is_made_where_there_is_nothing_to_tell(runs: list[Run], now: int, why: str) -> None:
    assert hints(runs, now, OFFER) == [], why


def test_a_limit_that_failed_often_is_not_told() -> None:
    growing = history([round(61 * 1.9**n) for n in range(12)])
    assert hints(growing, NOW, OFFER) == []
    assert only(hints(growing, NOW, OFFER, limits=Limits(risk=1.0))).risk > 0.2


def test_no_name_and_an_empty_one_are_one_entry() -> None:
    runs = [run(n, HOUR, kind=ADA._replace(job_name=None if n % 2 else "")) for n in range(60)]
    assert only(hints(runs, NOW, OFFER)).job_name == ""


def test_a_submission_in_the_future_is_worth_no_more_than_one_now() -> None:
    now = hints(history([HOUR] * 30), MONDAY + 29 * HOUR, OFFER)
    assert hints(history([HOUR] * 30), MONDAY - 10**10, OFFER) == now


def test_runs_without_a_name_are_those_of_the_empty_name() -> None:
    nameless = [replace(one, kind=one.kind._replace(job_name=None)) for one in history([HOUR] * 30)]
    assert only(hints(nameless, NOW, OFFER)).job_name == ""


def test_a_hint_is_made_of_its_users_own_runs_alone() -> None:
    """Others may run jobs of the same name in the same queue; nothing of theirs is in it, and no entry is both's."""
    bob = [replace(one, kind=one.kind._replace(user="bob"), uid=1002) for one in history([5 * HOUR] * 30)]
    both = sorted([*history([HOUR] * 30), *bob], key=lambda one: one.submit_time)
    found = {hint.uid: hint for hint in hints(both, NOW, OFFER)}
    assert found == {1001: only(hints(history([HOUR] * 30), NOW, OFFER)), 1002: only(hints(bob, NOW, OFFER))}


def test_who_has_a_uid_now_is_told_nothing_of_who_had_it_before() -> None:
    before = history([HOUR] * 30)
    later = [
        replace(
            one,
            kind=one.kind._replace(user="eve", job_name="other"),
            submit_time=one.submit_time + DAY,
            end_time=one.end_time + DAY,
        )
        for one in before[:3]
    ]
    assert hints([*before, *later], NOW, OFFER) == []
    assert {hint.user for hint in hints([*before, *later[:0]], NOW, OFFER)} == {"ada"}
