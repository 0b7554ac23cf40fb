"""`scontrol update` cannot make a job bigger than the rules of its queue allow, whatever slurmctld shows of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.job_submit import site
from tests.job_submit.policies import ALICE, HOUR, incentives, policy, queue, rule
from tests.job_submit.runtime import Lua

OK = 0
#: Nodes of 8 CPUs, 8 GPUs and 64 GB.
SMALL = queue(max_limit=72 * HOUR, total_nodes=4, max_nodes=4, node_cpus=8, node_mem=64_000)
SITE = {"gq": {**SMALL, "is_default": True}, "free": SMALL, "whole": {**SMALL, "whole": True}}
SHARED, WHOLE = "ak1:lim=60,src=e", "ak1:lim=60,src=e,own=node"

Fields = dict[str, Any]


def update(lua: Lua, folder: Path, *rules: Fields, desc: Fields, rec: Fields, **more: Any) -> Fields:
    table = policy(*rules, queues=SITE, routing={"action": "off", "order": []}, **more)
    return site.run(lua, site.case(site.write(folder, policy=table), desc=desc, rec=rec))


ONE: Fields = {"tres_per_node": "gres:gpu:1"}
REFUSED = -1
#: the check, its most, the job, the change, whether Slurm takes it, why
GROWING: list[tuple[str, int, Fields, Fields, bool, str]] = [
    ("gpus", 4, ONE, {"tres_per_node": "gres:gpu:8"}, False, "from one GPU to eight"),
    ("gpus", 4, ONE, {"min_nodes": 8, "max_nodes": 8}, False, "from one node to eight"),
    ("gpus", 4, {**ONE, "max_nodes": 1}, {"tres_per_node": "gres:gpu:4"}, True, "as many as are allowed"),
    ("gpus", 4, ONE, {"tres_per_node": "gres:gpu:4"}, False, "as many on each of nobody knows how many nodes"),
    (
        "gpus",
        4,
        ONE,
        {"tres_per_node": "gres:gpu:4", "max_nodes": 1},
        False,
        "on one node, of nobody knows how much before",
    ),
    ("gpus", 4, ONE, {"features": "ib"}, True, "another change"),
    (
        "gpus",
        2,
        {"tres_per_job": "gres:gpu:2", "num_tasks": 4, "max_nodes": 1},
        {"tres_per_socket": "gres/gpu:0,gres/gpu:1", "sockets_per_node": 1},
        False,
        "a list by sockets beside the GPUs of the job",
    ),
    ("gpus_per_node", 4, ONE, {"tres_per_node": "gres:gpu:8"}, False, "from one GPU on each node to eight"),
    ("gpus_per_node", 4, ONE, {"features": "ib"}, True, "another change of GPUs on each node"),
    ("gpus_per_node", 8, ONE, {"qos": "high"}, True, "a QOS where a node has no more"),
    ("gpus_per_node", 8, ONE, {"account": "chemistry"}, True, "an account where a node has no more"),
    ("gpus_per_node", 8, {**ONE, "partition": "free"}, {"partition": "gq"}, True, "a queue whose nodes have no more"),
    ("gpus_per_node", 7, {**ONE, "partition": "free"}, {"partition": "gq"}, False, "a queue whose nodes have more"),
    ("cpus", 4, {"min_cpus": 1}, {"min_cpus": 8, "num_tasks": 8}, False, "from one CPU to eight"),
    ("cpus", 4, {"min_cpus": 1}, {"features": "ib"}, True, "another change of CPUs"),
]


@pytest.mark.parametrize("record", ["admin_comment", "comment", "extra", "none"])
@pytest.mark.parametrize(("check", "most", "rec", "desc", "taken", "why"), GROWING, ids=[case[5] for case in GROWING])
def test_a_job_of_which_nobody_knows_whether_it_takes_whole_nodes(
    lua: Lua, tmp_path: Path, record: str, check: str, most: int, rec: Fields, desc: Fields, taken: bool, why: str
) -> None:
    held = rule(check, {"max": most}, queues="gq")
    answer = update(lua, tmp_path, held, desc=desc, rec=rec, record=record)
    assert ((answer["code"] == OK), answer["errors"]) == (taken, []), why


@pytest.mark.parametrize(
    ("desc", "taken", "why"),
    [
        ({"min_nodes": 4, "max_nodes": 4}, False, "four whole nodes"),
        ({"time_limit": 30}, True, "another change"),
        ({"tres_per_node": "gres:gpu:2"}, True, "it had all GPUs of its node before"),
    ],
)
def test_a_job_of_whole_nodes_that_broke_a_rule_takes_no_more_of_them(
    lua: Lua, tmp_path: Path, desc: Fields, taken: bool, why: str
) -> None:
    rec = {**ONE, "max_nodes": 1, "admin_comment": WHOLE}
    answer = update(lua, tmp_path, rule("gpus", {"max": 4}), desc=desc, rec=rec)
    assert (answer["code"] == OK) == taken, why


def test_a_job_with_a_number_that_nobody_can_tell_takes_no_more_of_what_is_told(lua: Lua, tmp_path: Path) -> None:
    rec = {"tres_per_node": "gres:gpu:1 ", "admin_comment": SHARED}
    held = rule("gpus", {"max": 4})
    assert update(lua, tmp_path, held, desc={"time_limit": 30}, rec=rec)["code"] == OK
    assert update(lua, tmp_path, held, desc={"tres_per_job": "gres:gpu:8"}, rec=rec)["code"] != OK


HIDDEN = "cpu=8,mem=8G,node=1,billing=8,gres/gpu=8,gres/gpu:a100=8"


@pytest.mark.parametrize(
    ("most", "rec", "desc", "taken", "why"),
    [
        (4, {"tres_fmt_req_str": HIDDEN}, {"partition": "gq"}, False, "eight GPUs by --ntasks-per-gpu"),
        (8, {"tres_fmt_req_str": HIDDEN}, {"partition": "gq"}, True, "as many as are allowed"),
        (4, {"tres_fmt_req_str": "cpu=1,gres/gpu:a=4,gres/gpu:b=4"}, {"partition": "gq"}, False, "counted by types"),
        (4, {"tres_fmt_req_str": "cpu=1,gres/gpumem=8G"}, {"partition": "gq"}, True, "no GPU"),
        (4, {"tres_fmt_req_str": "cpu=1,gres/gpu=8X"}, {"partition": "gq"}, False, "a number nobody reads"),
        (4, {"tres_fmt_req_str": HIDDEN}, {"partition": "gq", "tres_per_job": "gres:gpu:2"}, False, "in two updates"),
        (4, {**ONE, "tres_fmt_req_str": "gres/gpu=1"}, {"partition": "gq"}, True, "as its own words say"),
        (4, {**ONE, "tres_fmt_req_str": "gres/gpu=9"}, {"partition": "gq"}, False, "more than its own words say"),
        (
            4,
            {"tres_fmt_req_str": HIDDEN},
            {"partition": "gq", "tres_per_node": "gres/gpu:0"},
            False,
            "words alone change",
        ),
        (4, {"tres_per_node": "gres/gpu:0", "tres_fmt_req_str": HIDDEN}, {"partition": "gq"}, False, "words changed"),
        (4, {"tres_fmt_req_str": HIDDEN, "partition": "gq"}, {"time_limit": 30}, True, "they were there before"),
    ],
)
def test_gpus_that_only_slurms_own_count_shows(
    lua: Lua, tmp_path: Path, most: int, rec: Fields, desc: Fields, taken: bool, why: str
) -> None:
    """job_submit cannot see --ntasks-per-gpu of an older job."""
    job = {"partition": "free", "tres_per_node": None, "admin_comment": SHARED, **rec}
    answer = update(lua, tmp_path, rule("gpus", {"max": most}, queues="gq"), desc=desc, rec=job)
    assert (answer["code"] == OK, answer["errors"]) == (taken, []), why


@pytest.mark.parametrize(
    ("check", "most", "rec", "taken", "why"),
    [
        ("nodes", 2, {"min_cpus": 1}, True, "one CPU, held to one node"),
        ("nodes", 2, {"min_cpus": 16, "pn_min_cpus": 4}, True, "four nodes at most, held to two"),
        ("nodes", 1, {"min_cpus": 16, "pn_min_cpus": 16}, False, "CPUs of two nodes"),
        ("cpus", 20, {"min_cpus": 6, "pn_min_cpus": 6}, True, "six nodes of six CPUs, held to three"),
        ("cpus", 5, {"min_cpus": 6, "pn_min_cpus": 6}, False, "more than are allowed"),
    ],
)
def test_a_job_of_mincpus_may_have_as_many_tasks_as_cpus(
    lua: Lua, tmp_path: Path, check: str, most: int, rec: Fields, taken: bool, why: str
) -> None:
    """job_rec shows neither tasks nor the CPUs of each."""
    job = {"partition": "free", "tres_per_node": None, "admin_comment": SHARED, **rec}
    answer = update(lua, tmp_path, rule(check, {"max": most}, queues="gq"), desc={"partition": "gq"}, rec=job)
    assert (answer["code"] == OK, answer["errors"]) == (taken, []), why
    if taken:
        each = rec["pn_min_cpus"] if check == "cpus" else 1
        assert answer["desc"].get("max_nodes") == min(most // each, rec["min_cpus"]), why


@pytest.mark.parametrize(
    ("check", "desc", "taken", "why"),
    [
        ("nodes", {"num_tasks": 9}, False, "26.05 takes nine nodes for the most, and is not held to two"),
        ("nodes", {"num_tasks": 9, "max_nodes": 1}, False, "whatever it says of nodes"),
        ("nodes", {"num_tasks": 2}, True, "two tasks on two nodes"),
        ("gpus_per_node", {"num_tasks": 9}, True, "no GPUs"),
    ],
)
def test_an_update_of_tasks_may_take_as_many_nodes(
    lua: Lua, tmp_path: Path, check: str, desc: Fields, taken: bool, why: str
) -> None:
    job = {"tres_per_node": None, "admin_comment": SHARED}
    answer = update(lua, tmp_path, rule(check, {"max": 2}), desc=desc, rec=job)
    assert (answer["code"] == OK, answer["errors"]) == (taken, []), why
    assert answer["desc"].get("max_nodes") == desc.get("max_nodes"), "nothing is written that Slurm would pass over"


@pytest.mark.parametrize(
    ("rec", "desc", "taken", "why"),
    [
        ({"max_nodes": 1}, {"min_nodes": 2, "max_nodes": 2}, False, "from one node to two"),
        ({}, {"min_nodes": 2, "max_nodes": 2}, False, "to two nodes, from nobody knows how many"),
        ({"min_nodes": 2, "max_nodes": 2}, {"time_limit": 100}, True, "it was a long job of two nodes before"),
    ],
)
def test_a_rule_of_parallel_jobs_holds_for_one_that_becomes_parallel(
    lua: Lua, tmp_path: Path, rec: Fields, desc: Fields, taken: bool, why: str
) -> None:
    held = rule("max_limit", HOUR, classes="multi-node")
    job = {"tres_per_node": None, "admin_comment": SHARED, "time_limit": 120, **rec}
    answer = update(lua, tmp_path, held, desc=desc, rec=job)
    assert (answer["code"] == OK, answer["errors"]) == (taken, []), why


@pytest.mark.parametrize(
    ("rec", "desc", "points", "why"),
    [
        ({"min_mem_per_cpu": 60_000, "min_cpus": 2}, {"min_mem_per_cpu": 1}, REFUSED, "less memory for each CPU"),
        ({"min_mem_per_cpu": 60_000, "min_cpus": 2}, {"min_mem_per_node": 1}, REFUSED, "memory of the node instead"),
        ({"min_mem_per_cpu": 60_000, "min_cpus": 2}, {"min_cpus": 1}, REFUSED, "fewer CPUs"),
        ({"min_mem_per_cpu": 60_000, "min_cpus": 2}, {"min_mem_per_cpu": 50_000}, REFUSED, "two nodes by CPUs"),
        ({}, {"num_tasks": 2}, REFUSED, "two tasks may run on two nodes"),
        ({}, {"features": "ib"}, None, "its size is what it was"),
        ({"partition": "free"}, {"partition": "gq"}, None, "the nodes are shared there too"),
        ({"partition": "free"}, {"partition": "whole"}, REFUSED, "whole nodes bring all their GPUs"),
        (
            {"min_mem_per_node": 8, "min_cpus": 2, "site_factor": 0},
            {"min_mem_per_cpu": 60_000},
            None,
            "no sure two nodes",
        ),
    ],
)
def test_the_points_of_a_class_stay_with_what_made_it(
    lua: Lua, tmp_path: Path, rec: Fields, desc: Fields, points: int | None, why: str
) -> None:
    """Slurm sets a lower number last, or not at all."""
    table = policy(queues=SITE, routing={"action": "off", "order": []})
    paid = incentives(users={ALICE: {"points": 0, "class": True}})
    job = {"tres_per_node": None, "admin_comment": SHARED, "site_factor": 300, **rec}
    answer = site.run(lua, site.case(site.write(tmp_path, policy=table, incentives=paid), desc=desc, rec=job))
    assert answer["errors"] == [], why
    if points is REFUSED:
        assert (answer["code"] == OK, "site_factor" in answer["desc"]) == (False, False), why
    else:
        assert (answer["code"], answer["desc"].get("site_factor")) == (OK, points), why
