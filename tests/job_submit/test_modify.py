"""Updates of a job by its owner, as requests: what the job was, what it would be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.job_submit.policies import ALICE, BOB, HOUR, OPERATOR, incentives, policy, request, rule
from tests.job_submit.runtime import Lua

H = HOUR
RULES = [
    rule("max_limit", 10 * H, queues="gq"),
    rule("min_limit", 2 * H, queues="gq-long"),
    rule("gpus", {"max": 4}, queues="gq"),
    rule("nodes", {"min": 2}, queues="gq-long"),
    rule("nodes", {"min": 1, "max": 7}, queues="gq", name="gq-nodes"),
    rule("require_limit", True),
    rule("restartable_above", 5 * H),
]

#: the job as it is, what changes, verdict, why
CASES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {}, "accept", "nothing changes"),
    ({}, {"limit": 10 * H}, "accept", "within the rule"),
    ({}, {"limit": 11 * H}, "reject", "above it"),
    ({"limit": 20 * H}, {"limit": 15 * H}, "accept", "better than before, if not good"),
    ({"limit": 20 * H}, {"limit": 21 * H}, "reject", "worse than before"),
    ({"limit": 20 * H}, {"features": "ib"}, "accept", "the change has nothing to do with the rule"),
    ({"limit": 20 * H}, {"account": "chemistry"}, "reject", "another account is a new job"),
    ({"limit": 20 * H, "queues": ["gq-short"]}, {"queues": ["gq"]}, "reject", "a queue is entered under its rules"),
    ({"limit_kind": "unset", "limit": None}, {"features": "ib"}, "accept", "a limit is required at submission only"),
    ({"limit": 11 * H}, {"limit_kind": "unlimited", "limit": None}, "reject", "no limit at all is worse"),
    ({"limit_kind": "unlimited", "limit": None}, {"limit": 20 * H}, "accept", "any limit is better than none"),
    ({}, {"gpus": 8}, "reject", "more GPUs than the queue takes"),
    ({"gpus": 8}, {"gpus": 6}, "accept", "fewer, if still too many"),
    ({"gpus": 8}, {"gpus": 9}, "reject", "still more of what was too many"),
    ({"gpus": 8}, {"gpus": 8, "nodes": 2}, "accept", "other nodes, the GPUs are as they were"),
    ({"nodes": 2, "max_nodes": 9}, {"max_nodes": 8}, "accept", "a smaller range, still too wide"),
    ({"nodes": 2, "max_nodes": 9}, {"max_nodes": 10}, "reject", "a wider range of what was too wide"),
    ({"nodes": 0}, {"nodes": 8}, "reject", "from too few to too many"),
    ({"queues": ["gq-long"], "nodes": 2, "limit": H}, {"limit": 1.5 * H}, "accept", "nearer to the queue's minimum"),
    ({"queues": ["gq-long"], "nodes": 2, "limit": H}, {"limit": 0.5 * H}, "reject", "further below it"),
    ({"queues": ["gq-long"], "nodes": 2, "limit": H}, {"time_min": 0.5 * H}, "reject", "--time-min is below it now"),
    ({"gpus": 8}, {"limit": 4 * H}, "accept", "the GPUs are as they were"),
    ({"queues": ["gq-long"], "nodes": 2, "limit": 9 * H}, {"limit": H}, "reject", "below the queue's minimum"),
    ({"queues": ["gq-long"], "nodes": 2, "limit": 9 * H}, {"nodes": 1}, "reject", "too few nodes"),
    ({"queues": ["gq-long"], "nodes": 2, "limit": H}, {"features": "x"}, "accept", "it was below already"),
    ({}, {"time_min": 11 * H}, "reject", "--time-min above the maximum"),
    ({}, {"limit": 9 * H}, "accept", "whether it can be restarted is not shown"),
]


@pytest.mark.parametrize(("before", "change", "expected", "why"), CASES, ids=[case[3] for case in CASES])
def test_an_update(lua: Lua, before: dict[str, Any], change: dict[str, Any], expected: str, why: str) -> None:
    job = request(**{"queues": ["gq"], "limit": H, "state": "PENDING", **before})
    decision = lua.modify({**job, "by": ALICE, **change}, job, policy(*RULES))
    assert decision["verdict"] == expected, why


def test_operators_update_as_they_like(lua: Lua) -> None:
    job = request(queues=["gq"], limit=H, state="PENDING")
    assert lua.modify({**job, "by": OPERATOR, "limit": 99 * H}, job, policy(*RULES))["verdict"] == "accept"


def test_a_coordinator_is_held_to_the_rules(lua: Lua) -> None:
    job = request(queues=["gq"], limit=H, state="PENDING")
    assert lua.modify({**job, "by": BOB, "limit": 99 * H}, job, policy(*RULES))["verdict"] == "reject"


def test_a_refusal_names_the_queue_that_fits(lua: Lua) -> None:
    job = request(queues=["gq"], limit=H, state="PENDING")
    decision = lua.modify({**job, "by": ALICE, "limit": 80 * H}, job, policy(RULES[0]))
    assert decision["messages"][-1] == "gq-middle would take it: -p gq-middle"


@pytest.mark.parametrize(
    ("before", "change", "points", "verdict", "why"),
    [
        ({"nodes": 2, "gpus": 16, "points": 720}, {"nodes": 1, "gpus": 8}, None, "reject", "it shrinks"),
        ({"nodes": 2, "gpus": 16, "points": 720}, {"limit": 2 * H}, None, "accept", "its limit is raised"),
        ({"points": 420}, {"nodes": 2, "gpus": 16}, 720, "accept", "it grows"),
        ({"nodes": 2, "gpus": 16, "points": 720, "state": "RUNNING"}, {"nodes": 1}, None, "accept", "it runs"),
        (
            {"nodes": 2, "gpus": 16, "points": 720, "array": True},
            {"nodes": 1, "gpus": 8},
            None,
            "reject",
            "an array shrinks",
        ),
        ({"points": 420, "array": True}, {"nodes": 2}, None, "accept", "an array grows"),
        (
            {"nodes": 2, "gpus": 16, "points": 100, "array": True},
            {"nodes": 1, "gpus": 8},
            None,
            "accept",
            "it has less anyway",
        ),
        ({"points": 3}, {"features": "ib"}, None, "accept", "the table changed since"),
        ({"nodes": 2, "gpus": 16}, {"nodes": 1, "gpus": 1}, 420, "accept", "it was submitted before there were points"),
    ],
)
def test_the_bonus(
    lua: Lua, before: dict[str, Any], change: dict[str, Any], points: int | None, verdict: str, why: str
) -> None:
    job = request(**{"queues": ["gq"], "limit": H, "state": "PENDING", **before})
    decision = lua.modify({**job, "by": ALICE, **change}, job, policy(), incentives())
    assert (decision["verdict"], decision.get("points")) == (verdict, points), why
    assert "record" not in decision
