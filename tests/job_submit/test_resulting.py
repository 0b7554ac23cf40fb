"""An update is judged as a submission of the whole job that it would leave, in small and for random walks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.job_submit import site
from tests.job_submit.policies import ALICE, HOUR, NOW, incentives, policy, queue, rule
from tests.job_submit.runtime import Lua

OK = 0
NO_VAL = 4294967294
WATTS = 250
#: Nodes of 8 CPUs, 8 GPUs and 64 GB.
SMALL = queue(max_limit=72 * HOUR, total_nodes=4, max_nodes=4, node_cpus=8, node_mem=64_000)
QUEUES = {"gq": {**SMALL, "is_default": True}, "gq-short": SMALL, "gq-long": SMALL, "free": SMALL}
RULES = [
    rule("gpus", {"max": 2}, queues="gq"),
    rule("nodes", {"max": 2}, queues="gq", name="gq-nodes"),
    rule("gpus_per_node", {"max": 2}, queues="gq-long"),
    rule("mem_per_gpu", 4096, queues="gq-short"),
    rule("max_limit", HOUR, queues="free", classes="multi-node"),
    rule("max_limit", 2 * HOUR, queues="free", classes="multi-gpu", name="multi-gpu"),
]
POWER = {"licence": "watts", "budget_w": 8000, "gpu_w": {"": WATTS}}
TABLE = policy(*RULES, queues=QUEUES, routing={"action": "off", "order": []}, power=POWER)
PAID = incentives(users={}, class_points={"multi-node": 4, "multi-gpu": 3, "single-gpu": 2, "cpu": 1})

Fields = dict[str, Any]

BARE: Fields = {"tres_per_node": None, "admin_comment": "ak1:lim=60,src=e"}
JOB: Fields = {**BARE, "tres_per_job": "gres:gpu:1"}
NODE: Fields = {**BARE, "tres_per_node": "gres:gpu:1", "max_nodes": 1}
#: the check, its value, the job, the update, whether Slurm takes it, max_nodes that are written, why
DOORS: list[tuple[str, Any, Fields, Fields, bool, int | None, str]] = [
    ("gpus", {"max": 2}, JOB, {"min_nodes": 4}, False, None, "every GPU of four nodes"),
    ("gpus", {"max": 2}, JOB, {"min_nodes": 1, "max_nodes": 4}, False, None, "of up to four"),
    ("gpus", {"max": 2}, JOB, {"min_nodes": 1, "max_nodes": 1}, True, None, "of one it gets what it names"),
    ("gpus", {"max": 2}, JOB, {"req_nodes": "n[1-4]"}, True, 1, "held to one"),
    ("gpus", {"max": 2}, JOB, {"min_cpus": 32}, False, None, "CPUs of four nodes"),
    ("cpus", {"max": 8}, JOB, {"cpus_per_task": 2, "min_nodes": 1}, False, None, "two CPUs of each of unknown tasks"),
    ("gpus", {"max": 2}, JOB, {"num_tasks": 32}, False, None, "tasks that 26.05 takes for nodes"),
    ("gpus", {"max": 2}, {**BARE, "tres_per_node": "gres:gpu:1"}, {"prefer": "[odd*2&even*2]"}, True, 1,
     "nodes that it prefers by counts, of which it is held to one"),
    ("nodes", {"max": 2}, BARE, {"prefer": "[odd*2&even*2]"}, True, 1, "the same without GPUs"),
    ("gpus", {"max": 2}, NODE, {"prefer": "[odd*2&even*2]"}, True, None, "it takes one node, whatever it prefers"),
    ("gpus_per_node", {"max": 2}, JOB, {"min_nodes": 4}, False, None, "each of them with all it has"),
    ("gpus", {"max": 2}, {**JOB, "partition": "free", "min_nodes": 4}, {"partition": "gq"}, False, None, "it has them"),
    ("gpus", {"max": 2}, {**JOB, "partition": "free"}, {"partition": "gq"}, True, 1, "held to one node there"),
    ("gpus", {"max": 2}, {**JOB, "partition": "free", "max_nodes": 4}, {"partition": "gq"}, False, None, "up to four"),
    ("gpus", {"max": 2}, {**NODE, "tres_per_node": "gres:gpu:a:2"}, {"tres_per_node": "gres:gpu:b:2"}, False, None,
     "22.05 gives both types"),
    ("mem_per_gpu", 4096, {**NODE, "mem_per_tres": "gres:gpu:900"}, {"min_mem_per_node": 60_000}, False, None,
     "Slurm takes the node's"),
    ("mem_per_gpu", 4096, {**NODE, "mem_per_tres": "gres:gpu:900"}, {"min_mem_per_cpu": 9000}, False, None, "a CPU's"),
    ("mem_per_gpu", 4096, {**NODE, "mem_per_tres": "gres:gpu:900"}, {"min_mem_per_cpu": 0}, False, None, "all of it"),
    ("mem_per_gpu", 4096, {**NODE, "mem_per_tres": "gres:gpu:900"}, {"min_mem_per_node": 4000}, True, None, "enough"),
    ("mem_per_gpu", 4096, {**NODE, "mem_per_tres": "gres:gpu:900", "min_mem_per_node": 0},
     {"min_mem_per_node": 60_000}, False, None, "24.11 shows 0 of a job with memory by the GPU"),
    ("mem_per_gpu", 4096, {**NODE, "mem_per_tres": "gres:gpu:900", "min_mem_per_node": 0},
     {"min_mem_per_cpu": 0}, False, None, "and 22.05 after a run, which is not all of a node until it is asked for"),
    ("mem_per_gpu", 4096, {**NODE, "min_mem_per_node": 0, "partition": "free"}, {"partition": "gq"}, False, None,
     "it had all of a node"),
    ("mem_per_gpu", 4096, {**NODE, "min_mem_per_cpu": 500, "partition": "free"}, {"partition": "gq"}, True, None,
     "it has what the site gives"),
    ("gpus", {"max": 2}, {**NODE, "tres_per_node": "gres:gpu:8", "partition": "free"},
     {"partition": "gq", "tres_per_node": "gres:gpu:2"}, False, None, "the queue may come alone"),
    ("gpus", {"max": 2}, {**NODE, "min_nodes": 2, "max_nodes": 2},
     {"min_nodes": 1, "max_nodes": 1, "tres_per_node": "gres:gpu:2"}, False, None, "the GPUs may come alone"),
    ("gpus", {"max": 2}, NODE, {"time_limit": 60, "tres_per_node": "gres:gpu:2", "features": "ib"}, True, None,
     "any part is within the rule"),
    ("max_limit", HOUR, {**NODE, "partition": "free"}, {"partition": "gq", "time_limit": 60}, True, None,
     "nothing can go wrong between the two"),
    ("max_limit", HOUR, {**NODE, "partition": "free"}, {"partition": "gq", "time_limit": 60, "min_cpus": 1}, False,
     None, "here it can"),
    ("gpus", {"max": 8}, {**NODE, "partition": "whole", "restart_cnt": 1}, {"partition": "gq"}, False, None,
     "it ran on whole nodes"),
    ("gpus", {"max": 8}, {**NODE, "partition": "whole"}, {"partition": "gq"}, True, None, "it never ran"),
    ("gpus", {"max": 8}, NODE,
     {"time_limit": 60, "min_nodes": 1, "min_cpus": 1, "num_tasks": 1, "min_mem_per_node": 9, "partition": "gq"}, False,
     None, "so many things that their parts are too many"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "value", "rec", "desc", "taken", "most", "why"), DOORS, ids=[d[-1] for d in DOORS])
def test_a_door(
    lua: Lua, tmp_path: Path, check: str, value: Any, rec: Fields, desc: Fields, taken: bool, most: int | None, why: str
) -> None:
    queues = {**QUEUES, "whole": {**SMALL, "whole": True}}
    table = policy(rule(check, value, queues="gq"), queues=queues, routing={"action": "off", "order": []})
    answer = site.run(lua, site.case(site.write(tmp_path, policy=table), desc=desc, rec=rec))
    assert (answer["code"] == OK, answer["errors"]) == (taken, []), (why, answer["messages"])
    if most:
        assert answer["desc"].get("max_nodes") == most, why


def test_gpus_of_a_list_that_was_taken_away_earn_no_points(lua: Lua, tmp_path: Path) -> None:
    """Slurm still counts them, and gives none."""
    queues = {**QUEUES, "whole": {**SMALL, "whole": True}}
    table = policy(queues=queues, routing={"action": "off", "order": []})
    rec = {**BARE, "partition": "whole", "max_nodes": 1, "tres_fmt_req_str": "cpu=1,node=1,gres/gpu=1"}
    folder = site.write(tmp_path, policy=table, incentives=PAID)
    answer = site.run(lua, site.case(folder, desc={"partition": "free"}, rec=rec))
    assert (answer["code"], answer["desc"].get("site_factor"), answer["errors"]) == (OK, None, [])


@pytest.mark.parametrize(
    ("desc", "taken", "why"),
    [
        ({"tres_per_node": "gres:gpu:4"}, False, "eight GPUs are fewer than nine"),
        ({"min_nodes": 1, "max_nodes": 1}, False, "eight GPUs on one node"),
        ({"ntasks_per_tres": 1}, False, "GPUs by tasks may be fewer"),
        ({"min_nodes": 3, "max_nodes": 3}, True, "it grows"),
        ({"time_limit": 30}, True, "no change of its size"),
    ],
)
def test_a_job_that_shrinks_keeps_no_points_of_its_size(
    lua: Lua, tmp_path: Path, desc: Fields, taken: bool, why: str
) -> None:
    table = policy(queues=QUEUES, routing={"action": "off", "order": []})
    paid = {**PAID, "size_points": {9: 60}}
    job = {"tres_per_node": "gres:gpu:8", "min_nodes": 2, "max_nodes": 2, "partition": "gq", "time_limit": 60}
    rec = {**BARE, **job, "site_factor": 60, "admin_comment": "ak1:lim=3600,src=e,cls=multi-node"}
    answer = site.run(lua, site.case(site.write(tmp_path, policy=table, incentives=paid), desc=desc, rec=rec))
    assert (answer["code"] == OK, answer["errors"]) == (taken, []), (why, answer["messages"])


#: What an update sets, whether Slurm takes it, why; the job has the points of several nodes.
OVERPAID: list[tuple[Fields, bool, str]] = [
    ({"min_cpus": 2}, False, "one node has these CPUs"),
    ({"min_nodes": 2, "max_nodes": 2}, True, "it takes several nodes indeed"),
    ({"time_limit": 30}, True, "no change of its size"),
]


@pytest.mark.parametrize(("desc", "taken", "why"), OVERPAID, ids=[case[-1] for case in OVERPAID])
def test_a_job_that_was_held_to_one_node_keeps_no_points_of_several(
    lua: Lua, tmp_path: Path, desc: Fields, taken: bool, why: str
) -> None:
    table = policy(queues=QUEUES, routing={"action": "off", "order": []})
    rec = {
        **BARE,
        "partition": "gq",
        "min_cpus": 32,
        "max_nodes": 1,
        "time_limit": 60,
        "site_factor": 4,
        "admin_comment": "ak1:lim=3600,src=e,cls=multi-node",
    }
    answer = site.run(lua, site.case(site.write(tmp_path, policy=table, incentives=PAID), desc=desc, rec=rec))
    assert (answer["code"] == OK, answer["errors"]) == (taken, []), (why, answer["messages"])


@pytest.mark.parametrize(
    ("desc", "most", "why"),
    [
        ({"num_tasks": 4, "min_cpus": 4}, 2, "held to as many nodes as GPUs"),
        ({"num_tasks": 32, "min_cpus": 32}, None, "it needs more: 22.05 to 26.05 gave 32 GPUs for --gpus=1 -n32"),
    ],
)
def test_a_submission_takes_no_more_nodes_than_its_gpus(
    lua: Lua, tmp_path: Path, desc: Fields, most: int | None, why: str
) -> None:
    table = policy(rule("gpus", {"max": 2}, queues="gq"), queues=QUEUES, routing={"action": "off", "order": []})
    job = {"tres_per_node": None, "tres_per_job": "gres:gpu:2", "cpus_per_task": None, **desc}
    answer = site.run(lua, site.case(site.write(tmp_path, policy=table), desc=job))
    assert (answer["code"] == OK, answer["desc"].get("max_nodes")) == (most is not None, most), why


#: What a client may say, at submission and later; a job says how many nodes it takes, or not.
NODES = st.sampled_from([
    {}, {"min_nodes": 1, "max_nodes": 1}, {"min_nodes": 2, "max_nodes": 2}, {"min_nodes": 1, "max_nodes": 4},
])  # fmt: skip
GPUS = st.sampled_from([
    {"tres_per_node": "gres:gpu:1"}, {"tres_per_node": "gres:gpu:2"}, {"tres_per_job": "gres:gpu:1"},
    {"tres_per_job": "gres:gpu:4"}, {"tres_per_node": "gres:gpu:1,gres:gpu:8"},
])  # fmt: skip
MEMORY = st.sampled_from([
    {"min_mem_per_node": 0}, {"min_mem_per_node": 900}, {"min_mem_per_cpu": 30_000}, {"min_mem_per_node": 9000},
])  # fmt: skip
WHERE = st.sampled_from([{"partition": name} for name in QUEUES])
LIMITS = st.sampled_from([{"time_limit": minutes} for minutes in (1, 60, 90, 150)])
CHANGES = st.one_of(NODES, GPUS, MEMORY, WHERE, LIMITS, st.just({"min_cpus": 2}), st.just({"licenses": "watts:1"}))


def both(one: Fields, other: Fields) -> Fields:
    """Fields of a job that are set anew: of memory Slurm has one field."""
    made = {**one, **other}
    for name, rest in (("min_mem_per_node", "min_mem_per_cpu"), ("min_mem_per_cpu", "min_mem_per_node")):
        if name in other:
            made.pop(rest, None)
    return made


UPDATES = st.lists(st.one_of(CHANGES, st.builds(both, CHANGES, CHANGES)), min_size=1, max_size=4)
SUBMISSIONS = st.builds(
    lambda where, limit, nodes, *more: both(both({**where, **limit, **nodes}, more[0]), more[1]),
    WHERE, LIMITS, NODES, st.one_of(st.just({}), GPUS), st.one_of(st.just({}), MEMORY),
)  # fmt: skip


def has_too_few_gpus(desc: Fields) -> bool:
    """Where it is about GPUs, Slurm refuses fewer of them than nodes."""
    gpus = desc.get("tres_per_job")
    return bool(gpus) and int(gpus[-1]) < desc.get("min_nodes", 1)


class Ctld:
    """A slurmctld with one job, as the script sees it: every update that the script takes is taken over whole."""

    def __init__(self, lua: Lua) -> None:
        self.lua = lua
        self.mock = lua.run(f"return dofile({json.dumps(str(site.DRIVER.with_name('mock.lua')))})".encode())
        self.slurm, self.said = self.mock.slurm()
        tables = lua.into({"policy": TABLE, "incentives": PAID})
        clock = lua.run(f"return function() return {NOW} end".encode())
        self.callbacks = lua.module("slurm_api").callbacks(self.slurm, tables, clock)
        self.parts = lua.call(self.mock.part_list, {name: {"name": name} for name in QUEUES})

    def submit(self, desc: Fields) -> Fields | None:
        """The fields as the script left them; None where it refused, or Slurm."""
        if has_too_few_gpus(desc):
            return None
        fields = self.lua.into({"num_tasks": 1, "min_cpus": 1, "cpus_per_task": 1, **desc, "user_id": ALICE})
        code = self.callbacks.submit(self.mock.job_desc(fields, self.said), self.parts, ALICE)
        return self._left(code, fields)

    def update(self, job: Fields, change: Fields) -> Fields | None:
        hidden = ("num_tasks", "cpus_per_task", "user_id")
        rec = {
            **site.JOB_REC,
            "tres_per_node": None,
            **{k: v for k, v in job.items() if k not in hidden},
            "job_state": 0,
        }
        fields = self.lua.into(dict(change))
        made = self.mock.job_rec(self.lua.into({k: v for k, v in rec.items() if v is not None}))
        code = self.callbacks.modify(self.mock.job_desc(fields, self.said), made, self.parts, ALICE)
        return self._left(code, fields)

    def _left(self, code: Any, fields: Any) -> Fields | None:
        assert not self.lua.out(self.said[b"errors"])
        return dict(self.lua.out(fields)) if code == OK else None


def watts(job: Fields) -> int:
    found = [item for item in (job.get("licenses") or "").split(",") if item.startswith("watts:")]
    return int(found[0].partition(":")[2]) if found else 0


def is_told(job: Fields) -> bool:
    """Whether slurmctld shows the script all that it knows of the job's size."""
    return job.get("min_nodes") == job.get("max_nodes") and "max_nodes" in job and "min_mem_per_node" in job


