"""Hints: from the trace, through the table, to the line that a user reads."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.economy.build import compute, learnt, tables
from adminkit.economy.tables import Hint
from adminkit.job import Job
from adminkit.lua.runtime import Decider
from adminkit.policy.compile import policy_table, policy_text
from adminkit.slurm.site import made_up
from tests.economy.incentive_cases import DAY, NOW, policy, run, trace, worth
from tests.support.builders import HOUR


def history(count: int = 20, first: int = 1, elapsed: int = 3000, **changes: Any) -> list[Job]:
    """Runs of 50 minutes with a limit of three days, one a day."""
    given = {"elapsed": elapsed, "time_limit": 72 * HOUR, **changes}
    return [run(first + nth, count - nth, **given) for nth in range(count)]


def hints(jobs: list[Job], **settings: Any) -> list[Hint]:
    rules = policy()
    rules = rules.model_copy(update={"hints": rules.hints.model_copy(update=settings)})
    with trace(jobs) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives), checkpoint_code=85)
        return sorted(learnt(db, rules, found, NOW, checkpoint_code=85).hints)


def test_a_name_in_a_queue_has_a_row() -> None:
    (named,) = hints(history())
    assert (named.uid, named.job_name, named.queue, named.expected) == (1001, "train", "gq", 3000)
    assert (named.safe, named.runs) == (3600, 14), "one of the policy's menu; it was told from the seventh run on"
    assert named.risk_percent == 4, "it never failed, which says less the fewer the runs"
    assert named.excess_gpu_seconds > 10 * (72 * HOUR - 3600)


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        (history(5), "too few runs to know the risk"),
        (history(uid=None), "nobody knows the uid"),
        (history(state="TIMEOUT", elapsed=72 * HOUR), "all ran into their limit"),
        (history(cluster="other"), "another cluster's"),
    ],
)
def test_nothing_is_told_where_nothing_is_known(jobs: list[Job], why: str) -> None:
    assert hints(jobs) == [], why


@pytest.mark.parametrize("settings", [{"users_off": ("ada",)}, {"enabled": False}])
def test_who_wants_none_gets_none(settings: dict[str, Any]) -> None:
    assert {job.user for job in history()} == {"ada"}
    assert hints(history(), users_off=("grace",)) and not hints(history(), **settings)


def test_who_is_held_out_gets_none() -> None:
    rules = policy()
    with trace(history()) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives), checkpoint_code=85)
        assert learnt(db, rules, found, NOW, {1001}.__contains__, checkpoint_code=85).hints == []
        assert learnt(db, rules, found, NOW, {1002}.__contains__, checkpoint_code=85).hints


def test_needs_come_of_the_same_pass_and_know_no_hold_out() -> None:
    rules = policy()
    for hints_too in (True, False):
        wanted = {
            "soft_limits": rules.soft_limits.model_copy(update={"enabled": True}),
            "hints": rules.hints.model_copy(update={"enabled": hints_too}),
        }
        on = rules.model_copy(update=wanted)
        with trace([*history(), *history(first=100, elapsed=60, queue="gq-short")]) as db:
            found = compute(db, on, "aaic", NOW, worth(on.incentives), checkpoint_code=85)
            advised = learnt(db, on, found, NOW, {1001}.__contains__, checkpoint_code=85)
            made = {one.name: one for one in tables(found, advised, on, NOW)}
            off = tables(found, advised, on, NOW, unplanned={1001})[-1]
        assert advised.hints == [] and made["hints"].rows == 0
        rows = made["soft_limits"].data["users"][1001]["train"]
        assert (
            rows["gq"].startswith("3000-")
            and rows["gq-short"].startswith("60-")
            and set(rows) == {"gq", "gq-short", ""}
        )
        assert off.name == "soft_limits" and off.rows == 0, "who opted out"


@pytest.mark.parametrize("version", ["lua51", "lua54"])
def test_a_hint_reaches_the_user_who_asks_for_too_much(version: Any) -> None:
    rules = policy()
    with trace(history()) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives), checkpoint_code=85)
        made = {
            one.name: one.text.encode()
            for one in tables(found, learnt(db, rules, found, NOW, checkpoint_code=85), rules, NOW)
        }
    text = policy_text(policy_table(rules, made_up(["gq"]), NOW)).encode()
    decider = Decider(text, made["incentives"], made["hints"], version)
    asked = {"now": NOW, "uid": 1001, "user": "ada", "queues": ["gq"], "job_name": "train", "limit": 3 * DAY}
    asked |= {"limit_kind": "finite", "nodes": 1, "cpus": 8, "gpus": 1, "batch": True}
    said = [line for line in decider.decide(asked).messages if "like this one" in line]
    assert len(said) == 1
    assert "Your last 14 jobs" in said[0]
    assert "--time=01:00:00" in said[0]
    assert decider.decide({**asked, "limit": 2 * HOUR}).messages == ()
