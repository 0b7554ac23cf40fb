"""Which queue a job goes to, and when it is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.job_submit.policies import ALICE, DAY, HOUR, NOW, QUEUES, applied, policy, queue, request, rule
from tests.job_submit.runtime import Lua

H = HOUR
ONE_GPU = rule("gpus", {"min": 1, "max": 1}, queues="gq-middle")

# request, expected queue (None: left alone), why
CASES: list[tuple[str, dict[str, Any], str | None]] = [
    ("the shortest queue that fits", {"limit": 2 * H}, "gq-short"),
    ("its limit is still within", {"limit": 3 * H}, "gq-short"),
    ("the next one", {"limit": 3 * H + 60}, "gq"),
    ("one GPU for a week", {"limit": 100 * H}, "gq-middle"),
    ("a queue's rule keeps a job out", {"limit": 100 * H, "gpus": 2}, "gq-long"),
    ("two nodes for a week", {"limit": 100 * H, "gpus": 16, "nodes": 2}, "gq-long"),
    ("longer than any queue", {"limit": 400 * H}, None),
    ("neither queue nor limit", {"limit_kind": "unset"}, None),
    ("an unlimited job fits nowhere", {"limit_kind": "unlimited"}, None),
    ("a reservation", {"limit": 2 * H, "reservation": "maintenance"}, None),
    ("named nodes", {"limit": 2 * H, "node_list": "n[1-2]"}, None),
    ("a GPU type that is there", {"limit": 2 * H, "gpu_type": "p100"}, "gq-short"),
    ("a GPU type that is nowhere", {"limit": 2 * H, "gpu_type": "h100"}, None),
    ("more GPUs per node than there are", {"limit": 2 * H, "gpus_per_node": 9, "gpus": 9}, None),
    ("more nodes than there are", {"limit": 2 * H, "nodes": 51, "gpus": 51}, None),
    ("as many GPUs as there are", {"limit": 2 * H, "gpus": 400}, "gq-short"),
    ("more GPUs than there are", {"limit": 2 * H, "gpus": 401}, None),
    ("nine GPUs on at most one node", {"limit": 2 * H, "gpus": 9, "max_nodes": 1}, None),
    ("more memory than all nodes have", {"limit": 2 * H, "mem": 51 * 262_144}, None),
    ("--time-min above a queue's limit", {"limit": 4 * H, "time_min": 4 * H}, "gq"),
    ("Slurm does not list the queue for this user", {"limit": 2 * H, "usable": {"gq": True}}, "gq"),
    ("no queue listed", {"limit": 2 * H, "usable": {}}, None),
]


@pytest.mark.parametrize(("fields", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_job_without_a_queue(lua: Lua, fields: dict[str, Any], expected: str | None) -> None:
    decision = lua.decide(request(**fields), policy(ONE_GPU))
    assert decision.get("queue") == expected
    assert decision["verdict"] == ("amend" if expected else "accept")


#: facts of gq-short, request, queue, why
FACTS: list[tuple[str, dict[str, Any], dict[str, Any], str | None]] = [
    ("a queue that is down", {"up": False}, {}, "gq"),
    ("an account that is allowed", {"allow_accounts": {"physics"}}, {}, "gq-short"),
    ("an account that is not", {"allow_accounts": {"chemistry"}}, {}, "gq"),
    ("an account that is denied", {"deny_accounts": {"physics"}}, {}, "gq"),
    ("a QOS that is not allowed", {"allow_qos": {"high"}}, {}, "gq"),
    ("a QOS that is denied", {"deny_qos": {"normal"}}, {}, "gq"),
    ("an unknown account where accounts matter is doubt", {"allow_accounts": {"physics"}}, {"account": None}, None),
    ("groups without Slurm's list are doubt", {"allow_groups": {"staff"}}, {}, None),
    ("groups with Slurm's list", {"allow_groups": {"staff"}}, {"usable": {"gq": True}}, "gq"),
    ("groups that let the user in", {"allow_groups": {"staff"}}, {"usable": {"gq-short": True}}, "gq-short"),
    ("a feature that is there", {"features": {"ib"}}, {"features": "ib"}, "gq-short"),
    ("features that are all there", {"features": {"ib", "ssd"}}, {"features": "ib&ssd"}, "gq-short"),
    ("one of two features", {"features": {"ib"}}, {"features": "ssd|ib"}, "gq-short"),
    ("both of two features, one missing", {"features": {"ib"}}, {"features": "ssd&ib"}, None),
    ("counts of features are doubt", {"features": {"ib"}}, {"features": "[ib*2&ssd*1]"}, None),
    ("no GPUs there", {"node_gpus": 0}, {}, "gq"),
    ("a job without GPUs", {"node_gpus": 0}, {"gpus": 0}, "gq-short"),
    ("too few CPUs altogether", {"node_cpus": 1, "total_nodes": 2}, {"cpus": 3}, "gq"),
    ("a least number of nodes that --nodes forbids", {"min_nodes": 2}, {"max_nodes": 1}, "gq"),
]


@pytest.mark.parametrize(("facts", "fields", "expected"), [case[1:] for case in FACTS], ids=[case[0] for case in FACTS])
def test_what_keeps_a_job_out(lua: Lua, facts: dict[str, Any], fields: dict[str, Any], expected: str | None) -> None:
    table = policy(queues=QUEUES | {"gq-short": queue(default_limit=H, max_limit=3 * H, **facts)})
    decision = lua.decide(request(limit=2 * H, **fields), table)
    assert decision.get("queue") == expected


@pytest.mark.parametrize(
    ("fields", "expected", "why"),
    [
        ({"cpus": 120, "min_cpus": 120}, "gq", "three nodes of forty CPUs"),
        ({"cpus": 80, "min_cpus": 80}, "gq-short", "two nodes of forty CPUs"),
        ({"cpus": 3, "min_cpus": 3, "min_mem_per_cpu": 262_144}, "gq", "three nodes of the memory of one CPU"),
        ({"cpus": 120, "min_cpus": 120, "max_nodes": 2}, None, "it says itself that it takes two, which are too few"),
    ],
)
def test_a_job_goes_on_from_a_queue_whose_rule_on_nodes_it_would_break(
    lua: Lua, fields: dict[str, Any], expected: str | None, why: str
) -> None:
    held = rule("nodes", {"max": 2}, queues="gq-short")
    job = request(limit=2 * H, gpus=0, most_nodes=1, **fields)
    decision = lua.decide(job, policy(held))
    assert (decision["verdict"], decision.get("queue")) == ("amend" if expected else "accept", expected), why
    if expected == "gq":
        refused = lua.decide({**job, "queues": ["gq-short"]}, policy(held))
        assert (refused["verdict"], refused["messages"][-1]) == ("reject", "gq would take it: -p gq"), why


def test_doubt_is_logged(lua: Lua) -> None:
    table = policy(queues=QUEUES | {"gq-short": queue(max_limit=3 * H, allow_groups={"staff"})})
    decision = lua.decide(request(limit=2 * H), table)
    assert decision["log"] == ["adminkit: not routed, in doubt about queue gq-short"]
    assert decision["verdict"] == "accept"


def test_a_rule_that_refuses_names_the_queue_that_fits(lua: Lua) -> None:
    decision = lua.decide(request(queues=["gq-middle"], gpus=2, limit=100 * H), policy(ONE_GPU))
    assert decision["messages"] == ["gq-middle takes 1 GPUs, you asked for 2.", "gq-long would take it: -p gq-long"]
    assert decision["fit"] == "gq-long"


def test_a_text_that_has_the_queue_in_it_says_it_once(lua: Lua) -> None:
    own = rule("gpus", {"max": 1}, queues="gq-middle", text={"en": "Take {fit}."})
    decision = lua.decide(request(queues=["gq-middle"], gpus=2, limit=100 * H), policy(own))
    assert decision["messages"] == ["Take gq-long."]


def test_a_queue_that_can_never_take_the_job_is_refused_with_the_one_that_can(lua: Lua) -> None:
    decision = lua.decide(request(queues=["gq-short"], limit=100 * H), policy())
    assert decision["verdict"] == "reject"
    assert decision["fired"] == [{"rule": "routing", "action": "reject"}]
    assert decision["fit"] == "gq-middle"
    assert decision["messages"] == ["adminkit: gq-short cannot run this job; gq-middle can (-p gq-middle)."]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"queues": ["gq-short"], "limit": 400 * H}, "no other queue takes it either: Slurm says what it thinks"),
        ({"queues": ["gq-short"], "limit": 100 * H, "qos_given": True}, "a QOS may lift the limits"),
        ({"queues": ["gq-short", "gq-long"], "limit": 100 * H}, "one of the queues fits"),
        ({"queues": ["new"], "limit": 100 * H}, "a queue that came after the install"),
        ({"queues": ["gq-short"], "limit": 100 * H, "reservation": "r"}, "a reservation may have its own limits"),
        ({"queues": ["gq-short"], "limit_kind": "unset"}, "the queue's own default fits"),
    ],
)
def test_a_named_queue_is_left_alone(lua: Lua, fields: dict[str, Any], why: str) -> None:
    assert lua.decide(request(**fields), policy())["verdict"] == "accept", why


@pytest.mark.parametrize("routing", [{"action": "warn"}, {"action": "amend", "from": NOW + DAY}])
def test_routing_can_only_warn(lua: Lua, routing: dict[str, Any]) -> None:
    table = policy(routing={"order": ["gq-short", "gq", "gq-long"], **routing})
    decision = lua.decide(request(limit=2 * H), table)
    assert decision["verdict"] == "accept"
    assert decision["messages"] == ["adminkit: no queue was named; gq-short would accept this job (-p gq-short)."]
    named = lua.decide(request(queues=["gq-short"], limit=100 * H), table)
    assert named["verdict"] == "accept"
    assert named["messages"] == ["adminkit: gq-short cannot run this job; gq-long can (-p gq-long)."]


def test_routing_that_is_off_does_nothing(lua: Lua) -> None:
    table = policy(routing={"action": "off", "order": ["gq-short"]})
    assert lua.decide(request(limit=2 * H), table)["verdict"] == "accept"
    assert lua.decide(request(queues=["gq-short"], limit=100 * H), table)["verdict"] == "accept"


def test_a_limit_set_for_the_default_queue_does_not_route_the_job_the_second_time(lua: Lua) -> None:
    table = policy(rule("default_limit", 2 * H, "amend"))
    first = lua.decide(request(limit_kind="unset"), table)
    assert (first["queue"], first["limit"]) == ("gq", 2 * H)
    second = lua.decide(applied(request(limit_kind="unset"), first), table)
    assert (second["verdict"], second["messages"]) == ("accept", [])


def test_a_rule_that_would_change_the_job_keeps_it_out(lua: Lua) -> None:
    table = policy(rule("max_limit", H, "amend", queues="gq-short"))
    assert lua.decide(request(limit=2 * H), table)["queue"] == "gq"


def test_a_rule_that_is_not_in_force_yet_does_not(lua: Lua) -> None:
    table = policy(rule("max_limit", H, "amend", queues="gq-short", from_=NOW + DAY))
    decision = lua.decide(request(limit=2 * H), table)
    assert decision["queue"] == "gq-short"
    assert [item["action"] for item in decision["fired"]] == ["amend", "warn"]


def test_conditions_of_rules_count_in_the_candidate(lua: Lua) -> None:
    table = policy(rule("max_limit", H, queues="gq-short", except_users=ALICE))
    assert lua.decide(request(limit=2 * H), table)["queue"] == "gq-short"
    assert lua.decide(request(limit=2 * H, uid=1002), table)["queue"] == "gq"
