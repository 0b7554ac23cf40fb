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
