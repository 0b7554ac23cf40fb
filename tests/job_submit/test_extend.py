"""More time: which job opts in, what its record says, and what its user reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.job_submit import site
from tests.job_submit.policies import BOB, HOUR, OPERATOR, policy, request, rule
from tests.job_submit.runtime import Lua

SETTINGS: dict[str, Any] = {
    "queues": {"gq": True, "gq-short": True}, "classes": {}, "qos": {}, "default": "auto", "step": {"share": 0.25},
    "most": 2, "lead": 600, "budget": 86400, "times": 8, "earned": False, "users_off": {}, "accounts_off": {},
    "qos_off": {}, "preemptible": False, "interactive": False, "variable": "ADMINKIT_EXTEND", "server": "jupyter",
}  # fmt: skip
ASKED: dict[str, Any] = {"queues": ["gq"], "limit": 2 * HOUR}
LAST_WORD = "adminkit: ADMINKIT_EXTEND is neither auto nor off; this job ends at its limit."
RECORD = "ak1:lim=7200,src=e,ext=auto"


def decided(lua: Lua, settings: dict[str, Any] | None = None, *rules: Any, **asked: Any) -> dict[str, Any]:
    """The decision with [extend] on; `settings` are those that differ."""
    table = policy(*rules, extend={**SETTINGS, **(settings or {})})
    return lua.decide(request(**{**ASKED, **asked}), table)


#: what differs in the settings, what in the job, the decision's word
WHO: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "by default": ({}, {}, "auto"),
    "its user says so": ({}, {"extend": "auto"}, "auto"),
    "its user does not want it": ({}, {"extend": "off"}, "off"),
    "only who says so": ({"default": "off"}, {}, "off"),
    "and says so": ({"default": "off"}, {"extend": "auto"}, "auto"),
    "a word that is neither": ({}, {"extend": "AUTO"}, "word"),
    "neither, where nobody gets any": ({"default": "off"}, {"extend": "yes"}, "word"),
    "a queue that is left out": ({}, {"queues": ["gq-long"]}, "queue"),
    "one of two is": ({}, {"queues": ["gq", "gq-long"]}, "queue"),
    "both are in": ({}, {"queues": ["gq", "gq-short"]}, "auto"),
    "its class": ({"classes": {"single-gpu": True}}, {}, "auto"),
    "another class": ({"classes": {"cpu": True}}, {}, "class"),
    "a class that nobody knows": ({"classes": {"single-gpu": True}}, {"gpus": None, "nodes": None}, "class"),
    "its QOS": ({"qos": {"normal": True}}, {}, "auto"),
    "another QOS": ({"qos": {"low": True}}, {}, "qos"),
    "one of its QOS": ({"qos": {"normal": True}}, {"qos": "normal,low"}, "qos"),
    "a QOS that nobody knows": ({"qos": {"normal": True}}, {"qos": False}, "qos"),
    "a list of QOS that names none": ({"qos": {"normal": True}}, {"qos": ","}, "qos"),
    "a QOS that is left out": ({"qos_off": {"normal": True}}, {}, "qos"),
    "another is left out": ({"qos_off": {"low": True}}, {}, "auto"),
    "one of its own is": ({"qos_off": {"low": True}}, {"qos": "normal,low"}, "qos"),
    "nobody knows it, and one is left out": ({"qos_off": {"low": True}}, {"qos": False}, "qos"),
    "the user, by uid": ({"users_off": {1001: True}}, {}, "user"),
    "by name": ({"users_off": {"alice": True}}, {"user": "alice"}, "user"),
    "the account": ({"accounts_off": {"physics": True}}, {}, "account"),
    "an account that nobody knows": ({"accounts_off": {"x": True}}, {"account": False}, "account"),
    "srun, salloc": ({}, {"batch": False}, "interactive"),
    "where the policy takes them": ({"interactive": True}, {"batch": False}, "auto"),
    "a server of JupyterHub": ({}, {"job_name": "jupyter"}, "interactive"),
    "where the policy takes that": ({"interactive": True}, {"job_name": "jupyter"}, "auto"),
    "a heterogeneous job": ({}, {"het_offset": 0}, "het"),
    "an array": ({}, {"array": "1-9"}, "auto"),
    "no limit": ({}, {"limit": False, "limit_kind": "unset"}, "limit"),
    "unlimited": ({}, {"limit": False, "limit_kind": "unlimited"}, "limit"),
    "a limit of nothing, which Slurm reads as unlimited": ({}, {"limit": 0}, "limit"),
    "a limit that nobody knows": ({}, {"limit": False, "limit_kind": "unknown"}, "limit"),
    "no room for its record": ({}, {"admin_comment": "x" * 1005}, "record"),
    "just enough room": ({}, {"admin_comment": "x" * (1024 - len(RECORD) - 1)}, "auto"),
}


@pytest.mark.parametrize("why", WHO)
def test_who_opts_in(lua: Lua, why: str) -> None:
    settings, asked, expected = WHO[why]
    decision = decided(lua, settings, **asked)
    assert (decision["extend"], decision["verdict"]) == (expected, "accept"), why
    assert (",ext=auto" in (decision.get("record") or "").split(" ")[0]) == (expected == "auto")


@pytest.mark.parametrize("why", WHO)
def test_a_user_who_asked_in_vain_is_told(lua: Lua, why: str) -> None:
    settings, asked, expected = WHO[why]
    messages = decided(lua, settings, **asked)["messages"]
    said = [line for line in messages if "ADMINKIT_EXTEND" in line]
    assert bool(said) == (expected == "word" or (asked.get("extend") == "auto" and expected != "auto")), messages
    if expected not in ("auto", "word", "off"):
        (line,) = decided(lua, settings, **{**asked, "extend": "auto"})["messages"]
        assert "no effect" in line and decided(lua, settings, **{**asked, "extend": "off"})["messages"] == []


def test_without_the_section_nothing_is_decided(lua: Lua) -> None:
    decision = lua.decide(request(**ASKED, extend="auto"), policy())
    assert "extend" not in decision and decision["record"] == "ak1:lim=7200,src=e" and decision["messages"] == []


@pytest.mark.parametrize("field", ["comment", "extra", "none"])
def test_a_field_that_users_can_write_says_nothing(lua: Lua, field: str) -> None:
    decision = lua.decide(request(**ASKED), policy(record=field, extend=SETTINGS))
    assert decision["extend"] == "record" and ",ext=" not in (decision.get("record") or "")


def test_a_limit_that_a_rule_gave_is_not_the_users(lua: Lua) -> None:
    given = decided(lua, None, rule("default_limit", HOUR, "amend", name="default"), limit=False, limit_kind="unset")
    assert (given["limit"], given["extend"]) == (HOUR, "limit")
    lowered = decided(lua, None, rule("max_limit", HOUR, "amend", name="max"))
    assert (lowered["limit"], lowered["extend"]) == (HOUR, "auto"), "the rules are asked again before more is given"


def test_a_refused_job_hears_of_nothing_else(lua: Lua) -> None:
    decision = decided(lua, None, rule("max_limit", HOUR, name="max"), extend="auto", queues=["gq"])
    assert decision["verdict"] == "reject" and not any("EXTEND" in line for line in decision["messages"])
    assert "extend" not in decision


def test_the_key_stands_before_the_rules(lua: Lua) -> None:
    decision = decided(lua, None, rule("max_limit", HOUR, "amend", name="max"), whole=True)
    assert decision["record"] == "ak1:lim=7200,src=e,own=node,ext=auto,rules=max"


def test_exempt_users_take_part(lua: Lua) -> None:
    assert decided(lua, None, uid=OPERATOR)["extend"] == "auto"


def test_deciding_twice_is_deciding_once(lua: Lua) -> None:
    first = decided(lua)
    again = decided(lua, admin_comment=first["record"])
    assert again["extend"] == "auto" and again.get("record") is None
    other = decided(lua, {"queues": {"x": True}}, admin_comment=first["record"])
    assert other["extend"] == "auto" and other.get("record") is None, "the record in force says so"
    without = decided(lua, admin_comment="ak1:lim=7200,src=e", extend="auto")
    assert without["extend"] == "record" and len(without["messages"]) == 1, "or does not"


def test_a_forged_record_opts_nobody_in(lua: Lua) -> None:
    """A user can type a comment, and a job's name; Slurm refuses their AdminComment before the script runs."""
    for forged in ({"comment": RECORD}, {"job_name": RECORD}, {"extra": RECORD}):
        decision = decided(lua, {"default": "off"}, **forged)
        assert (decision["extend"], decision["record"]) == ("off", "ak1:lim=7200,src=e")