@settings(max_examples=250, deadline=None)
@given(SUBMISSIONS, UPDATES)
def test_a_walk_of_updates_is_a_submission_of_what_it_leaves(lua: Lua, first: Fields, updates: list[Fields]) -> None:
    ctld = Ctld(lua)
    job = ctld.submit(first)
    for change in updates if job is not None else []:
        assert job is not None
        wanted = both(job, change)
        left = ctld.update(job, change)
        fresh = ctld.submit({k: v for k, v in wanted.items() if k not in ("admin_comment", "site_factor", "licenses")})
        if {"tres_per_job", "tres_per_node"} & {*change} and has_too_few_gpus(wanted):
            continue
        if left is None:
            if len(change) == 1 and fresh is not None and is_told(wanted) and is_told(job):
                less, more = fresh.get("site_factor", 0) < job.get("site_factor", 0), watts(fresh) > watts(job)
                assert less or more, "what is all told is refused for the points or the watts alone"
            continue
        assert fresh is not None, f"{job} by {change}: its result would be refused"
        job = both(job, left)  # without what the script took out
        assert watts(job) >= watts(fresh), f"{change} left {job}, of which a submission is told {watts(fresh)} W"
        assert job.get("site_factor", 0) <= fresh.get("site_factor", 0), f"{change} left points of {job}"
        most = fresh.get("max_nodes")
        assert most is None or job.get("max_nodes", most + 1) <= most, f"{change} left {job}, on more than {most} nodes"
