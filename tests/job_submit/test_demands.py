"""Rules that a job keeps or breaks without a number in between: as requests, and as slurmctld hands jobs over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.job_submit import site
from tests.job_submit.policies import ALICE, HOUR, NOW, OPERATOR, policy, request, rule
from tests.job_submit.runtime import Lua

H = HOUR
BATCH = rule("batch_only", True, queues="gq")
ACCOUNT = rule("require_account", True, queues="gq")
EXCLUSIVE = rule("exclusive", True, queues="gq", classes="multi-node")
OFF = {"action": "off", "order": []}

#: title, rules, fields of the request, what the decision holds
CASES: list[tuple[str, list[dict[str, Any]], dict[str, Any], dict[str, Any]]] = [
    ("sbatch", [BATCH], {}, {"verdict": "accept"}),
    ("srun or salloc", [BATCH], {"batch": False}, {"verdict": "reject", "code": "ESLURM_ACCOUNTING_POLICY"}),
    ("srun elsewhere", [BATCH], {"batch": False, "queues": ["gq-long"]}, {"verdict": "accept"}),
    ("srun in one of two queues", [BATCH], {"batch": False, "queues": ["gq-long", "gq"]}, {"verdict": "reject"}),
    (
        "a warning is a warning",
        [rule("batch_only", True, "warn")],
        {"batch": False},
        {"verdict": "accept", "fired": [{"rule": "batch_only", "action": "warn"}]},
    ),
    (
        "a day that is ahead",
        [{**BATCH, "from": NOW + 60}],
        {"batch": False},
        {"verdict": "accept", "fired": [{"rule": "batch_only", "action": "warn"}]},
    ),
    ("the trace does not tell", [BATCH], {"batch_unknown": True}, {"verdict": "accept", "untold": ["batch_only"]}),
    ("an account", [ACCOUNT], {"account_given": True}, {"verdict": "accept"}),
    ("the default account", [ACCOUNT], {"account_given": False}, {"verdict": "reject"}),
    ("the trace does not tell of accounts", [ACCOUNT], {}, {"verdict": "accept", "untold": ["require_account"]}),
    ("whole nodes", [EXCLUSIVE], {"nodes": 2, "exclusive": True}, {"verdict": "accept"}),
    ("parts of nodes", [EXCLUSIVE], {"nodes": 2}, {"verdict": "reject"}),
    ("of one node parts will do", [EXCLUSIVE], {"nodes": 1, "max_nodes": 1}, {"verdict": "accept"}),
    (
        "the trace does not tell of nodes",
        [EXCLUSIVE],
        {"nodes": 2, "whole_unknown": True},
        {"verdict": "accept", "untold": ["exclusive"]},
    ),
    ("an operator's srun", [BATCH], {"batch": False, "uid": OPERATOR}, {"verdict": "accept"}),
]


@pytest.mark.parametrize(("rules", "fields", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_rule(lua: Lua, rules: list[dict[str, Any]], fields: dict[str, Any], expected: dict[str, Any]) -> None:
    asked = {"queues": ["gq"], "limit": H, **fields}
    decision = lua.decide(request(**asked), policy(*rules))
    assert {key: decision.get(key) for key in expected} == expected


#: what slurmctld hands over, whether the job is taken, why
SUBMISSIONS: list[tuple[dict[str, Any], bool, str]] = [
    ({}, True, "sbatch"),
    ({"script": None}, False, "srun, salloc"),
    ({"script": ""}, False, "an empty script is none"),
    ({"script": None, "het_job_offset": 0}, False, "the first component of a het job of salloc"),
    ({"script": None, "het_job_offset": 1}, False, "a later one"),
    ({"script": None, "het_job_offset": 1, "environment": {"SLURM_SUBMIT_DIR": "/"}}, True, "a later one of sbatch"),
    ({"script": None, "environment": {"SLURM_SUBMIT_DIR": "/"}}, False, "an environment makes no batch job"),
]


@pytest.mark.parametrize(("fields", "taken", "why"), SUBMISSIONS, ids=[case[2] for case in SUBMISSIONS])
def test_what_slurmctld_hands_over(lua: Lua, tmp_path: Path, fields: dict[str, Any], taken: bool, why: str) -> None:
    folder = site.write(tmp_path, policy=policy(BATCH, routing=OFF))
    answer = site.run(lua, site.case(folder, desc=fields))
    errors = [line for line in answer["errors"] if "environment only accessible" not in line]
    assert (answer["code"] == 0, errors) == (taken, []), why


#: the rule, what slurmctld hands over, whether the job is taken, why
HANDED: list[tuple[dict[str, Any], dict[str, Any], bool, str]] = [
    (ACCOUNT, {}, False, "the user's default account"),
    (ACCOUNT, {"account": "physics"}, True, "the same one, named"),
    (ACCOUNT, {"account": ""}, False, "an empty name is none"),
    (EXCLUSIVE, {"min_nodes": 2, "shared": 0}, True, "--exclusive"),
    (EXCLUSIVE, {"min_nodes": 2}, False, "without"),
    (EXCLUSIVE, {"min_nodes": 2, "shared": 65534}, False, "unset"),
    (EXCLUSIVE, {"min_nodes": 2, "shared": 1}, False, "--oversubscribe"),
    (EXCLUSIVE, {"min_nodes": 2, "shared": 2}, False, "--exclusive=user: others' jobs of the same user"),
    (EXCLUSIVE, {"min_nodes": 2, "shared": 3}, False, "--exclusive=mcs"),
    (EXCLUSIVE, {"min_nodes": 2, "shared": 7}, False, "no word of Slurm's"),
    (EXCLUSIVE, {"min_nodes": 2, "reboot": 1}, False, "a reboot asks for no whole nodes"),
    (EXCLUSIVE, {"min_nodes": 1}, True, "one node"),
]


@pytest.mark.parametrize(("made", "fields", "taken", "why"), HANDED, ids=[case[3] for case in HANDED])
def test_what_the_fields_say(
    lua: Lua, tmp_path: Path, made: dict[str, Any], fields: dict[str, Any], taken: bool, why: str
) -> None:
    folder = site.write(tmp_path, policy=policy(made, routing=OFF))
    answer = site.run(lua, site.case(folder, desc=fields))
    assert (answer["code"] == 0, answer["errors"]) == (taken, []), why


def test_a_queue_that_gives_whole_nodes_keeps_the_rule(lua: Lua, tmp_path: Path) -> None:
    table = policy(EXCLUSIVE, routing=OFF)
    table["queues"] = {**table["queues"], "gq": {**table["queues"]["gq"], "whole": True}}
    answer = site.run(lua, site.case(site.write(tmp_path, policy=table), desc={"min_nodes": 2}))
    assert answer["code"] == 0, answer


#: the rule, the job as it is, the update, whether it is taken, why
KEPT: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], bool, str]] = [
    (ACCOUNT, {}, {"time_limit": 600}, True, "it was there before the rule"),
    (ACCOUNT, {"partition": "gq-long"}, {"partition": "gq"}, False, "nobody knows whether its account was named"),
    (ACCOUNT, {"partition": "gq-long"}, {"partition": "gq", "account": "physics"}, True, "who moves it names it"),
    (ACCOUNT, {}, {"account": "chemistry"}, True, "another account"),
    (EXCLUSIVE, {"min_nodes": 2}, {"time_limit": 600}, True, "it was there before the rule"),
    (EXCLUSIVE, {"min_nodes": 2, "partition": "gq-long"}, {"partition": "gq"}, False, "nobody knows what it took"),
    (EXCLUSIVE, {"min_nodes": 2, "partition": "gq-long", "admin_comment": "ak1:lim=72000,src=e,own=node"},
     {"partition": "gq"}, True, "the record tells of whole nodes"),
    (EXCLUSIVE, {"min_nodes": 1, "max_nodes": 1}, {"min_nodes": 2, "max_nodes": 2}, False, "it grows to several nodes"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "job", "change", "taken", "why"), KEPT, ids=[case[4] for case in KEPT])
def test_what_an_update_leaves(
    lua: Lua, tmp_path: Path, made: dict[str, Any], job: dict[str, Any], change: dict[str, Any], taken: bool, why: str
) -> None:
    folder = site.write(tmp_path, policy=policy(made, routing=OFF))
    answer = site.run(lua, site.case(folder, uid=ALICE, rec=job, desc=change))
    assert (answer["code"] == 0, answer["errors"]) == (taken, []), why


#: the job as it is, the update, whether it is taken, why
UPDATES: list[tuple[dict[str, Any], dict[str, Any], bool, str]] = [
    ({"script": None, "partition": "gq-long"}, {"partition": "gq"}, False, "salloc moves where only batch jobs may be"),
    ({"script": "#!/bin/sh\n", "partition": "gq-long"}, {"partition": "gq"}, True, "so may a batch job"),
    ({"script": None, "partition": "gq-long"}, {"partition": "gq", "script": "x"}, False, "no update brings a script"),
    ({"script": None}, {"time_limit": 600}, True, "it was there before the rule"),
    ({"script": None}, {"num_tasks": 2}, True, "and may change in size"),
]


@pytest.mark.parametrize(("job", "change", "taken", "why"), UPDATES, ids=[case[3] for case in UPDATES])
def test_what_an_owner_may_update(
    lua: Lua, tmp_path: Path, job: dict[str, Any], change: dict[str, Any], taken: bool, why: str
) -> None:
    folder = site.write(tmp_path, policy=policy(BATCH, routing=OFF))
    answer = site.run(lua, site.case(folder, uid=ALICE, rec=job, desc=change))
    assert (answer["code"] == 0, answer["errors"]) == (taken, []), why
