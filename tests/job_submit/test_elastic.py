"""Which jobs opted in to another number of GPUs, as the record says it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.policy.compile import CKPT
from tests.job_submit import site
from tests.job_submit.policies import policy, rule
from tests.job_submit.runtime import Lua

#: a value of the variable, the range that is read; those of tests/spank/test_resize.c
RANGES = [
    ("1-8", "1-8"),
    ("2-2", "2-2"),
    ("001-008", "1-8"),
    ("1-1024", "1-1024"),
    ("1-1025", None),
    ("0-8", None),
    ("8-1", None),
    ("8", None),
    ("-8", None),
    ("1-", None),
    ("1-8 ", None),
    ("1-8,2", None),
    ("1--8", None),
    ("00001-8", None),
    ("", None),
    ("on", None),
]
ONE_GPU = {"tres_per_node": "gres:gpu:1"}
BOTH = {"ADMINKIT_CKPT": "TERM@60,requeue", "ADMINKIT_ELASTIC": "1-8"}
#: (the table's record, job_desc, the record of the job or None, why)
JOBS: list[tuple[str, dict[str, Any], str | None, str]] = [
    ("admin_comment", {**ONE_GPU, "environment": BOTH}, "ak1:lim=1200,src=e,el=1-8", "it opted in"),
    ("admin_comment", {"tres_per_node": None, "environment": BOTH}, "ak1:lim=1200,src=e", "a job without GPUs"),
    ("admin_comment", {**ONE_GPU, "environment": {"ADMINKIT_ELASTIC": "1-8"}}, "ak1:lim=1200,src=e", "cannot go on"),
    ("admin_comment", {**ONE_GPU, "environment": {**BOTH, "ADMINKIT_CKPT": "off"}}, "ak1:lim=1200,src=e", "nor can it"),
    ("admin_comment", {**ONE_GPU, "environment": {**BOTH, "ADMINKIT_ELASTIC": "8"}}, "ak1:lim=1200,src=e", "no range"),
    ("admin_comment", {**ONE_GPU, "environment": {**BOTH, "ADMINKIT_ELASTIC": "1-8,rules=a"}}, "ak1:lim=1200,src=e",
     "nobody writes another key with it"),
    ("admin_comment", {**ONE_GPU, "script": None, "environment": BOTH}, "ak1:lim=1200,src=e", "srun, salloc"),
    ("admin_comment", {"tres_per_node": "gres:gpu:4", "environment": {**BOTH, "ADMINKIT_ELASTIC": "1-2"}},
     "ak1:lim=1200,src=e,el=1-4", "what it asks for is in it"),
    ("admin_comment", {"tres_per_node": "gres:gpu:2", "environment": {**BOTH, "ADMINKIT_ELASTIC": "2-2"}},
     "ak1:lim=1200,src=e", "nothing else is"),
    ("admin_comment", {"tres_per_node": None, "tres_per_job": "gres:gpu:1", "environment": BOTH},
     "ak1:lim=1200,src=e", "--gpus, which is not of one node"),
    ("admin_comment", {**ONE_GPU, "min_nodes": 2, "environment": BOTH}, "ak1:lim=1200,src=e", "two nodes"),
    ("admin_comment", {**ONE_GPU, "array_inx": "1-3", "environment": BOTH}, "ak1:lim=1200,src=e", "an array"),
    ("comment", {**ONE_GPU, "environment": BOTH}, "ak1:lim=1200,src=e", "a field that its owner may write"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), RANGES)
def test_a_range(lua: Lua, value: str, expected: str | None) -> None:
    assert lua.ask("ckpt", "range", value) == expected


@given(st.text(alphabet="0123456789-, x\n", max_size=12))
def test_noise_is_no_range(lua: Lua, value: str) -> None:
    found = lua.ask("ckpt", "range", value)
    if found is not None:
        least, most = map(int, value.split("-"))
        assert found == f"{least}-{most}" and 1 <= least <= most <= 1024


@pytest.mark.parametrize(("field", "desc", "expected", "why"), JOBS, ids=[case[3] for case in JOBS])
def test_the_record_of_a_job(
    lua: Lua, tmp_path: Path, field: str, desc: dict[str, Any], expected: str | None, why: str
) -> None:
    site.write(tmp_path, policy={**policy(record=field), "ckpt": CKPT})
    answer = site.run(lua, site.case(tmp_path, desc={"partition": "gq", "time_limit": 20, **desc}))
    assert (answer["desc"][field], answer["errors"]) == (expected, []), why


def test_a_table_of_an_older_adminkit_knows_no_elastic_jobs(lua: Lua, tmp_path: Path) -> None:
    older = {name: word for name, word in CKPT.items() if name != "elastic"}
    site.write(tmp_path, policy={**policy(record="admin_comment"), "ckpt": older})
    desc = {"partition": "gq", "time_limit": 20, **ONE_GPU, "environment": BOTH}
    assert site.run(lua, site.case(tmp_path, desc=desc))["desc"]["admin_comment"] == "ak1:lim=1200,src=e"


#: (rules, the range in the record or None, why)
RULED: list[tuple[list[dict[str, Any]], str | None, str]] = [
    ([], "1-8", "no rule"),
    ([rule("gpus", {"max": 4}, "reject")], "1-4", "the most GPUs of a rule"),
    ([rule("gpus", {"max": 1}, "reject")], None, "no more than it has"),
    ([rule("max_limit", 600, "reject", classes={"multi-gpu"})], None, "its limit is for one GPU alone"),
    ([rule("max_limit", 600, "amend", classes={"multi-gpu"})], None, "nor is a limit lowered then"),
    ([rule("gpus", {"max": 4}, "warn")], "1-8", "a warning forbids nothing"),
]


@pytest.mark.parametrize(("rules", "expected", "why"), RULED, ids=[case[2] for case in RULED])
def test_no_job_opts_in_to_what_a_rule_forbids(
    lua: Lua, tmp_path: Path, rules: list[dict[str, Any]], expected: str | None, why: str
) -> None:
    """adminkit changes jobs as an operator, to whom rules do not apply."""
    site.write(tmp_path, policy={**policy(*rules, record="admin_comment"), "ckpt": CKPT})
    answer = site.run(
        lua, site.case(tmp_path, desc={"partition": "gq", "time_limit": 20, **ONE_GPU, "environment": BOTH})
    )
    found = answer["desc"]["admin_comment"]
    assert (found.partition(",el=")[2].partition(",")[0] or None, answer["errors"]) == (expected, []), (found, why)
