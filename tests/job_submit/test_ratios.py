"""CPUs and memory for each GPU: what a request takes at most, and what slurmctld hands over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.job_submit import site
from tests.job_submit.policies import ALICE, policy, rule
from tests.job_submit.runtime import Lua

OFF = {"action": "off", "order": []}
CPUS, MEM = rule("cpus_per_gpu", 8, queues="gq"), rule("mem_per_gpu", 65_536, queues="gq")
GIB = 1024
#: Of sbatch for two GPUs of one node.
TWO = {"tres_per_node": "gres:gpu:2", "min_nodes": 1, "max_nodes": 1}

#: the rule, what slurmctld hands over, whether the job is taken, a word of what is said, why
HANDED: list[tuple[dict[str, Any], dict[str, Any], bool, str, str]] = [
    (CPUS, {"cpus_per_task": 8, "min_cpus": 8}, True, "", "-c 8 for one GPU"),
    (CPUS, {"cpus_per_task": 9, "min_cpus": 9}, False, "asked 9, allowed 8", "-c 9"),
    (CPUS, {**TWO, "cpus_per_task": 16, "min_cpus": 16}, True, "", "16 for two"),
    (CPUS, {**TWO, "cpus_per_task": 17, "min_cpus": 17}, False, "asked 9", "17 for two: 8.5 each, rounded up"),
    (CPUS, {"num_tasks": 4, "cpus_per_task": 3, "min_cpus": 12}, False, "asked 12", "by tasks"),
    (CPUS, {"ntasks_per_node": 9, "num_tasks": 9, "min_cpus": 9}, False, "asked 9", "by tasks of a node"),
    (CPUS, {"cpus_per_tres": "gres:gpu:8"}, True, "", "--cpus-per-gpu=8"),
    (CPUS, {"cpus_per_tres": "gres:gpu:9"}, False, "asked 9", "--cpus-per-gpu=9"),
    (CPUS, {"max_cpus": 9}, False, "asked 9", "the most that it may be given"),
    (CPUS, {"pn_min_cpus": 9}, False, "asked 9", "--mincpus"),
    (CPUS, {"shared": 0}, False, "asked 40", "--exclusive: all CPUs of a node for one GPU"),
    (CPUS, {"shared": 0, "tres_per_node": "gres:gpu:8"}, True, "", "40 CPUs of a node for its 8 GPUs"),
    (CPUS, {"min_nodes": 4, "max_nodes": 4, "num_tasks": 4, "cpus_per_task": 8, "min_cpus": 32}, True, "",
     "8 and one GPU on each of four nodes"),
    (CPUS, {"min_nodes": 1, "max_nodes": 4, "cpus_per_task": 8, "min_cpus": 8}, True, "", "on as many as it gets"),
    (CPUS, {"tres_per_node": None, "cpus_per_task": 64, "min_cpus": 64}, True, "", "no GPU: another rule's matter"),
    (CPUS, {"tres_per_node": None, "tres_per_socket": "gres:gpu:1", "cpus_per_task": 2, "min_cpus": 2}, False,
     "unclear how many", "by sockets: Slurm may give none"),
    (CPUS, {"tres_per_node": None, "tres_per_job": "gres:gpu:4", "num_tasks": 4, "cpus_per_task": 8, "min_cpus": 32},
     True, "", "--gpus=4 and 32 CPUs"),
    (CPUS, {"partition": "gq-long", "cpus_per_task": 64, "min_cpus": 64}, True, "", "another queue"),
    (MEM, {}, True, "", "what the site gives"),
    (MEM, {"min_mem_per_node": 64 * GIB}, True, "", "--mem=64G"),
    (MEM, {"min_mem_per_node": 64 * GIB + 1}, False, "asked 65537M, allowed 64G", "a MiB more"),
    (MEM, {**TWO, "min_mem_per_node": 128 * GIB}, True, "", "128G for two"),
    (MEM, {"min_mem_per_node": 0}, False, "asked ?", "--mem=0: all that a node has"),
    (MEM, {"min_mem_per_cpu": 0}, False, "asked ?", "so with --mem-per-cpu=0"),
    (MEM, {"mem_per_tres": "gres:gpu:65536"}, True, "", "--mem-per-gpu=64G"),
    (MEM, {"mem_per_tres": "gres:gpu:65537"}, False, "asked 65537M", "more"),
    (MEM, {"mem_per_tres": "gres/gpu:70000"}, False, "asked 70000M", "as later releases write it"),
    (MEM, {"min_mem_per_cpu": 16 * GIB, "cpus_per_task": 4, "min_cpus": 4}, True, "", "four CPUs of 16G"),
    (MEM, {"min_mem_per_cpu": 16 * GIB, "cpus_per_task": 5, "min_cpus": 5}, False, "asked 80G", "five"),
    (MEM, {"min_nodes": 2, "max_nodes": 2, "min_mem_per_node": 64 * GIB}, True, "", "64G and one GPU on each node"),
    (MEM, {"tres_per_node": None, "tres_per_job": "gres:gpu:2", "min_mem_per_node": 100 * GIB}, False, "asked 100G",
     "two GPUs that may be on two nodes of 100G"),
    (MEM, {"tres_per_node": None, "min_mem_per_node": 0}, True, "", "no GPU"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "fields", "taken", "said", "why"), HANDED, ids=[case[4] for case in HANDED])
def test_a_submission(
    lua: Lua, tmp_path: Path, made: dict[str, Any], fields: dict[str, Any], taken: bool, said: str, why: str
) -> None:
    folder = site.write(tmp_path, policy=policy(made, routing=OFF))
    answer = site.run(lua, site.case(folder, desc=fields))
    assert (answer["code"] == 0, answer["errors"]) == (taken, []), (why, answer["messages"])
    assert said in " ".join(answer["messages"]), why


#: the rule, the job as it is, the update, whether it is taken, why
UPDATES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], bool, str]] = [
    (MEM, {}, {"min_mem_per_node": 65 * GIB}, False, "memory grows beyond the rule"),
    (MEM, {}, {"min_mem_per_node": 64 * GIB}, True, "and up to it"),
    (MEM, {}, {"min_mem_per_node": 0}, False, "all of a node"),
    (MEM, {"min_mem_per_node": 0}, {"time_limit": 600}, True, "0 in job_rec is no wish for all of it"),
    (MEM, {"min_mem_per_node": 90 * GIB}, {"time_limit": 600}, True, "it was there before the rule"),
    (MEM, {"min_mem_per_node": 90 * GIB}, {"min_mem_per_node": 80 * GIB}, True, "nearer to it"),
    (MEM, {"min_mem_per_node": 90 * GIB}, {"min_mem_per_node": 91 * GIB}, False, "further from it"),
    (MEM, {"min_mem_per_node": 90 * GIB, "partition": "gq-long"}, {"partition": "gq"}, False, "it moves there"),
    (CPUS, {"admin_comment": "ak1:lim=72000,src=e"}, {"min_cpus": 9}, False, "CPUs grow"),
    (CPUS, {}, {"time_limit": 600}, True, "nobody knows whether it takes whole nodes, and nothing of it changes"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "job", "change", "taken", "why"), UPDATES, ids=[case[4] for case in UPDATES])
def test_an_update(
    lua: Lua, tmp_path: Path, made: dict[str, Any], job: dict[str, Any], change: dict[str, Any], taken: bool, why: str
) -> None:
    folder = site.write(tmp_path, policy=policy(made, routing=OFF))
    answer = site.run(lua, site.case(folder, uid=ALICE, rec=job, desc=change))
    assert (answer["code"] == 0, answer["errors"]) == (taken, []), (why, answer["messages"])
