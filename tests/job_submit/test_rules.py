"""What every check does with a job: verdict, limit and words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.job_submit.policies import ALICE, BOB, DAY, HOUR, NOW, OPERATOR, policy, request, rule
from tests.job_submit.runtime import Lua

H = HOUR
MAX = rule("max_limit", 72 * H, "amend", queues="gq")
SHORT = rule("max_limit", 3 * H, queues="gq-short")

# rules, request, expected part of the decision, why
CASES: list[tuple[str, list[dict[str, Any]], dict[str, Any], dict[str, Any]]] = [
    ("a limit within the maximum passes", [MAX], {"limit": 72 * H}, {"verdict": "accept", "fired": []}),
    ("a limit above it is lowered", [MAX], {"limit": 100 * H}, {"verdict": "amend", "limit": 72 * H}),
    (
        "an unlimited job is lowered too",
        [MAX],
        {"limit_kind": "unlimited"},
        {"verdict": "amend", "limit": 72 * H},
    ),
    (
        "a job without a limit gets the queue's default, which is below",
        [MAX],
        {"limit_kind": "unset"},
        {"verdict": "accept"},
    ),
    (
        "a queue whose default is above the maximum",
        [rule("max_limit", 24 * H, "amend", queues="gq-long")],
        {"queues": ["gq-long"], "limit_kind": "unset"},
        {"verdict": "amend", "limit": 24 * H},
    ),
    ("a rule of another queue does not matter", [SHORT], {"limit": 70 * H}, {"verdict": "accept"}),
    (
        "of two maxima the job breaks the lower one alone, in whatever order they stand",
        [rule("max_limit", 48 * H, name="low"), rule("max_limit", 72 * H, name="high")],
        {"limit": 50 * H},
        {"verdict": "reject", "fired": [{"rule": "low", "action": "reject"}]},
    ),
    (
        "of two minima the job breaks the higher one alone",
        [rule("min_limit", H, name="low"), rule("min_limit", 3 * H, name="high")],
        {"limit": 2 * H},
        {"verdict": "reject", "fired": [{"rule": "high", "action": "reject"}]},
    ),
    (
        "of a minimum and a maximum of GPUs in two rules the job breaks the maximum",
        [rule("gpus", {"min": 1}, name="least"), rule("gpus", {"max": 4}, name="most")],
        {"gpus": 8},
        {"verdict": "reject", "fired": [{"rule": "most", "action": "reject"}]},
    ),
    (
        "of two ranges of GPUs the job breaks the one with the lower maximum",
        [rule("gpus", {"max": 8}, name="wide"), rule("gpus", {"max": 2}, name="narrow")],
        {"gpus": 4},
        {"verdict": "reject", "fired": [{"rule": "narrow", "action": "reject"}]},
    ),
    (
        "and the one with the higher minimum",
        [rule("gpus", {"min": 4}, name="narrow"), rule("gpus", {"min": 1}, name="wide")],
        {"gpus": 2},
        {"verdict": "reject", "fired": [{"rule": "narrow", "action": "reject"}]},
    ),
    (
        "a number that a job is silent about matters to a rule with a minimum, not to a maximum that it keeps",
        [rule("gpus", {"max": 4}, name="most"), rule("gpus", {"min": 1}, name="least")],
        {"gpus": None, "gpus_fixed": 2},
        {"verdict": "accept", "untold": ["least"]},
    ),
    (
        "the same of a rule that has neither",
        [rule("gpus", {"max": 4}, name="most"), rule("gpus", {}, name="neither")],
        {"gpus": None, "gpus_fixed": 2},
        {"verdict": "accept", "untold": ["neither"]},
    ),
    (
        "--time-min is lowered with the limit",
        [MAX],
        {"limit": 100 * H, "time_min": 90 * H},
        {"limit": 72 * H, "time_min": 72 * H},
    ),
    (
        "--time-min above the maximum counts where no limit is given",
        [MAX],
        {"limit_kind": "unset", "time_min": 90 * H},
        {"time_min": 72 * H, "verdict": "amend"},
    ),
    (
        "--time-min above the maximum is refused",
        [rule("max_limit", 72 * H, queues="gq")],
        {"limit_kind": "unset", "time_min": 80 * H},
        {"verdict": "reject", "code": "ESLURM_INVALID_TIME_LIMIT"},
    ),
    (
        "--time-min below the minimum is raised",
        [rule("min_limit", H, "amend")],
        {"limit": 3 * H, "time_min": 60},
        {"time_min": H},
    ),
    (
        "a limit is required",
        [rule("require_limit", True)],
        {"limit_kind": "unset"},
        {"verdict": "reject", "code": "ESLURM_MISSING_TIME_LIMIT", "messages": ["Give a time limit: --time=HH:MM:SS."]},
    ),
    ("a limit is required and given", [rule("require_limit", True)], {"limit": H}, {"verdict": "accept"}),
    (
        "a default is given",
        [rule("default_limit", 2 * H, "amend")],
        {"limit_kind": "unset"},
        {"limit": 2 * H, "messages": ["No time limit was given: 02:00:00 it is."]},
    ),
    (
        "a default is given before the minimum is looked at",
        [rule("min_limit", 3 * H, "amend"), rule("default_limit", 2 * H, "amend")],
        {"limit_kind": "unset"},
        {"limit": 3 * H},
    ),
    (
        "a limit that is too low is raised",
        [rule("min_limit", 24 * H, "amend")],
        {"limit": H},
        {"limit": 24 * H},
    ),
    (
        "limits are set in whole minutes, never past the rule",
        [rule("max_limit", 3599, "amend")],
        {"limit": 2 * H},
        {"limit": 59 * 60},
    ),
    (
        "a minimum rounds up",
        [rule("min_limit", 61, "amend")],
        {"limit": 60},
        {"limit": 120},
    ),
    (
        "a maximum by class",
        [rule("max_limit", 24 * H, "amend", classes="single-gpu")],
        {"limit": 30 * H},
        {"limit": 24 * H},
    ),
    (
        "the same for another class",
        [rule("max_limit", 24 * H, "amend", classes="multi-node")],
        {"limit": 30 * H},
        {"verdict": "accept"},
    ),
    (
        "sixteen GPUs on nodes of eight make a multi-node job",
        [rule("max_limit", 24 * H, "amend", classes="multi-node")],
        {"limit": 30 * H, "gpus": 16},
        {"limit": 24 * H},
    ),
    (
        "one GPU only",
        [rule("gpus", {"min": 1, "max": 1}, queues="gq")],
        {"gpus": 2, "limit": H},
        {"verdict": "reject", "messages": ["gq takes 1 GPUs, you asked for 2.", "gq-short would take it: -p gq-short"]},
    ),
    (
        "fewer GPUs than a queue wants",
        [rule("gpus", {"min": 2}, queues="gq")],
        {"gpus": 1, "limit": 100 * H, "limit_kind": "finite"},
        {"verdict": "reject"},
    ),
    (
        "a range of nodes whose upper end is too much",
        [rule("nodes", {"max": 4})],
        {"nodes": 1, "max_nodes": 8, "limit": H},
        {"verdict": "reject"},
    ),
    ("a range of nodes", [rule("nodes", {"max": 4})], {"nodes": 1, "max_nodes": 4, "limit": H}, {"verdict": "accept"}),
    (
        "one GPU on each of up to four nodes",
        [rule("gpus", {"min": 1, "max": 1})],
        {"gpus": 1, "gpus_per_node": 1, "max_nodes": 4, "gpus_each": 1, "limit": H},
        {"verdict": "reject"},
    ),
    ("GPUs per node", [rule("gpus_per_node", {"max": 4})], {"gpus": 8, "limit": H}, {"verdict": "reject"}),
    (
        "GPUs per node of several nodes are not known unless said",
        [rule("gpus_per_node", {"max": 4})],
        {"gpus": 8, "nodes": 2, "limit": H},
        {"verdict": "accept", "untold": ["gpus_per_node"]},
    ),
    (
        "nodes",
        [rule("nodes", {"max": 4})],
        {"nodes": 5, "gpus": 5, "limit": H},
        {"verdict": "reject", "code": "ESLURM_INVALID_NODE_COUNT"},
    ),
    (
        "CPUs",
        [rule("cpus", {"max": 4})],
        {"cpus": 5, "limit": H},
        {"verdict": "reject", "code": "ESLURM_INVALID_CPU_COUNT"},
    ),
    (
        "GPUs",
        [rule("gpus", {"max": 4})],
        {"gpus": 5, "nodes": 1, "limit": H},
        {"verdict": "reject", "code": "ESLURM_INVALID_GRES"},
    ),
    (
        "GPUs of a node",
        [rule("gpus_per_node", {"max": 4})],
        {"gpus": 5, "nodes": 1, "gpus_per_node": 5, "limit": H},
        {"verdict": "reject", "code": "ESLURM_INVALID_GRES"},
    ),
    (
        "two rules: the first one's",
        [rule("nodes", {"max": 1}), rule("gpus", {"max": 4})],
        {"gpus": 9, "nodes": 2, "limit": H},
        {"verdict": "reject", "code": "ESLURM_INVALID_GRES"},
    ),
    (
        "a number that the request does not show",
        [rule("cpus", {"max": 4})],
        {"cpus": None, "limit": H},
        {"verdict": "accept", "untold": ["cpus"]},
    ),
    (
        "a long job that cannot be restarted",
        [rule("restartable_above", 24 * H)],
        {"limit": 25 * H, "restartable": False},
        {"verdict": "reject"},
    ),
    (
        "a long job that can",
        [rule("restartable_above", 24 * H)],
        {"limit": 25 * H, "restartable": True},
        {"verdict": "accept"},
    ),
    (
        "a long job that does not tell",
        [rule("restartable_above", 24 * H)],
        {"limit": 25 * H},
        {"verdict": "accept", "untold": ["restartable_above"]},
    ),
    (
        "a short job that does not tell needs not",
        [rule("restartable_above", 24 * H)],
        {"limit": 24 * H},
        {"verdict": "accept", "untold": []},
    ),
    (
        "a long job is capped",
        [rule("restartable_above", 24 * H, "amend")],
        {"limit": 25 * H, "restartable": False},
        {"limit": 24 * H},
    ),
    (
        "a queue's long default counts as a long job",
        [rule("restartable_above", 24 * H, "amend")],
        {"queues": ["gq-long"], "limit_kind": "unset", "restartable": False},
        {"limit": 24 * H},
    ),
    ("users by uid", [rule("max_limit", H, "amend", users=ALICE)], {"limit": 2 * H}, {"limit": H}),
    (
        "users by name, where there is no uid",
        [rule("max_limit", H, "amend", users={ALICE, "alice"})],
        {"limit": 2 * H, "uid": None, "user": "alice"},
        {"limit": H},
    ),
    ("another user", [rule("max_limit", H, "amend", users=BOB)], {"limit": 2 * H}, {"verdict": "accept"}),
    (
        "all but some users",
        [rule("max_limit", H, "amend", except_users=ALICE)],
        {"limit": 2 * H},
        {"verdict": "accept"},
    ),
    ("an account", [rule("max_limit", H, "amend", accounts="physics")], {"limit": 2 * H}, {"limit": H}),
    (
        "all but an account",
        [rule("max_limit", H, "amend", except_accounts="physics")],
        {"limit": 2 * H},
        {"verdict": "accept"},
    ),
    (
        "an unknown account",
        [rule("max_limit", H, "amend", accounts="physics")],
        {"limit": 2 * H, "account": None},
        {"verdict": "accept", "untold": ["max_limit"]},
    ),
    ("a QOS", [rule("max_limit", H, "amend", qos="normal")], {"limit": 2 * H}, {"limit": H}),
    (
        "a rule whose day is ahead only warns",
        [rule("max_limit", 48 * H, "amend", queues="gq", from_=NOW + DAY)],
        {"limit": 72 * H},
        {
            "verdict": "accept",
            "fired": [{"rule": "max_limit", "action": "warn"}],
            "messages": ["From 2026-11-22: gq takes at most 2-00:00:00, you asked for 3-00:00:00."],
            "record": "ak1:lim=259200,src=e,rules=max_limit",
        },
    ),
    (
        "a rule whose day has come bites",
        [rule("max_limit", 72 * H, "amend", queues="gq", from_=NOW)],
        {"limit": 80 * H},
        {"limit": 72 * H},
    ),
    (
        "a rule that warns",
        [rule("max_limit", H, "warn", queues="gq")],
        {"limit": 2 * H},
        {"verdict": "accept", "messages": ["gq takes at most 01:00:00, you asked for 02:00:00."]},
    ),
    (
        "a rule's own text",
        [rule("max_limit", H, "warn", text={"en": "Too long, {class}!"})],
        {"limit": 2 * H},
        {"messages": ["Too long, single-gpu!"]},
    ),
    (
        "an operator passes",
        [rule("max_limit", H), rule("require_limit", True)],
        {"uid": OPERATOR, "limit": 100 * H},
        {"verdict": "accept", "record": "ak1:lim=360000,src=e"},
    ),
    (
        "so does what root submits for a user",
        [rule("max_limit", H)],
        {"by": 0, "limit": 100 * H},
        {"verdict": "accept"},
    ),
    (
        "the trace does not know the limit",
        [rule("max_limit", H), rule("require_limit", True)],
        {"limit_kind": "unknown"},
        {"verdict": "accept", "untold": ["require_limit", "max_limit"]},
    ),
]


@pytest.mark.parametrize(("rules", "fields", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_rule(lua: Lua, rules: list[dict[str, Any]], fields: dict[str, Any], expected: dict[str, Any]) -> None:
    decision = lua.decide(request(**{"queues": ["gq"], **fields}), policy(*rules))
    assert {key: decision.get(key) for key in expected} == expected


def test_every_language_of_the_policy_is_shown(lua: Lua) -> None:
    rules = [rule("max_limit", HOUR, queues="gq")]
    table = policy(*rules, languages=["en", "ja"], routing={"action": "off", "order": []})
    decision = lua.decide(request(queues=["gq"], limit=2 * HOUR), table)
    assert decision["messages"][0] == "gq takes at most 01:00:00, you asked for 02:00:00."
    assert decision["messages"][1] == "gq の上限は 01:00:00 です。"


def test_without_any_text_the_user_reads_one_english_line(lua: Lua) -> None:
    decision = lua.decide(request(queues=["gq"], limit=100 * HOUR), policy(MAX, texts={}))
    assert decision["messages"] == [
        "adminkit: changed by rule max_limit (max_limit): asked 4-04:00:00, now 3-00:00:00."
    ]


def test_every_queue_of_a_request_is_checked(lua: Lua) -> None:
    rules = [rule("max_limit", 3 * HOUR, "amend", name="short", queues="gq-short"), MAX]
    decision = lua.decide(request(queues=["gq", "gq-short"], limit=100 * HOUR), policy(*rules))
    assert decision["limit"] == 3 * HOUR
    refused = lua.decide(request(queues=["gq", "gq-short"], limit=5 * HOUR), policy(SHORT))
    assert refused["verdict"] == "reject"
    assert refused["messages"][0].startswith("gq-short takes at most 03:00:00")


def test_a_refusal_says_all_that_is_wrong_and_nothing_that_was_changed(lua: Lua) -> None:
    rules = [MAX, rule("gpus", {"max": 1}), rule("cpus", {"max": 1}, text={"en": "One CPU."})]
    decision = lua.decide(request(queues=["gq"], limit=100 * HOUR, gpus=2, cpus=2), policy(*rules))
    assert decision["messages"] == ["gq takes 0-1 GPUs, you asked for 2.", "One CPU."]
    assert {"limit", "queue", "points", "record"}.isdisjoint(decision)


def test_a_user_s_words_cannot_break_the_line(lua: Lua) -> None:
    name = "gq\n\x1b[31m{rule}%s" + "x" * 100
    decision = lua.decide(request(queues=[name], limit=2 * HOUR), policy(rule("max_limit", HOUR)))
    assert decision["messages"][0].startswith("gq??[31m{rule}%s")
    assert "..." in decision["messages"][0]
