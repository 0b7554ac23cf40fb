"""A rule cannot be passed by spelling: every request is counted as Slurm counts it, or refused as unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.job_submit import site
from tests.job_submit.policies import ALICE, HOUR, QUEUES, incentives, policy, queue, rule
from tests.job_submit.runtime import Lua

OK, REFUSED = 0, -1
USE_MIN_NODES = 512
#: Nodes of 8 CPUs, 8 GPUs and 64 GB; `whole` gives whole nodes.
SMALL = queue(max_limit=72 * HOUR, total_nodes=4, max_nodes=4, node_cpus=8, node_mem=64_000)
SITE = {"gq": {**SMALL, "is_default": True}, "whole": {**SMALL, "whole": True}}

Desc = dict[str, Any]


def submit(
    lua: Lua, folder: Path, *rules: dict[str, Any], desc: Desc, release: float = 22.05, **more: Any
) -> dict[str, Any]:
    plain = {"tres_per_node": None, "num_tasks": None, "min_nodes": None, "cpus_per_task": None, "time_limit": 60}
    tables = {"policy": policy(*rules, queues=SITE, routing={"action": "off", "order": []}), **more}
    return site.run(lua, site.case(site.write(folder, **tables), desc={**plain, **desc}, release=release))


GPUS = [
    ("8", "the plain number"),
    ("+8", "a sign"),
    (" 8", "a blank"),
    ("\t+08", "both, and a zero in front"),
    ("8k", "a suffix"),
    ("0,gres:gpu:+8", "behind a zero"),
    ("1,gres:gpu:8", "behind a small one"),
    ("a:4,gres:gpu:b:4", "of two types"),
]


@pytest.mark.parametrize("field", ["tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket"])
@pytest.mark.parametrize(("words", "why"), GPUS)
def test_gpus_are_counted_whatever_their_spelling(lua: Lua, tmp_path: Path, field: str, words: str, why: str) -> None:
    desc = {field: f"gres:gpu:{words}", "num_tasks": 1, "sockets_per_node": 1}
    answer = submit(lua, tmp_path, rule("gpus", {"max": 4}), desc=desc)
    assert answer["code"] != OK, why
    told = field != "tres_per_socket" and why != "behind a small one"
    assert (submit(lua, tmp_path, rule("gpus", {"max": 8192}), desc=desc)["code"] == OK) == told, why


#: fields, the rule, code, why. Texts come from tests/job_submit/policies.py where they have some.
HELD: list[tuple[Desc, tuple[str, int], int, str]] = [
    ({"tres_per_node": "gres:gpu:1,gres:gpu:1"}, ("gpus", 1), OK, "of equal ones Slurm takes one"),
    ({"tres_per_job": "gres:gpu:2,gres:gpu:1"}, ("gpus", 99), REFUSED, "of different ones it may get all of its nodes"),
    ({"tres_per_node": "gres:gpu:-8"}, ("gpus", 9999), REFUSED, "a number that wraps"),
    ({"tres_per_node": "gres:gpu:1", "min_nodes": 2}, ("gpus", 1), REFUSED, "one on each of two nodes"),
    ({"shared": 0}, ("gpus", 7), REFUSED, "--exclusive has all GPUs of its node"),
    ({"shared": 0}, ("gpus", 8), OK, "as many as that are allowed"),
    ({"shared": 0, "num_tasks": 1}, ("cpus", 7), REFUSED, "and all CPUs"),
    ({"shared": 0}, ("gpus_per_node", 7), REFUSED, "and those of each node"),
    ({"partition": "whole"}, ("gpus", 7), REFUSED, "a queue of whole nodes"),
    ({"partition": "whole"}, ("gpus", 8), OK, "a queue of whole nodes with room"),
    ({"partition": "gq,whole"}, ("gpus", 7), REFUSED, "one of its queues is of whole nodes"),
    ({"reboot": 1}, ("gpus", 7), REFUSED, "--reboot takes whole nodes"),
    ({"min_nodes": 4}, ("nodes", 2), REFUSED, "-N4"),
    ({"num_tasks": 32, "min_cpus": 32}, ("nodes", 2), REFUSED, "32 tasks need four nodes"),
    ({"num_tasks": 4, "cpus_per_task": 8, "min_cpus": 32}, ("nodes", 2), REFUSED, "-n4 -c8"),
    ({"num_tasks": 4, "min_cpus": 4, "min_mem_per_cpu": 60_000}, ("nodes", 2), REFUSED, "memory for one CPU a node"),
    ({"num_tasks": 8, "min_cpus": 8, "min_mem_per_cpu": 30_000}, ("nodes", 2), REFUSED, "memory for two CPUs a node"),
    ({"num_tasks": 4, "ntasks_per_node": 1, "min_nodes": 1}, ("nodes", 2), OK, "held to two by Slurm itself"),
    ({"num_tasks": 32, "min_cpus": 1}, ("nodes", 2), OK, "-n32 -O runs on one"),
    ({"req_nodes": "n[1-3]", "min_nodes": 3}, ("nodes", 2), REFUSED, "three named nodes, as 22.05 and sbatch say"),
    ({"req_nodes": "n[1-3]"}, ("nodes", 2), OK, "two of three named nodes, by a raw client of 23.02 or later"),
    ({"req_nodes": "n[1-3]", "min_nodes": 1, "max_nodes": 1}, ("nodes", 2), OK, "one of three named nodes"),
    ({"req_nodes": "switch{s1}"}, ("nodes", 2), REFUSED, "all nodes of a switch"),
    ({"req_nodes": "block{b1}", "min_nodes": 1, "max_nodes": 1}, ("nodes", 2), REFUSED, "all nodes of a block"),
    (
        {"tres_per_job": "gres:gpu:5", "tres_per_node": "gres/gpu=0"},
        ("gpus_per_node", 4),
        REFUSED,
        "none a node is no most",
    ),
    ({"tres_per_job": "gres:gpu:8"}, ("gpus_per_node", 4), REFUSED, "Slurm may put all of them on one node"),
    ({"tres_per_task": "gres:gpu:1"}, ("gpus", 4), REFUSED, "of tasks that nobody has counted"),
    ({"tres_per_socket": "gres:gpu:1"}, ("gpus_per_node", 8), OK, "of sockets: no more than a node has"),
    ({"tres_per_socket": "gres:gpu:1"}, ("gpus_per_node", 7), REFUSED, "of sockets: as many as a node has"),
    ({"tres_per_node": "gres:gpu:9"}, ("gpus_per_node", 8), REFUSED, "more than a node has"),
    ({"tres_per_socket": "gres:gpu:1"}, ("gpus", 4), REFUSED, "of sockets that nobody has counted"),
    ({"ntasks_per_tres": 1, "min_nodes": 4, "max_nodes": 4}, ("gpus", 2), REFUSED, "a GPU for tasks that Slurm adds"),
    ({"num_tasks": 4, "cpus_per_task": 4, "min_cpus": 16}, ("cpus", 8), REFUSED, "-n4 -c4"),
    ({"max_cpus": 32}, ("cpus", 8), REFUSED, "a raw client's most CPUs"),
    ({"num_tasks": 1, "tres_per_task": "cpu:16"}, ("cpus", 8), REFUSED, "--tres-per-task=cpu:16"),
    ({"num_tasks": 8, "min_cpus": 8, "ntasks_per_node": 4}, ("cpus", 8), OK, "held to two nodes by Slurm itself"),
    ({"tres_per_job": "gres:gpu:2", "cpus_per_tres": "gres:gpu:+6"}, ("cpus", 8), REFUSED, "CPUs of GPUs"),
    ({"tres_per_job": "gres:gpu:2", "ntasks_per_tres": 6}, ("cpus", 8), REFUSED, "tasks of GPUs"),
]


@pytest.mark.parametrize(("desc", "held", "code", "why"), HELD, ids=[case[3] for case in HELD])
def test_a_number_rule_holds(lua: Lua, tmp_path: Path, desc: Desc, held: tuple[str, int], code: int, why: str) -> None:
    answer = submit(lua, tmp_path, rule(held[0], {"max": held[1]}), desc=desc)
    assert (answer["code"] == OK) == (code == OK), (why, answer["messages"])


#: fields, rules, max_nodes afterwards (None: as it was), why
CAPPED: list[tuple[Desc, list[dict[str, Any]], int | None, str]] = [
    ({"num_tasks": 4, "min_cpus": 4}, [rule("nodes", {"max": 2})], 2, "as many nodes as tasks, else"),
    ({"num_tasks": 2, "min_cpus": 2}, [rule("nodes", {"max": 2})], None, "never more than two"),
    ({"num_tasks": 4, "min_cpus": 4, "bitflags": 256}, [rule("nodes", {"max": 2})], 2, "--spread-job"),
    ({"num_tasks": 4, "tres_per_node": "gres:gpu:1"}, [rule("gpus", {"max": 1})], 1, "a GPU on each node"),
    ({"num_tasks": 4, "tres_per_node": "gres:gpu:2"}, [rule("gpus", {"max": 5})], 2, "two GPUs on each node"),
    ({"num_tasks": 4, "min_cpus": 4, "shared": 0}, [rule("gpus", {"max": 8})], 1, "whole nodes of eight GPUs"),
    ({"num_tasks": 4, "min_nodes": 1, "max_nodes": 4}, [rule("nodes", {"max": 4})], None, "what the job says stays"),
    ({"num_tasks": 4, "min_cpus": 4}, [rule("max_limit", 60, classes="multi-node")], 1, "no multi-node job by chance"),
    ({"num_tasks": 4, "min_cpus": 4}, [rule("max_limit", 7200, classes="multi-node")], None, "a rule that it keeps"),
    ({"num_tasks": 4, "min_cpus": 4}, [rule("nodes", {"max": 2}, "warn")], None, "a warning holds nobody"),
    ({"num_tasks": 4}, [rule("nodes", {"max": 3}), rule("nodes", {"max": 2}, name="b")], 2, "the least of two rules"),
]


@pytest.mark.parametrize(("desc", "rules", "most", "why"), CAPPED, ids=[case[3] for case in CAPPED])
def test_slurm_is_told_how_many_nodes_a_rule_leaves(
    lua: Lua, tmp_path: Path, desc: Desc, rules: list[dict[str, Any]], most: int | None, why: str
) -> None:
    """As few as it can all the same: without that bit Slurm takes as many as it may."""
    answer = submit(lua, tmp_path, *rules, desc=desc)
    assert (answer["code"], answer["messages"]) == (OK, []), why
    after = answer["desc"]
    if most is None:
        assert (after.get("max_nodes"), after.get("bitflags")) == (desc.get("max_nodes"), desc.get("bitflags")), why
    else:
        assert (after["max_nodes"], after["bitflags"]) == (most, USE_MIN_NODES + desc.get("bitflags", 0)), why


def test_a_rule_for_a_class_holds_whoever_may_become_of_it(lua: Lua, tmp_path: Path) -> None:
    held = rule("max_limit", 60, classes="multi-node")
    for desc, code, why in (
        ({"min_nodes": 2}, REFUSED, "two nodes"),
        ({"min_nodes": 1, "max_nodes": 4, "num_tasks": 4}, REFUSED, "up to four nodes"),
        ({"num_tasks": 12, "min_cpus": 12}, REFUSED, "more CPUs than a node has"),
        ({"num_tasks": 8, "min_cpus": 8, "min_nodes": 1, "max_nodes": 1}, OK, "one node"),
    ):
        assert (submit(lua, tmp_path, held, desc=desc)["code"] == OK) == (code == OK), why
    many = rule("max_limit", 60, classes="multi-gpu")
    assert submit(lua, tmp_path, many, desc={"shared": 0})["code"] != OK, "--exclusive has all GPUs of its node"
    assert submit(lua, tmp_path, many, desc={"tres_per_node": "gres:gpu:1"})["code"] == OK


@pytest.mark.parametrize(
    ("qos", "accepted"),
    [
        ("interactive", False),
        ("interactive,normal", False),
        ("normal, interactive", False),
        ("normal,long", True),
        (None, True),
    ],
)
def test_a_list_of_qos_keeps_the_rules_of_each(lua: Lua, tmp_path: Path, qos: str | None, accepted: bool) -> None:
    answer = submit(lua, tmp_path, rule("max_limit", 60, qos="interactive"), desc={"qos": qos})
    assert (answer["code"] == OK) == accepted


def test_a_number_that_nobody_can_tell_is_refused_with_what_to_type(lua: Lua, tmp_path: Path) -> None:
    texts = {"en": {"unsure.reject": "{check}: {value}, not {asked}. Type: --gpus-per-node=N", "gpus": "wrong"}}
    rules = [rule("gpus", {"max": 4}, text={"en": "the rule's own"})]
    tables = policy(*rules, queues=SITE, texts=texts, routing={"action": "off", "order": []})
    answer = submit(lua, tmp_path, policy=tables, desc={"tres_per_node": "gres:gpu:8 "})
    assert answer["messages"] == ["gpus: 0-4, not ?. Type: --gpus-per-node=N"]
    warned = submit(lua, tmp_path, rule("gpus", {"max": 4}, "warn"), desc={"tres_per_node": "gres:gpu:8 "})
    assert (warned["code"], len(warned["messages"])) == (OK, 1)


#: fields, points and the class in the record
PAID: list[tuple[Desc, int | None, str | None, str]] = [
    ({"min_nodes": 2, "max_nodes": 2}, 300, "multi-node", "two nodes"),
    ({"num_tasks": 12, "min_cpus": 12}, 300, "multi-node", "more CPUs than a node has"),
    ({"min_nodes": None, "num_tasks": 2, "ntasks_per_node": 1}, None, None, "24.11 put both tasks on one node"),
    ({"num_tasks": 32, "ntasks_per_node": 2, "min_cpus": 32}, None, None, "and gave one of sixteen nodes"),
    (
        {"min_nodes": 1, "max_nodes": 1, "tres_per_node": None, "num_tasks": 3, "ntasks_per_tres": 1},
        None,
        None,
        "26.05: none",
    ),
    (
        {"min_nodes": 1, "max_nodes": 1, "tres_per_job": "gres:gpu:1", "tres_per_node": "gres:gpu:2"},
        None,
        None,
        "one GPU of the job, two of each node",
    ),
    ({"tres_per_node": "gres:gpu:2"}, 100, "multi-gpu", "two GPUs"),
    ({"tres_per_node": "gres:gpu:1,gres:gpu:1"}, None, None, "one GPU, said twice"),
    ({"tres_per_job": "gres:gpu:1,gres:gpu:1"}, None, None, "one GPU of the job, said twice"),
    ({"tres_per_node": "gpu:8"}, None, None, "slurmctld passes over this word"),
    ({"tres_per_node": "gres/gpu:8"}, None, None, "and 22.05 over this one"),
    ({"req_nodes": "n1,n2", "min_nodes": 1, "max_nodes": 1}, None, None, "one of two named nodes"),
    ({"req_nodes": "n1,n2"}, None, None, "one or both of two named nodes"),
    ({"min_nodes": 1, "max_nodes": 2, "num_tasks": 2}, None, None, "one node or two"),
    ({"tres_per_node": "gres:gpu:2", "num_tasks": 4}, None, None, "several GPUs or several nodes"),
    ({"shared": 0, "min_nodes": 1, "max_nodes": 1}, None, None, "all GPUs of a node that may have none"),
    ({"shared": 0, "min_nodes": 2, "max_nodes": 2}, 300, "multi-node", "two whole nodes"),
]


@pytest.mark.parametrize(("desc", "points", "paid", "why"), PAID, ids=[case[3] for case in PAID])
def test_points_of_a_class_are_given_where_it_is_certain(
    lua: Lua, tmp_path: Path, desc: Desc, points: int | None, paid: str | None, why: str
) -> None:
    answer = submit(lua, tmp_path, desc=desc, incentives=incentives(users={ALICE: {"points": 0, "class": True}}))
    record = dict(word.split("=") for word in answer["desc"]["admin_comment"][4:].split(","))
    assert (answer["desc"].get("site_factor"), record.get("cls")) == (points, paid), why
    assert ("own" in record) == ("shared" in desc)


def test_gpus_by_sockets_of_one_submission_leave_nothing_to_the_next(lua: Lua, tmp_path: Path) -> None:
    earned = incentives(users={ALICE: {"points": 0, "class": True}})
    folder = site.write(tmp_path, policy=policy(queues=SITE), incentives=earned)
    before = {**site.DESC, "tres_per_socket": "gres:gpu:4", "sockets_per_node": 2}
    answer = site.run(lua, site.case(folder, desc={"tres_per_node": "gres:gpu:2"}, before=before))
    assert answer["desc"].get("site_factor") == 100


ONE_NODE = {"min_nodes": 1, "max_nodes": 1}
#: fields of a request to Slurm 26.05, points and why
PAID_2605: list[tuple[Desc, int | None, str]] = [
    ({"tres_per_socket": "gres:gpu=4"}, None, "no list of Slurm's has both : and ="),
    ({"tres_per_socket": "gres/gpu=4"}, None, "26.05 gave no GPU where the job does not give the number of sockets"),
    ({"tres_per_socket": "gres/gpu:4"}, None, "the same with a colon"),
    ({"tres_per_socket": "gres:gpu:4"}, None, "the same with two colons"),
    ({"tres_per_socket": "gres/gpu=4", **ONE_NODE, "num_tasks": 1}, None, "one node and one task give no sockets"),
    ({"tres_per_socket": "gres/gpu=4", "sockets_per_node": 0xFFFE}, None, "Slurm's word for no number of sockets"),
    ({"tres_per_socket": "gres/gpu=4", "tres_per_node": "gres/gpu:4"}, None, "nor where a node has GPUs besides"),
    ({"tres_per_socket": "gres/gpu=4", "tres_per_job": "gres/gpu:4", **ONE_NODE}, None, "or the job"),
    ({"tres_per_socket": "gres/gpu=4", "min_nodes": 2, "max_nodes": 2}, 300, "two nodes are multi-node in any case"),
    ({"tres_per_socket": "gres/gpu=4", "sockets_per_node": 1}, None, "nor where it does"),
    ({"tres_per_socket": "gres/gpu=4", "sockets_per_node": 8, "ntasks_per_node": 8}, None, "24.11 and 26.05 gave none"),
    ({"tres_per_socket": "gres/gpu=4", "sockets_per_node": 1, "max_nodes": 4}, None, "on one node or on four"),
    ({"tres_per_socket": "gres/gpu:0", "tres_per_node": "gres/gpu:4"}, 100, "no GPU of a socket takes nothing away"),
    ({"tres_per_node": "gres/gpu=4"}, 100, "four GPUs of the node"),
    ({"tres_per_node": "gres:gpu=4"}, None, "which 26.05 may refuse or pass over"),
    ({"tres_per_node": "gres:gpu=4", "tres_per_job": "gres/gpu:4", **ONE_NODE}, None, "whatever else the job names"),
    ({"tres_per_job": "gres/gpu=4", **ONE_NODE}, 100, "four GPUs of the job"),
    ({"tres_per_job": "gres:gpu=4", **ONE_NODE}, None, "which 26.05 may refuse or pass over"),
    ({"tres_per_job": "gres:gpu=4", "tres_per_node": "gres/gpu:4"}, None, "whatever else the job names"),
    ({"tres_per_task": "gres/gpu=4", "num_tasks": 1, **ONE_NODE}, 100, "four GPUs of one task"),
    ({"tres_per_task": "gres:gpu=4", "num_tasks": 1}, None, "which 26.05 may refuse or pass over"),
    ({"tres_per_task": "gres:gpu=4", "num_tasks": 1, "tres_per_node": "gres/gpu:4"}, None, "whatever else it names"),
    ({"tres_per_task": "gres/gpu=4", **ONE_NODE}, 100, "four GPUs of the one task that Slurm works out of one node"),
    ({"tres_per_task": "gres/gpu=4", **ONE_NODE, "max_nodes": 4}, None, "of tasks that nobody has counted"),
]


@pytest.mark.parametrize(("desc", "points", "why"), PAID_2605, ids=[f"{case[2]}-{case[0]}" for case in PAID_2605])
def test_points_on_26_05_are_given_where_no_reading_gives_another_class(
    lua: Lua, tmp_path: Path, desc: Desc, points: int | None, why: str
) -> None:
    earned = incentives(
        users={ALICE: {"points": 0, "class": True}},
        class_points={"multi-node": 300, "multi-gpu": 100, "single-gpu": 20, "cpu": 10},
    )
    answer = submit(lua, tmp_path, desc=desc, release=26.05, incentives=earned)
    assert answer["desc"].get("site_factor") == points, why


def test_gpus_of_uncounted_sockets_reach_no_minimum(lua: Lua, tmp_path: Path) -> None:
    held, sockets = rule("gpus", {"min": 1}), {"tres_per_socket": "gres/gpu:4"}
    assert submit(lua, tmp_path, held, desc=sockets, release=26.05)["code"] != OK
    assert submit(lua, tmp_path, held, desc={**sockets, "sockets_per_node": 1}, release=26.05)["code"] == OK


@pytest.mark.parametrize(("release", "points"), [(22.05, None), (23.11, 100)])
def test_points_for_a_slash_are_given_where_slurm_reads_it(
    lua: Lua, tmp_path: Path, release: float, points: int | None
) -> None:
    earned = incentives(users={ALICE: {"points": 0, "class": True}})
    answer = submit(lua, tmp_path, desc={"tres_per_node": "gres/gpu:8"}, release=release, incentives=earned)
    assert answer["desc"].get("site_factor") == points


def test_a_job_of_whole_nodes_is_known_again_when_it_moves(lua: Lua, tmp_path: Path) -> None:
    """slurmctld does not show job_submit whether an older job takes whole nodes; its record does."""
    held = rule("gpus", {"max": 4}, queues="gq")
    tables = {"policy": policy(held, queues={**QUEUES, **SITE}, routing={"action": "off", "order": []})}
    folder = site.write(tmp_path, **tables)
    for record, accepted in (
        ("ak1:lim=60,src=e", True),
        ("ak1:lim=60,src=e,own=node", False),
        (None, False),
        ("not ours", False),
    ):
        rec = {"partition": "gq-long", "admin_comment": record, "tres_per_node": None}
        one = site.case(folder, desc={"partition": "gq"}, rec={key: value for key, value in rec.items() if value})
        assert (site.run(lua, one)["code"] == OK) == accepted, record
        one = site.case(folder, desc={"time_limit": 30}, rec={**rec, "partition": "gq", "admin_comment": record or ""})
        assert site.run(lua, one)["code"] == OK, "another change is another matter"


@pytest.mark.parametrize(
    "desc",
    [
        {"min_nodes": 3, "num_tasks": 1, "tres_per_task": "cpu:2,gres/gpu:1"},
        {"max_nodes": 1, "num_tasks": 1, "tres_per_task": "gres/gpu:1,gres/gpu:1"},
        {"min_nodes": 2, "max_nodes": 2, "num_tasks": 2, "tres_per_task": "cpu:2,gres/gpu:1"},
        {"max_nodes": 3, "num_tasks": 9, "tres_per_job": "gres/gpu:1,gres/gpu:1"},
    ],
)
def test_a_list_that_slurm_passes_over_leaves_the_gpus_of_the_nodes(lua: Lua, tmp_path: Path, desc: Desc) -> None:
    """22.05 ran each with all eight GPUs of its nodes."""
    held = rule("gpus", {"max": 4}, queues="gq")
    tables = {"policy": policy(held, queues={**QUEUES, **SITE}, routing={"action": "off", "order": []})}
    folder = site.write(tmp_path, **tables)
    rec = {"partition": "gq-long", "tres_per_node": "gres:gpu:8", "num_tasks": 1, "admin_comment": "ak1:lim=60,src=e"}
    one = site.case(folder, desc={**desc, "partition": "gq"}, rec=rec, release=22.05)
    assert site.run(lua, one)["code"] != OK
    both = {"tres_per_node": "gres:gpu:8", **desc}
    assert submit(lua, tmp_path, rule("gpus", {"max": 4}), desc=both)["code"] != OK, "nor at submission"


def test_an_update_is_held_to_the_nodes_that_are_left(lua: Lua, tmp_path: Path) -> None:
    held = rule("nodes", {"max": 2})
    folder = site.write(tmp_path, policy=policy(held, queues=SITE, routing={"action": "off", "order": []}))
    rec = {"tres_per_node": "", "admin_comment": "ak1:lim=60,src=e"}
    for cpus, most in ((1, 1), (2, 2), (4, 2)):
        answer = site.run(lua, site.case(folder, desc={"qos": "other"}, rec={**rec, "min_cpus": cpus}))
        left = (answer["code"], answer["desc"].get("max_nodes"), answer["desc"].get("bitflags"))
        assert left == (OK, most, None), "it has no more tasks than CPUs"
    assert site.run(lua, site.case(folder, desc={"num_tasks": 32, "min_cpus": 32}, rec=rec))["code"] != OK
    running = site.run(lua, site.case(folder, desc={"time_limit": 30}, rec={**rec, "job_state": 1, "min_cpus": 4}))
    assert (running["code"], running["desc"].get("max_nodes")) == (OK, None)
