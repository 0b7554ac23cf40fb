"""Hints: from the trace, through the table, to the line that a user reads."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.job import Job
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.incentive_build import compute, learnt, tables
from adminkit.policy.incentive_tables import Hint
from adminkit.policy.runtime import Decider
from adminkit.slurm.site import made_up
from tests.builders import HOUR
from tests.policy.incentive_cases import DAY, NOW, policy, run, trace, worth


def history(count: int = 20, first: int = 1, elapsed: int = 3000, **changes: Any) -> list[Job]:
    """Runs of 50 minutes with a limit of three days, one a day."""
    given = {"elapsed": elapsed, "time_limit": 72 * HOUR, **changes}
    return [run(first + nth, count - nth, **given) for nth in range(count)]


def hints(jobs: list[Job]) -> list[Hint]:
    rules = policy()
    with trace(jobs) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives))
        return sorted(learnt(db, rules, found, NOW))


def test_a_name_in_a_queue_and_the_user_each_have_a_row() -> None:
    found = hints(history())
    assert [(one.uid, one.job_name, one.queue) for one in found] == [(1001, "", ""), (1001, "train", "gq")]
    named = found[1]
    assert (named.expected, named.safe, named.risk_percent, named.runs) == (3000, 3300, 0, 20)
    assert named.wasted == 20 * (72 * HOUR - 3000)


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        (history(6), "too few runs to know the risk"),
        (history(uid=None), "nobody knows the uid"),
        (history(state="TIMEOUT", elapsed=72 * HOUR), "all ran into their limit"),
        (history(state="FAILED"), "none ended as it should"),
    ],
)
def test_nothing_is_learnt_where_the_risk_is_unknown(jobs: list[Job], why: str) -> None:
    assert [one for one in hints(jobs) if one.job_name] == [], why


def test_runs_before_the_window_are_not_looked_at() -> None:
    old = [run(nth, 400 + nth, elapsed=3000, time_limit=72 * HOUR) for nth in range(1, 21)]
    assert hints(old) == []


@pytest.mark.parametrize("version", ["lua51", "lua54"])
def test_a_hint_reaches_the_user_who_asks_for_too_much(version: Any) -> None:
    rules = policy()
    with trace(history()) as db:
        found = compute(db, rules, "aaic", NOW, worth(rules.incentives))
        made = {one.name: one.text.encode() for one in tables(found, learnt(db, rules, found, NOW), rules, NOW)}
    text = policy_text(policy_table(rules, made_up(["gq"]), NOW)).encode()
    decider = Decider(text, made["incentives"], made["hints"], version)
    asked = {"now": NOW, "uid": 1001, "user": "ada", "queues": ["gq"], "job_name": "train", "limit": 3 * DAY}
    asked |= {"limit_kind": "finite", "nodes": 1, "cpus": 8, "gpus": 1, "batch": True}
    said = [line for line in decider.decide(asked).messages if "like this one" in line]
    assert len(said) == 1
    assert "Your last 20 jobs" in said[0]
    assert "--time=01:00:00" in said[0]
    assert decider.decide({**asked, "limit": 2 * HOUR}).messages == ()
