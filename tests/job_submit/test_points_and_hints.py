"""What a job earns, and the one line about what similar jobs needed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.job_submit.policies import ALICE, BOB, HOUR, OPERATOR, hints, incentives, policy, request, rule
from tests.job_submit.runtime import Lua

H = HOUR


@pytest.mark.parametrize(
    ("fields", "table", "expected", "why"),
    [
        ({}, incentives(), 420, "her own points"),
        ({"nodes": 2, "gpus": 16}, incentives(), 720, "with those of the class, and no more than the cap"),
        ({"nodes": 2, "gpus": 16}, incentives(cap=10_000), 720, "420 and 300"),
        ({"nodes": 2, "gpus": 16}, incentives(cap=500), 500, "the cap"),
        ({"gpus": 4}, incentives(), 520, "several GPUs"),
        ({"uid": BOB, "nodes": 2, "gpus": 16}, incentives(), 600, "bundles earn no class points"),
        ({"uid": 9}, incentives(), None, "no row, no class that earns"),
        ({"uid": 9, "nodes": 2, "gpus": 2}, incentives(), 300, "no row, the class earns"),
        ({"uid": 9, "nodes": None, "gpus": None}, incentives(), None, "an unknown class earns nothing"),
        ({}, incentives(users={ALICE: {"points": 0}}), None, "nothing is not set at all"),
        ({}, incentives(users={ALICE: {"points": 1.9}}), 1, "whole points"),
        ({}, incentives(users={ALICE: {"points": -100}}), None, "never below zero"),
        ({}, None, None, "no table"),
        ({"uid": OPERATOR}, incentives(users={OPERATOR: {"points": 7}}), 7, "operators earn like others"),
    ],
)
def test_points(lua: Lua, fields: dict[str, Any], table: dict[str, Any] | None, expected: int | None, why: str) -> None:
    decision = lua.decide(request(**{"queues": ["gq"], "limit": H, **fields}), policy(), table)
    assert decision.get("points") == expected, why


SIZES = {9: 500, 65: 700}


@pytest.mark.parametrize(
    ("fields", "expected", "why"),
    [
        ({"gpus": 8}, 100, "below the first size: the class's"),
        ({"gpus": 9, "nodes": 2}, 500, "the size's in place of the class's, not both"),
        ({"gpus": 64, "nodes": 8}, 500, "the largest size that it reaches"),
        ({"gpus": 65, "nodes": 9}, 700, "a larger size"),
        ({"gpus": 2, "nodes": 2}, 300, "a class without a size"),
        ({"gpus": 9}, None, "Slurm may give eight, on one node"),
        ({"gpus": 9, "nodes": 2, "uid": ALICE}, 720, "with the user's own, and no more than the cap"),
        ({"gpus": 9, "nodes": 2, "uid": BOB}, 600, "a user of bundles has no points by size"),
        ({"gpus": 9, "nodes": None}, None, "an unknown class"),
        ({"gpus": 9, "nodes": 2, "ntasks_per_tres": 1}, 300, "GPUs by tasks may be fewer"),
        ({"gpus": 0, "nodes": 2, "gpus_each": 64}, 300, "GPUs that it may get besides"),
        ({"gpus": 1}, None, "one GPU"),
    ],
)
def test_points_by_size(lua: Lua, fields: dict[str, Any], expected: int | None, why: str) -> None:
    table = incentives(size_points=SIZES)
    decision = lua.decide(request(**{"queues": ["gq"], "limit": H, "uid": 9, **fields}), policy(), table)
    assert decision.get("points") == expected, why


def test_points_by_size_need_no_class_that_earns(lua: Lua) -> None:
    table = incentives(size_points=SIZES, class_points={})
    assert lua.decide(request(queues=["gq"], uid=9, gpus=9, nodes=2), policy(), table)["points"] == 500


def test_a_table_that_has_a_size_of_one_gpu_gives_single_gpu_jobs_nothing(lua: Lua) -> None:
    table = incentives(size_points={1: 500})
    assert lua.decide(request(queues=["gq"], uid=9, gpus=1), policy(), table).get("points") is None


def test_points_of_a_class_are_kept_where_those_of_the_size_are_fewer(lua: Lua) -> None:
    table = incentives(size_points={2: 50})
    assert lua.decide(request(queues=["gq"], uid=9, gpus=4, nodes=2), policy(), table)["points"] == 300


ROW = [600, 1500, 2.5, 12]
SAID = "12 similar jobs needed 00:10:00: --time=01:00:00 (risk 2.5 %), you asked for {asked}."


@pytest.mark.parametrize(
    ("rows", "fields", "asked", "why"),
    [
        ({"train": {"gq": ROW}}, {"limit": 20 * H}, "20:00:00", "the job's name and its queue"),
        ({"train": {"": ROW}}, {"limit": 20 * H}, "20:00:00", "the job's name in any queue"),
        ({"": {"gq": ROW}}, {"limit": 20 * H}, "20:00:00", "any job in the queue"),
        ({"": {"": ROW}}, {"limit": 20 * H}, "20:00:00", "any job"),
        ({"train": {"gq": ROW}, "": {"": [1, 2, 3, 4]}}, {"limit": 20 * H}, "20:00:00", "the closest row counts"),
        ({"other": {"gq": ROW}}, {"limit": 20 * H}, None, "another name"),
        ({"train": {"gq-long": ROW}}, {"limit": 20 * H}, None, "another queue"),
        ({"train": {"gq": ROW}}, {"limit": H}, None, "less than three times as much"),
        ({"train": {"gq": ROW}}, {"limit": 2 * H}, None, "less than two hours more"),
        ({"train": {"gq": ROW}}, {"limit_kind": "unset"}, None, "the queue's default is short enough"),
        ({"train": {"gq": ROW}}, {"limit_kind": "unlimited"}, "UNLIMITED", "unlimited"),
        ({"train": {"gq": ROW}}, {"limit": 20 * H, "uid": BOB}, None, "another user"),
        ({"train": {"gq": ROW}}, {"limit": 20 * H, "het_offset": 0}, "20:00:00", "the first component"),
        ({"train": {"gq": ROW}}, {"limit": 20 * H, "het_offset": 1}, None, "one hint for a whole job"),
        ({"train": {"gq": ROW}}, {"limit": 20 * H, "by": 0}, None, "root gets no hints"),
        ({"train": {"gq": [600, 23 * H, 1, 9]}}, {"limit": 72 * H}, None, "72 h are more than 3 × 23 h, the menu too"),
    ],
)
def test_a_hint(lua: Lua, rows: dict[str, Any], fields: dict[str, Any], asked: str | None, why: str) -> None:
    decision = lua.decide(request(**{"queues": ["gq"], **fields}), policy(), None, hints(rows))
    if why.startswith("72 h"):
        assert "--time=1-00:00:00" in decision["messages"][0]
        return
    assert decision["messages"] == ([SAID.format(asked=asked)] if asked else []), why


def test_a_job_that_is_refused_gets_no_hint(lua: Lua) -> None:
    table = policy(rule("max_limit", 10 * H))
    decision = lua.decide(request(queues=["gq"], limit=20 * H), table, None, hints({"": {"": ROW}}))
    assert decision["verdict"] == "reject"
    assert not any("similar" in line for line in decision["messages"])


def test_a_safe_limit_above_the_menu_is_shown_in_whole_minutes(lua: Lua) -> None:
    decision = lua.decide(
        request(queues=["gq"], limit=72 * H), policy(menu=[60]), None, hints({"": {"": [60, 5 * H + 1, 1, 9]}})
    )
    assert "--time=05:01:00" in decision["messages"][0]


def test_a_hint_counts_what_is_left_after_the_rules(lua: Lua) -> None:
    table = policy(rule("max_limit", 2 * H, "amend"))
    decision = lua.decide(request(queues=["gq"], limit=20 * H), table, None, hints({"": {"": ROW}}))
    assert len(decision["messages"]) == 1
