"""What runs say about their users' limits, as SQL sees it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats.incentives import GPU_HOUR, Criteria, Scored, Sums, passed_over, scored, sums, uid_of
from tests.economy.incentive_cases import NOW, run, trace
from tests.support.builders import HOUR

MENU = (900, HOUR, 3 * HOUR)
ALL = Criteria("aaic", 0, NOW, MENU, unknown_counts=True, checkpoint_code=85)


def one(job: Job, criteria: Criteria = ALL) -> Scored:
    with trace([job]) as db:
        (found,) = scored(db, criteria, 1001)
    return found


def groups(jobs: list[Job], criteria: Criteria = ALL) -> list[Sums]:
    with trace(jobs) as db:
        return list(sums(db, criteria))


@pytest.mark.parametrize(
    ("elapsed", "menu", "steps", "need", "why"),
    [
        (61, MENU, 1, 900, "the first step"),
        (900, MENU, 1, 900, "a step is not left for the next one"),
        (901, MENU, 1, HOUR, "a second more is"),
        (901, MENU, 2, 3 * HOUR, "one step further"),
        (2 * HOUR, MENU, 3, 3 * HOUR, "never beyond the last step"),
        (4 * HOUR, MENU, 1, 4 * HOUR, "beyond the menu the run itself"),
        (901, (), 1, 901, "no menu"),
        (901, (3 * HOUR, HOUR, HOUR, 900), 1, HOUR, "in whatever order"),
    ],
)
def test_what_scores_full_is_a_step_of_the_menu(
    elapsed: int, menu: tuple[int, ...], steps: int, need: int, why: str
) -> None:
    asked = replace(ALL, menu=menu, menu_steps=steps)
    assert one(run(elapsed=elapsed, time_limit=9 * HOUR), asked).need == need, why


@pytest.mark.parametrize(
    ("changes", "size", "why"),
    [
        ({"gpus": 1}, 1000, "a GPU"),
        ({"gpus": None, "req_gpus": 4}, 4000, "what was requested where nothing else is known"),
        ({"gpus": 0, "cpus": 20}, 2500, "CPUs over eight"),
        ({"gpus": None, "cpus": 1}, 125, "the same where GPUs are unknown"),
        ({"gpus": 0, "cpus": None, "req_cpus": 8}, 1000, "CPUs requested"),
    ],
)
def test_sizes_are_thousandths_of_a_gpu(changes: dict[str, Any], size: int, why: str) -> None:
    assert one(run(**changes)).size == size, why


@pytest.mark.parametrize("gpus", [100_001, 2**62])
def test_a_size_that_cannot_be_meant_is_none(gpus: int) -> None:
    (group,) = groups([run(gpus=gpus)])
    assert (group.reason, group.used) == ("size", 0)


@pytest.mark.parametrize(
    ("limit", "original", "asked", "why"),
    [
        (HOUR, None, HOUR, "the final one where no other is known"),
        (HOUR, 3 * HOUR, 3 * HOUR, "lowered later"),
        (3 * HOUR, HOUR, 3 * HOUR, "raised later"),
        (None, 3 * HOUR, 3 * HOUR, "only the original is known"),
    ],
)
def test_a_limit_is_the_most_that_was_ever_asked_for(
    limit: int | None, original: int | None, asked: int, why: str
) -> None:
    assert one(run(time_limit=limit, limit_original=original)).req_limit == asked, why


def test_runs_are_summed_by_user_day_name_and_reason() -> None:
    jobs = [run(1), run(2), run(3, 1), run(4, job_name="eval"), run(5, state="TIMEOUT"), run(6, uid=1002, user="bob")]
    found = groups(jobs)
    day = NOW // 86_400
    assert [(g.uid, g.day - day, g.job_name, g.reason, g.runs) for g in found] == [
        (1001, -1, "train", "counted", 1),
        (1001, 0, "eval", "counted", 1),
        (1001, 0, "train", "counted", 2),
        (1001, 0, "train", "missed", 1),
        (1002, 0, "train", "counted", 1),
    ]
    counted, missed = found[2], found[3]
    assert (counted.used, counted.needed, counted.held) == (2 * 3000 * 1000, 2 * GPU_HOUR, 2 * GPU_HOUR)
    assert (missed.used, missed.needed, missed.held) == (3000 * 1000, 0, GPU_HOUR)


@pytest.mark.parametrize(
    ("earlier", "reason", "why"),
    [
        ({"state": "REQUEUED"}, "checkpoint", "the same job was requeued before"),
        ({"state": "COMPLETED"}, "counted", "an id that was used again after many years"),
        ({"state": "REQUEUED", "cluster": "beta"}, "counted", "another cluster's job of that number"),
        ({"state": "REQUEUED", "submit_time": NOW}, "counted", "a later run of it"),
    ],
)
def test_a_chain_of_requeued_runs_is_one_job(earlier: dict[str, Any], reason: str, why: str) -> None:
    found = groups([run(1, 1, **earlier), run(1, 0)])
    assert found[-1].reason == reason, why


def test_users_are_found_by_the_name_of_their_latest_run() -> None:
    with trace([run(1, 9, uid=7), run(2, 1, uid=8), run(3, uid=None)]) as db:
        assert uid_of(db, "ada", "aaic") == 8
        assert uid_of(db, "ada", "beta") is None
        assert uid_of(db, "' OR 1 --", "aaic") is None
        assert passed_over(db, ALL)["uid_unknown"] == 1


PAID = "ak1:lim=3600,src=e,cls={},rules=gq-max mine"


@pytest.mark.parametrize(
    ("changes", "reason", "bundles", "why"),
    [
        ({"admin_comment": PAID.format("multi-gpu"), "gpus": 2}, "counted", 0, "it was what it got points for"),
        (
            {"admin_comment": PAID.format("multi-gpu"), "gpus": 1},
            "class",
            1,
            "two GPUs by its request, one when it ran",
        ),
        ({"admin_comment": PAID.format("multi-node"), "nodes": 1}, "class", 1, "one node of the two it named"),
        ({"admin_comment": PAID.format("multi-node"), "nodes": 2}, "counted", 0, "both nodes"),
        (
            {"admin_comment": PAID.format("single-gpu"), "gpus": 1, "nodes": 1},
            "counted",
            0,
            "any class may have points",
        ),
        (
            {"admin_comment": PAID.format("multi-node"), "state": "TIMEOUT", "nodes": 1},
            "class",
            1,
            "it is no miss either",
        ),
        (
            {"admin_comment": PAID.format("multi-node"), "state": "FAILED", "nodes": 1},
            "state",
            1,
            "one that failed, too",
        ),
        ({"admin_comment": "ak1:lim=3600,src=e", "gpus": 1}, "counted", 0, "it got no points for a class"),
        ({"admin_comment": "ak1:lim=3600,cls=multi-node", "gpus": 1}, "counted", 0, "no record of ours"),
        ({"admin_comment": PAID.format("multi-gpu"), "gpus": None}, "counted", 0, "nobody knows its GPUs"),
    ],
)
def test_points_for_a_class_are_compared_with_what_the_run_was_allocated(
    changes: dict[str, Any], reason: str, bundles: int, why: str
) -> None:
    (found,) = groups([run(**{"nodes": 1, **changes})])
    assert (found.reason, found.bundles) == (reason, bundles), why