#: (the environment, the script; None: srun), the record and what is said
WORDS: list[tuple[dict[str, str] | None, str | None, str, int, str]] = [
    ({}, "#!/bin/sh", RECORD, 0, "nothing is said"),
    ({"ADMINKIT_EXTEND": "off"}, "#!/bin/sh", "ak1:lim=7200,src=e", 0, "off"),
    ({"ADMINKIT_EXTEND": "auto"}, "#!/bin/sh", RECORD, 0, "auto"),
    ({"ADMINKIT_EXTEND": ""}, "#!/bin/sh", RECORD, 0, "an empty variable is none"),
    ({"ADMINKIT_EXTEND": "auto "}, "#!/bin/sh", "ak1:lim=7200,src=e", 1, "a blank too much"),
    ({"ADMINKIT_EXTEND": "auto,rules=x"}, "#!/bin/sh", "ak1:lim=7200,src=e", 1, "nobody writes a key with it"),
    ({"ADMINKIT_EXTEND": "x" * 100_000}, "#!/bin/sh", "ak1:lim=7200,src=e", 1, "any length"),
    (None, None, "ak1:lim=7200,src=e", 0, "srun has no environment"),
]  # fmt: skip


@pytest.mark.parametrize(("environment", "script", "expected", "said", "why"), WORDS, ids=[case[4] for case in WORDS])
def test_what_the_script_reads(
    lua: Lua, tmp_path: Path, environment: dict[str, str] | None, script: str | None, expected: str, said: int, why: str
) -> None:
    site.write(tmp_path, policy=policy(extend=SETTINGS))
    desc = {"partition": "gq", "time_limit": 120, "script": script, "environment": environment}
    answer = site.run(lua, site.case(tmp_path, desc=desc))
    assert (answer["desc"]["admin_comment"], len(answer["messages"])) == (expected, said), why
    assert answer["errors"] == []


