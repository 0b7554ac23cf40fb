"""The tables that are written, in the hands of decide.lua: what a job of each user gets."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.economy.tables import Hint, hints_table, incentives_table, lua
from adminkit.lua.runtime import Decider, LuaVersion
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.incentive_settings import Hints
from adminkit.slurm.site import made_up
from tests.economy.incentive_cases import NOW, everybody, good, policy, run, step
from tests.support.builders import HOUR

BUNDLE = run(90, gpus=8, cpus=64, uid=1002, user="bob", job_name="sweep")
FOUND = everybody(
    [*good(), *good(50, 12, uid=1002, user="bob"), BUNDLE], [step(BUNDLE, str(nth), 0, 2900) for nth in range(8)]
)
HINTS = [
    Hint(1001, "train", "gq", 1800, HOUR, 5, 20, 1.0),
    Hint(1002, "", "", 1800, HOUR, 5, 20, 1.0),
]


def decider(version: LuaVersion) -> Decider:
    rules = policy_text(policy_table(policy(), made_up(["gq"]), NOW)).encode()
    points = lua(incentives_table(FOUND.standings, FOUND.worth.points, NOW)).encode()
    hints = lua(hints_table(HINTS, Hints(accounts_off=("Tests",)), (), NOW)).encode()
    return Decider(rules, points, hints, version)


def request(**changes: Any) -> dict[str, Any]:
    given = {"now": NOW, "uid": 1001, "user": "ada", "account": "vision", "queues": ["gq"], "job_name": "train"}
    given |= {"limit": 72 * HOUR, "limit_kind": "finite", "nodes": 1, "cpus": 8, "gpus": 1, "batch": True}
    return {**given, **changes}


@pytest.mark.parametrize("version", ["lua51", "lua54"])
@pytest.mark.parametrize(
    ("changes", "points", "why"),
    [
        ({}, 360, "the user's own"),
        ({"gpus": 8}, 480, "and the class's"),
        ({"nodes": 4, "gpus": 32}, 600, "the other class's"),
        ({"uid": 1002, "gpus": 8}, 360, "bundles cost the class points, not the user's"),
        ({"uid": 1003, "gpus": 8}, 120, "somebody new has the class points"),
        ({"uid": 1003}, None, "and nothing for a single GPU"),
    ],
)
def test_a_job_gets_its_users_points_and_its_classs(
    version: LuaVersion, changes: dict[str, Any], points: int | None, why: str
) -> None:
    assert decider(version).decide(request(**changes)).points == points, why


@pytest.mark.parametrize("version", ["lua51", "lua54"])
@pytest.mark.parametrize(
    ("changes", "hinted", "why"),
    [
        ({}, True, "72 hours where one would do"),
        ({"limit": 3 * HOUR}, True, "three times as much and two hours more"),
        ({"limit": 2 * HOUR}, False, "less than three times as much"),
        ({"account": "tests"}, False, "the site wants none for this account"),
        ({"account": "TESTS"}, False, "however it is typed"),
        ({"job_name": "other"}, False, "nothing is known of this job"),
        ({"uid": 1002, "job_name": "other"}, True, "of this user's any"),
    ],
)
def test_a_hint_is_said_where_it_helps(version: LuaVersion, changes: dict[str, Any], hinted: bool, why: str) -> None:
    messages = decider(version).decide(request(**changes)).messages
    assert any("01:00:00" in line for line in messages) == hinted, why
