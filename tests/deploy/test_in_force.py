"""The rules in force, asked about a job as it is now: how many GPUs it may go on with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.deploy.files import SUBFOLDER, table_path
from adminkit.deploy.in_force import Rules, rules_of
from adminkit.lua.literal import module
from adminkit.slurm.elastic_jobs import OpenJob
from adminkit.slurm.planning import PlannedJob
from tests.elastic.jobs import open_job
from tests.job_submit.policies import ALICE, HOUR, NOW, policy, rule

JOB = open_job(7, gpus=1, uid=ALICE, user="alice", whole="cpu=4,mem=8G,node=1,gres/gpu=1")
STRICT = rule("gpus", {"max": 2}, queues="gq-short")


def put(folder: Path, *rules: dict[str, Any], kind: str = "", **more: Any) -> Path:
    (folder / SUBFOLDER).mkdir(exist_ok=True)
    made = policy(*rules, record="admin_comment", **more)
    table_path(folder, "policy", kind).write_text(module(made, "made for a test"))
    return folder


def asked(folder: Path, job: OpenJob, gpus: int) -> str:
    return rules_of(folder, NOW).of_gpus(job, gpus)


#: (the rule, what the job is by now, GPUs, part of why not or "" where it may, why)
ASKED: list[tuple[dict[str, Any], dict[str, Any], int, str, str]] = [
    (STRICT, {}, 4, "", "it is in a queue without that rule"),
    (STRICT, {"queue": "gq-short"}, 4, "refuse", "it was moved to the stricter queue"),
    (STRICT, {"queue": "gq-short"}, 2, "", "that is within its rule"),
    (STRICT, {"queue": "gq,gq-short"}, 4, "refuse", "it may start in either"),
    (STRICT, {"queue": "gq-short", "tres": "gres/gpu:a100:1"}, 4, "refuse", "with a type, as later releases spell it"),
    (rule("gpus", {"max": 2}, accounts="poor"), {"account": "poor"}, 4, "refuse", "by its account of now"),
    (rule("gpus", {"max": 2}, accounts="poor"), {}, 4, "", "of another account"),
    (rule("gpus", {"max": 2}, qos="low"), {"qos": "low"}, 4, "refuse", "by its QOS of now"),
    (rule("gpus", {"max": 2}, qos="low"), {}, 4, "", "of another QOS"),
    (rule("gpus", {"max": 2}, users=ALICE), {}, 4, "refuse", "by its user"),
    (rule("gpus", {"min": 2}), {"tres": "gres:gpu:4"}, 1, "refuse", "fewer than a rule asks for"),
    (rule("max_limit", HOUR, classes="multi-gpu"), {"time_limit": 2 * HOUR}, 4, "refuse", "its limit is too long then"),
    (rule("max_limit", HOUR, classes="multi-gpu"), {"time_limit": None}, 4, "refuse", "without a limit, too"),
    (rule("max_limit", HOUR, classes="multi-gpu"), {"time_limit": HOUR}, 4, "", "it is short enough"),
    (
        rule("max_limit", HOUR, "amend", classes="multi-gpu"),
        {"time_limit": 9 * HOUR},
        4,
        "refuse",
        "or lower its limit",
    ),
    (rule("cpus_per_gpu", 4), {"tres": "gres:gpu:2", "whole": "cpu=8,mem=1G,node=1"}, 1, "refuse", "CPUs stay"),
    (rule("cpus_per_gpu", 4), {"whole": "cpu=4,mem=1G,node=1"}, 2, "", "fewer to each GPU"),
    (rule("cpus", {"max": 8}), {"cpus_per_gpu": "gres:gpu:4"}, 4, "refuse", "--cpus-per-gpu brings more"),
    (rule("mem_per_gpu", 8192), {"tres": "gres:gpu:2", "whole": "cpu=1,mem=16G,node=1"}, 1, "refuse", "memory stays"),
    (rule("mem_per_gpu", 8192), {"whole": "cpu=1,node=1"}, 2, "cannot tell: mem_per_gpu", "an unknown memory is not 0"),
    (rule("restartable_above", HOUR), {"time_limit": 9 * HOUR}, 4, "", "who opted in can resume from a checkpoint"),
    (rule("batch_only", True), {}, 4, "", "and is a batch job"),
    (rule("gpus", {"max": 1}, "warn"), {}, 4, "", "a rule that only warns"),
    (STRICT, {"uid": None, "queue": "gq"}, 4, "not known", "nobody's job"),
    (STRICT, {"tres": "gres:gpu:1,gres:gpu:1"}, 4, "not known", "its GPUs are not one number"),
]


@pytest.mark.parametrize(("ruled", "now", "gpus", "said", "why"), ASKED, ids=[case[4] for case in ASKED])
def test_the_rules_are_asked_of_the_job_as_it_is(
    ruled: dict[str, Any], now: dict[str, Any], gpus: int, said: str, why: str, tmp_path: Path
) -> None:
    found = asked(put(tmp_path, ruled), replace(JOB, **now), gpus)
    assert (said in found) if said else found == "", (found, why)


def test_who_passes_every_rule_passes_this_one(tmp_path: Path) -> None:
    ruled = rule("gpus", {"max": 2})
    assert "refuse" in asked(put(tmp_path, ruled), JOB, 4)
    assert asked(put(tmp_path, ruled, exempt={ALICE}), JOB, 4) == ""


def test_without_rules_that_slurmctld_could_use_nothing_is_allowed(tmp_path: Path) -> None:
    assert "couldn't ask the rules" in asked(tmp_path, JOB, 4)
    put(tmp_path, STRICT)
    assert asked(tmp_path, JOB, 4) == ""
    table_path(tmp_path, "policy").write_text("return {")
    assert "couldn't ask the rules" in asked(tmp_path, JOB, 4), "a damaged table decides nothing"
    put(tmp_path, rule("gpus", {"max": 2}), kind="good")
    assert "refuse" in asked(tmp_path, JOB, 4), "slurmctld falls back to the good copy, and so do we"
    assert Rules(None, NOW, "away").of_gpus(JOB, 4) == "away"


PLANNED = PlannedJob(
    7, "7", "PENDING", ("gq-short",), HOUR, 1800, 0, False, None, ALICE, "physics", "normal",
    "ak1:lim=36000,src=e,soft=1800",
    whole="cpu=4,mem=8G,node=1,gres/gpu=2",
)  # fmt: skip
#: (the rule, what the job is by now, hours, part of why not or "" where it may, whether a rule says so, why)
LIMITS: list[tuple[dict[str, Any], dict[str, Any], int, str, bool, str]] = [
    (rule("max_limit", 3 * HOUR, queues="gq-short"), {}, 10, "refuse", True, "it is in the stricter queue"),
    (rule("max_limit", 3 * HOUR, queues="gq-short"), {}, 3, "", False, "that it may have"),
    (rule("max_limit", 3 * HOUR, queues="gq-short"), {"queues": ("gq",)}, 10, "", False, "in another queue"),
    (rule("max_limit", 3 * HOUR, "amend", queues="gq-short"), {}, 10, "refuse", True, "a rule would lower it"),
    (rule("max_limit", 3 * HOUR, accounts="poor"), {"account": "poor"}, 10, "refuse", True, "by its account"),
    (rule("max_limit", 3 * HOUR, qos="low"), {"qos": "low"}, 10, "refuse", True, "by its QOS"),
    (rule("max_limit", 3 * HOUR, classes="multi-gpu"), {}, 10, "refuse", True, "by its size"),
    (rule("max_limit", 3 * HOUR, classes="multi-node"), {"nodes": 2}, 10, "refuse", True, "by its nodes"),
    (rule("max_limit", 3 * HOUR, classes="multi-node"), {}, 10, "", False, "it has one"),
    (rule("restartable_above", HOUR), {}, 10, "", False, "the script noted it for a limit that the rules took"),
    (rule("gpus", {"max": 1}), {}, 10, "", False, "a rule that the change does not touch"),
    (rule("max_limit", 3 * HOUR), {"uid": None}, 10, "not known", False, "nobody's job"),
]


@pytest.mark.parametrize(("ruled", "now", "hours", "said", "refused", "why"), LIMITS, ids=[case[5] for case in LIMITS])
def test_a_limit_is_asked_of_the_job_as_it_is(
    ruled: dict[str, Any], now: dict[str, Any], hours: int, said: str, refused: bool, why: str, tmp_path: Path
) -> None:
    found = rules_of(put(tmp_path, ruled), NOW).of_limit(replace(PLANNED, **now), hours * HOUR)
    assert ((said in found.why) if said else found.why == "") and found.refused is refused, (found, why)


RESTART = rule("restartable_above", 3 * HOUR)
OF_CLASS = rule("batch_only", True, classes="multi-gpu")
RUNNING = replace(PLANNED, state="RUNNING", comment="ak1:lim=3600,src=e,ext=auto")
#: (the rule, what the job is by now, whether sbatch started it, hours asked for, hours, part of why not, why)
MORE: list[tuple[dict[str, Any], dict[str, Any], bool | None, int, int, str, str]] = [
    (rule("max_limit", 3 * HOUR), {}, True, 2, 4, "refuse", "no job may have that"),
    (rule("max_limit", 3 * HOUR), {}, True, 2, 3, "", "every job may"),
    (rule("max_limit", 3 * HOUR), {"uid": None}, True, 2, 3, "not known", "nobody's job"),
    (RESTART, {}, True, 2, 3, "", "any job may have that"),
    (RESTART, {}, True, 2, 4, "refuse", "only one that can resume, and nobody knows whether it can"),
    (RESTART, {}, True, 4, 6, "", "it asked for more than that, so it can resume"),
    (RESTART, {"queues": ("gq-short", "gq")}, True, 2, 4, "refuse", "in either of its queues"),
    (rule("restartable_above", 3 * HOUR, "warn"), {}, True, 2, 4, "", "a rule that only warns"),
    (rule("restartable_above", 3 * HOUR, "amend"), {}, True, 4, 6, "", "one that would lower the limit"),
    (OF_CLASS, {"whole": "cpu=1,mem=1G,node=1"}, True, 2, 3, "", "a batch job"),
    (rule("batch_only", True), {}, False, 2, 3, "", "the job was started before the rule"),
    (rule("batch_only", True), {}, None, 2, 3, "cannot tell", "nobody knows how it was started"),
]


@pytest.mark.parametrize(
    ("ruled", "now", "batch", "asked", "hours", "said", "why"), MORE, ids=[case[6] for case in MORE]
)
def test_a_longer_limit_is_asked_of_a_running_job(
    ruled: dict[str, Any],
    now: dict[str, Any],
    batch: bool | None,
    asked: int,
    hours: int,
    said: str,
    why: str,
    tmp_path: Path,
) -> None:
    job = replace(RUNNING, **{"time_limit": asked * HOUR, **now})
    found = rules_of(put(tmp_path, ruled), NOW).of_more(job, asked * HOUR, hours * HOUR, batch)
    assert (said in found.why) if said else found.why == "", (found, why)