@given(st.binary(max_size=40).filter(lambda value: value not in (b"auto", b"")))
def test_no_other_bytes_opt_in(lua: Lua, value: bytes) -> None:
    decision = decided(lua, extend=value.decode("utf-8", "surrogateescape"))
    assert decision["extend"] in ("off", "word") and decision["record"] == "ak1:lim=7200,src=e"
    assert decision["messages"] == ([] if value == b"off" else [LAST_WORD]), "nothing of it is repeated"


def test_an_update_writes_no_record(lua: Lua, tmp_path: Path) -> None:
    """The key is of the submission: no update of the owner's adds it or takes it away."""
    site.write(tmp_path, policy=policy(extend=SETTINGS))
    changes = [{"time_limit": 60}, {"comment": RECORD}, {"partition": "gq-short", "time_limit": 100}]
    for desc in changes:
        rec = {"partition": "gq", "time_limit": 120, "admin_comment": "ak1:lim=7200,src=e", "user_id": BOB}
        answer = site.run(lua, site.case(tmp_path, uid=BOB, desc=desc, rec=rec))
        assert answer["desc"].get("admin_comment") is None and answer["errors"] == []


#: what is wrong with a table, by key -> a part of the complaint
DAMAGED: dict[str, tuple[dict[str, Any], str]] = {
    "no queues": ({"queues": None}, "extend.queues"),
    "a list in place of a set": ({"users_off": ["alice"]}, "extend.users_off"),
    "another default": ({"default": "on"}, "extend.default"),
    "no variable": ({"variable": None}, "extend.variable"),
    "no step": ({"step": None}, "extend.step"),
    "a step of words": ({"step": {"share": "much"}}, "extend.step"),
    "an empty step": ({"step": {}}, "extend.step"),
    "a word for a switch": ({"interactive": "yes"}, "extend.interactive"),
}


@pytest.mark.parametrize("why", DAMAGED)
def test_a_damaged_section_is_no_policy(lua: Lua, why: str) -> None:
    change, complaint = DAMAGED[why]
    table = policy(extend={key: value for key, value in {**SETTINGS, **change}.items() if value is not None})
    assert complaint in lua.ask("validate", "policy", table)
    assert lua.ask("validate", "policy", policy(extend=SETTINGS)) is None
