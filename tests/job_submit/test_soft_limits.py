"""Soft limits: which job is planned by need, what the script writes, and what an update takes away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.economy.needs_text import texts
from tests.job_submit import site
from tests.job_submit.policies import HOUR, policy, request, rule
from tests.job_submit.runtime import Lua

H = HOUR
NOW = 1_800_000_000
SETTINGS: dict[str, Any] = {
    "queues": {"gq": True, "gq-short": True}, "quantile": 75, "least": 600, "gap": 1800, "users_off": {},
    "accounts_off": {}, "classes_off": {}, "preemptible": False, "arrays": False, "variable": "ADMINKIT_PLAN",
}  # fmt: skip
NEEDS: dict[str, Any] = {
    "format": 1, "generation": "n", "made_at": 1, "quantiles": [50, 75, 90],
    "rows": [
        "..1001-.train_-gq-900-1790-3600_--1-2-3._-gq-60-61-62.a_2db_20c_-gq_2dshort-1-1200-9"
        ".cut_-gq-900-1790.more_-gq-900-1790-3600-9.word_-gq-900-x-3600.none_-gq.gap_-gq--1790-3600"
        f".huge_-gq-1-{'9' * 400}-9..100-.1_2dx_-gq-1-1200-9"
        "..1002-.train_-gq-1-2-3._2a_--1-1790-3600..1003-.last_-gq-1-1200-9",
    ],
}  # fmt: skip
LEASE: dict[str, Any] = {
    "format": 1, "generation": "lease", "made_at": NOW - 10, "valid_until": NOW + 80,
    "queues": {"gq": {"most": 72 * H}, "gq-short": {"most": 3 * H}},
    "qos_off": {}, "accounts_off": {}, "users_off": {},
}  # fmt: skip
ASKED: dict[str, Any] = {
    "queues": ["gq"], "limit": 2 * H, "job_name": "train", "uid": 1001, "now": NOW, "batch": True, "lease": LEASE,
    "account": "physics", "qos": "normal",
}  # fmt: skip


def decided(lua: Lua, settings: dict[str, Any] | None = None, *rules: Any, **asked: Any) -> dict[str, Any]:
    """The decision with soft limits on; `settings` are those that differ."""
    table = {**policy(*rules), "record": "admin_comment", "soft_limits": {**SETTINGS, **(settings or {})}}
    ruleset = lua.call(lua.module("ruleset").of, table, None, None, NEEDS)
    made = request(**{**ASKED, **asked})
    return lua._listed(lua.module("decide").decide, made, ruleset)


def lease(**changes: Any) -> dict[str, Any]:
    return {"lease": {**LEASE, **changes}}


GIVEN: dict[str, tuple[dict[str, Any], dict[str, Any], int | None]] = {
    "the quantile of the exact name and queue, in whole minutes": ({}, {}, 1800),
    "another quantile": ({"quantile": 90}, {}, 3600),
    "no less than the least": ({"least": 2700}, {}, 2700),
    "any queue, where the own one has no history": ({}, {"queues": ["gq-short"]}, 600),
    "a job without a name": ({}, {"job_name": ""}, 600),
    "a name without history": ({}, {"job_name": "other"}, None),
    "a name without history, of a user with one": ({}, {"job_name": "other", "uid": 1002}, 1800),
    "a name without history in this queue": ({}, {"uid": 1002, "queues": ["gq-short"]}, 1800),
    "the own name counts before all": ({}, {"uid": 1002}, 600),
    "a user without history": ({}, {"uid": 7}, None),
    "a queue and a name with other bytes than letters": ({}, {"queues": ["gq-short"], "job_name": "a-b c"}, 1200),
    "a queue that its rows do not name, and none of any": ({}, {"job_name": "a-b c"}, None),
    "no uid begins another": ({}, {"job_name": "1-x", "uid": 100}, 1200),
    "nor does a name end one": ({}, {"job_name": "x", "uid": 1001}, None),
    "a name that looks like a row": ({}, {"job_name": "x..1001-.train_-gq"}, None),
    "a name that looks like a name and a queue": ({}, {"job_name": "train_-gq"}, None),
    "a row that is cut short": ({}, {"job_name": "cut"}, None),
    "one that does not end": ({}, {"job_name": "last", "uid": 1003}, None),
    "a row that is too long": ({}, {"job_name": "more"}, None),
    "a row with a word": ({}, {"job_name": "word"}, None),
    "an empty one": ({}, {"job_name": "none"}, None),
    "more digits than a number has": ({}, {"job_name": "huge"}, None),
    "a number that is not there": ({}, {"job_name": "gap"}, None),
    "a name that is a pattern": ({}, {"job_name": ".*"}, None),
    "a queue that is one": ({}, {"queues": [".-"], "job_name": "a-b c"}, None),
    "as large a gap as it takes": ({"gap": 2 * H - 1800}, {}, 1800),
    "a gap that is not worth it": ({"gap": 2 * H - 1740}, {}, None),
    "a quantile that the table has not": ({"quantile": 60}, {}, None),
    "no lease": ({}, {"lease": False}, None),
    "a lease that has run out": ({}, lease(valid_until=NOW), None),
    "a lease of the future: a clock was set back": ({}, lease(made_at=NOW + 100, valid_until=NOW + 200), None),
    "a queue that the policy leaves out": ({"queues": {"gq-short": True}}, {}, None),
    "a queue that the guard leaves out": ({}, lease(queues={"gq-short": {}}), None),
    "one of two queues left out": ({}, {"queues": ["gq", "gq-long"]}, None),
    "both allowed": ({}, {"queues": ["gq", "gq-short"]}, 1800),
    "the maximum of one of them is shorter than the limit": ({}, {"queues": ["gq", "gq-short"], "limit": 4 * H}, None),
    "it ends before the reservation begins": (
        {},
        lease(queues={"gq": {"reserved_at": NOW + 2 * H + 91}}),
        1800,
    ),
    "the reservation begins within its limit and a lease": (
        {},
        lease(queues={"gq": {"reserved_at": NOW + 2 * H + 90}}),
        None,
    ),
    "a reservation of its own": ({}, {"reservation": "r"}, None),
    "its QOS counts minutes": ({}, lease(qos_off={"normal": True}), None),
    "one of its QOS does": ({}, {**lease(qos_off={"low": True}), "qos": "normal,low"}, None),
    "another QOS does": ({}, lease(qos_off={"low": True}), 1800),
    "nobody knows its QOS, and one counts minutes": ({}, {**lease(qos_off={"low": True}), "qos": False}, None),
    "its account counts minutes": ({}, lease(accounts_off={"physics": True}), None),
    "nobody knows its account, and one counts minutes": (
        {},
        {**lease(accounts_off={"x": True}), "account": False},
        None,
    ),
    "its own association does": ({}, lease(users_off={1001: True}), None),
    "the policy leaves the user out": ({"users_off": {1001: True}}, {}, None),
    "by name": ({"users_off": {"alice": True}}, {"user": "alice"}, None),
    "the account": ({"accounts_off": {"physics": True}}, {}, None),
    "the class": ({"classes_off": {"single-gpu": True}}, {"nodes": 1, "gpus": 1}, None),
    "another class": ({"classes_off": {"multi-gpu": True}}, {"nodes": 1, "gpus": 1}, 1800),
    "srun, salloc": ({}, {"batch": False}, None),
    "an array": ({}, {"array": "1-9"}, None),
    "an array, where the policy takes them": ({"arrays": True}, {"array": "1-9"}, 1800),
    "a heterogeneous job": ({}, {"het_offset": 1}, None),
    "the first part of one": ({}, {"het_offset": 0}, None),
    "it goes on from a checkpoint": ({}, {"restartable": True}, None),
    "no limit": ({}, {"limit": False, "limit_kind": "unset"}, None),
    "unlimited": ({}, {"limit": False, "limit_kind": "unlimited"}, None),
    "switched off by its owner": ({}, {"plan_off": True}, None),
}


@pytest.mark.parametrize("why", GIVEN)
def test_who_is_planned_by_need(lua: Lua, why: str) -> None:
    settings, asked, expected = GIVEN[why]
    decision = decided(lua, settings, **asked)
    assert decision.get("soft") == expected, why
    assert (f",soft={expected}" in (decision.get("record") or "")) == (expected is not None)
    assert decision.get("limit") is None and decision["verdict"] == "accept"


def test_a_table_without_rows_gives_none(lua: Lua) -> None:
    table = {**policy(), "record": "admin_comment", "soft_limits": SETTINGS}
    for needs in ({**NEEDS, "rows": []}, None):
        ruleset = lua.call(lua.module("ruleset").of, table, None, None, needs)
        assert lua._listed(lua.module("decide").decide, request(**ASKED), ruleset).get("soft") is None


@pytest.mark.parametrize("users", [1, 40])
def test_each_row_is_found_where_it_was_put(lua: Lua, users: int) -> None:
    """Names of every length and byte, in texts of about 16 rows."""
    named = ["", "a", "ab-c.d", "x" * 300, 'q"]\n', "\udcff\udc80", "jõb", *(f"run-{i:03}-final" for i in range(60))]
    needs = {1000 + i: {name: {"gq": f"1-{600 + 60 * j}-9"} for j, name in enumerate(named)} for i in range(users)}
    table = {**policy(), "record": "admin_comment", "soft_limits": SETTINGS}
    rows = texts(needs)
    ruleset = lua.call(lua.module("ruleset").of, table, None, None, {**NEEDS, "rows": rows})
    decide = lua.module("decide").decide
    for uid in needs:
        for j, name in enumerate(named):
            wanted = request(**{**ASKED, "uid": uid, "job_name": name, "limit": 9 * H})
            assert lua._listed(decide, wanted, ruleset)["soft"] == 600 + 60 * j, (uid, name)


def test_a_limit_that_a_rule_changed_is_no_limit_to_plan_below(lua: Lua) -> None:
    """The record has what was asked for: the guard could not know to which limit to raise it."""
    decision = decided(lua, None, rule("max_limit", H, "amend", name="max"))
    assert decision["limit"] == H and decision.get("soft") is None


def test_no_rule_sees_the_soft_limit(lua: Lua) -> None:
    decision = decided(lua, None, rule("min_limit", H, "reject", name="min"))
    assert (decision["verdict"], decision["soft"]) == ("accept", 1800)


def test_a_typed_time_min_goes_and_its_owner_is_told(lua: Lua) -> None:
    for uid, soft in ((1001, 1800), (7, None)):
        decision = decided(lua, uid=uid, time_min=300)
        assert (decision["time_min"], decision.get("soft")) == (0, soft)
        assert any("--time-min was left out" in line for line in decision["messages"])


TYPED: dict[str, tuple[dict[str, Any], dict[str, Any], int | None]] = {
    "it counts before what is known": ({}, {"time_min": 3600}, 3600),
    "where nothing is known too": ({}, {"time_min": 3600, "uid": 7}, 3600),
    "in whole minutes": ({}, {"time_min": 3601}, 3660),
    "no less than the least": ({}, {"time_min": 60}, 600),
    "a gap that history would not be worth": ({"gap": 2 * H}, {"time_min": 2 * H - 60}, 2 * H - 60),
    "the limit itself": ({}, {"time_min": 2 * H}, None),
    "above the limit": ({}, {"time_min": 3 * H}, None),
    "endless": ({}, {"time_min": float("inf")}, None),
    "a least above the limit": ({"least": 3 * H}, {"time_min": 600}, None),
    "no lease": ({}, {"time_min": 600, "lease": False}, None),
    "a lease that has run out": ({}, {"time_min": 600, **lease(valid_until=NOW)}, None),
    "a queue that the policy leaves out": ({"queues": {"gq-short": True}}, {"time_min": 600}, None),
    "a queue that the guard leaves out": ({}, {"time_min": 600, **lease(queues={"gq-short": {}})}, None),
    "the maximum of its queue is shorter than the limit": (
        {},
        {"time_min": 600, "queues": ["gq", "gq-short"], "limit": 4 * H},
        None,
    ),
    "a reservation begins before its limit": (
        {},
        {"time_min": 600, **lease(queues={"gq": {"reserved_at": NOW + 2 * H + 90}})},
        None,
    ),
    "a reservation of its own": ({}, {"time_min": 600, "reservation": "r"}, None),
    "its QOS counts minutes": ({}, {"time_min": 600, **lease(qos_off={"normal": True})}, None),
    "its account does": ({}, {"time_min": 600, **lease(accounts_off={"physics": True})}, None),
    "its association does": ({}, {"time_min": 600, **lease(users_off={1001: True})}, None),
    "the policy leaves the user out": ({"users_off": {1001: True}}, {"time_min": 600}, None),
    "srun, salloc": ({}, {"time_min": 600, "batch": False}, None),
    "an array": ({}, {"time_min": 600, "array": "1-9"}, None),
    "an array, where the policy takes them": ({"arrays": True}, {"time_min": 900, "array": "1-9"}, 900),
    "a heterogeneous job": ({}, {"time_min": 600, "het_offset": 1}, None),
    "it goes on from a checkpoint": ({}, {"time_min": 600, "restartable": True}, None),
    "no limit": ({}, {"time_min": 600, "limit": False, "limit_kind": "unset"}, None),
    "unlimited": ({}, {"time_min": 600, "limit": False, "limit_kind": "unlimited"}, None),
    "switched off by its owner": ({}, {"time_min": 600, "plan_off": True}, None),
    "no room for its record": ({}, {"time_min": 600, "admin_comment": "x" * 995}, None),
}


@pytest.mark.parametrize("why", TYPED)
def test_a_typed_time_min_that_is_kept_is_guarded_like_the_policys_own(lua: Lua, why: str) -> None:
    settings, asked, expected = TYPED[why]
    decision = decided(lua, {**settings, "typed": True}, **asked)
    assert decision.get("soft") == expected, why
    record, messages = decision.get("record") or "", decision["messages"]
    assert ",soft=" not in record, "it is the user's word, not the policy's"
    if expected is None:
        assert decision["time_min"] == 0 and ",keep=" not in record and "--time-min was left out" in messages[0]
        assert decided(lua, settings, **asked).get("time_min") == 0, "and so without the setting"
    else:
        assert f",min={asked['time_min']},keep={expected}" in record and not messages
        assert (decision["verdict"], decision.get("time_min")) == ("accept", None)


def test_a_kept_time_min_hides_no_short_job_from_a_rule(lua: Lua) -> None:
    """Rules look at limits; one that changes the limit takes the soft limit, as the guard could not raise to it."""
    decision = decided(lua, {"typed": True}, rule("max_limit", H, "amend", name="max"), time_min=600)
    assert (decision["limit"], decision["time_min"], decision.get("soft")) == (H, 0, None)
    refused = decided(lua, {"typed": True}, rule("max_limit", H, "reject", name="max"), time_min=600)
    assert refused["verdict"] == "reject"


def test_deciding_twice_keeps_what_was_typed(lua: Lua) -> None:
    first = decided(lua, {"typed": True}, time_min=60)
    again = decided(lua, {"typed": True}, time_min=first["soft"], admin_comment=first["record"])
    assert again.get("soft") == first["soft"] == 600 and not again["messages"] and again.get("record") is None
    off = decided(lua, time_min=first["soft"], admin_comment=first["record"])
    assert (off["time_min"], off.get("soft")) == (0, None), "the setting was taken back in between"


def test_what_an_earlier_decision_gave_is_not_taken_for_typed(lua: Lua) -> None:
    first = decided(lua)
    again = decided(lua, {"typed": True}, time_min=first["soft"], admin_comment=first["record"])
    assert (again.get("soft"), again["messages"]) == (1800, [])
    forged = decided(lua, {"typed": True}, time_min=600, comment="ak1:lim=7200,src=e,soft=600")
    assert forged["record"] == "ak1:lim=7200,src=e,min=600,keep=600", "a record in Comment anybody can type"


def test_deciding_twice_is_deciding_once(lua: Lua) -> None:
    first = decided(lua)
    again = decided(lua, time_min=first["soft"], admin_comment=first["record"])
    assert again.get("soft") == first["soft"] and not again["messages"] and again.get("record") is None
    other = decided(lua, {"quantile": 90}, time_min=first["soft"], admin_comment=first["record"])
    assert other.get("soft") is None, "the record in force says another number"
    forged = first["record"].replace("lim=7200", "lim=720000")
    assert decided(lua, admin_comment=forged).get("soft") is None, "or another limit, to which the guard would raise it"


def test_without_room_for_the_record_there_is_none(lua: Lua) -> None:
    full = "x" * 1003  # room for a record, not for one with a soft limit
    decision = decided(lua, admin_comment=full)
    assert decision.get("soft") is None and decision["record"].startswith("ak1:lim=7200,src=e ")


def test_an_operator_gets_one_too(lua: Lua) -> None:
    """Rules do not hold operators; planning by need is no rule."""
    table = {**policy(), "record": "admin_comment", "exempt": {1001: True}, "soft_limits": SETTINGS}
    ruleset = lua.call(lua.module("ruleset").of, table, None, None, NEEDS)
    assert lua._listed(lua.module("decide").decide, request(**ASKED), ruleset)["soft"] == 1800


#: update: limit, typed; the job's own; pending; whether time_min is taken away; why
UPDATES: list[tuple[int | None, int | None, int | None, bool, bool, str]] = [
    (None, None, 5, True, True, "a job that waits and changes in any way that matters"),
    (60, None, 5, True, True, "its limit"),
    (None, 0, 5, True, True, "its owner takes it away"),
    (None, 9, 5, True, True, "its owner types one"),
    (60, None, 5, False, False, "a running job, its limit above"),
    (5, None, 5, False, False, "as long"),
    (3, None, 5, False, True, "below: Slurm refuses it unless both come together"),
    (None, 1, None, True, True, "typed, where there is none"),
    (None, 1, 0, False, True, "whatever the state"),
    (None, 0, None, True, False, "nothing to take away"),
    (60, None, None, True, False, "no TimeMin at all"),
]


@pytest.mark.parametrize(("limit", "typed", "has", "pending", "dropped", "why"), UPDATES)
def test_what_an_update_takes_away(
    lua: Lua, limit: int | None, typed: int | None, has: int | None, pending: bool, dropped: bool, why: str
) -> None:
    found = lua.call(lua.module("soft").is_dropped, limit, typed, has, pending)
    assert bool(found) is dropped, why


def written(folder: Path, **more: Any) -> Path:
    table = {**policy(), "generation": "p", "record": "admin_comment", "soft_limits": SETTINGS, **more}
    return site.write(folder, policy=table, soft_limits=NEEDS)


def put_lease(folder: Path, **changes: Any) -> None:
    import time

    now = int(time.time())
    text = site.module({**LEASE, "made_at": now, "valid_until": now + 90, **changes}, "made for a test")
    (folder / "adminkit" / "soft_lease").write_text(text)


def test_the_script_writes_time_min_and_its_record(lua: Lua, tmp_path: Path) -> None:
    folder = written(tmp_path)
    put_lease(folder)
    done = site.run(lua, site.case(folder))
    assert (done["desc"]["time_min"], done["desc"]["time_limit"]) == (30, 1200)
    assert done["desc"]["admin_comment"] == "ak1:lim=72000,src=e,soft=1800"
    assert not done["errors"]
    off = site.run(lua, site.case(folder, desc={"environment": {"ADMINKIT_PLAN": "off"}}))
    assert "time_min" not in off["desc"]
    typed = site.run(lua, site.case(folder, uid=1001, desc={"time_min": 5, "name": "other"}))
    assert typed["desc"]["time_min"] == 4294967294, "unset"
    assert typed["desc"]["admin_comment"] == "ak1:lim=72000,src=e,min=300"


def test_the_script_keeps_a_typed_time_min(lua: Lua, tmp_path: Path) -> None:
    folder = written(tmp_path, soft_limits={**SETTINGS, "typed": True})
    put_lease(folder)
    for minutes, kept in ((5, 10), (20, 20)):
        done = site.run(lua, site.case(folder, desc={"time_min": minutes}))
        assert (done["desc"]["time_min"], done["desc"]["time_limit"]) == (kept, 1200)
        assert done["desc"]["admin_comment"] == f"ak1:lim=72000,src=e,min={60 * minutes},keep={60 * kept}"
        assert not done["messages"] and not done["errors"]
    (folder / "adminkit" / "soft_lease").unlink()
    done = site.run(lua, site.case(written(folder, soft_limits={**SETTINGS, "typed": True}), desc={"time_min": 20}))
    assert done["desc"]["time_min"] == 4294967294 and "--time-min was left out" in done["messages"][0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "there is none"),
        ("return os.exit(1)", "a program"),
        ("return {", "cut short"),
        ('-- x\nreturn { ["format"] = 1, ["generation"] = "l" }\n', "no time in it"),
    ],
)
def test_a_lease_that_is_no_lease_gives_none(lua: Lua, tmp_path: Path, text: str | None, why: str) -> None:
    folder = written(tmp_path)
    if text is not None:
        (folder / "adminkit" / "soft_lease").write_text(text)
    done = site.run(lua, site.case(folder))
    assert done["code"] == 0 and "time_min" not in done["desc"], why


def test_an_update_by_anybody_takes_time_min_away(lua: Lua, tmp_path: Path) -> None:
    folder = written(tmp_path, exempt={0: True, 1001: True})
    for uid in (0, 1001):
        done = site.run(lua, site.case(folder, uid=uid, rec={"time_min": 30}, desc={"time_limit": 60}))
        assert done["desc"] == {"time_limit": 60, "time_min": 0}
        done = site.run(lua, site.case(folder, uid=uid, rec={"time_min": 30}, desc={"priority": 0}))
        assert done["desc"] == {"priority": 0}, "a hold changes nothing"


def test_who_takes_the_record_away_takes_time_min_away(lua: Lua, tmp_path: Path) -> None:
    """Without its record nobody would know that what Slurm lowers was ours. One that runs can lose none."""
    folder = written(tmp_path, exempt={0: True})
    for state, desc in ((0, {"admin_comment": "note", "time_min": 0}), (1, {"admin_comment": "note"})):
        case = site.case(folder, uid=0, rec={"time_min": 30, "job_state": state}, desc={"admin_comment": "note"})
        assert site.run(lua, case)["desc"] == desc


def test_without_soft_limits_a_typed_time_min_is_slurms(lua: Lua, tmp_path: Path) -> None:
    folder = site.write(tmp_path, policy={**policy(), "generation": "p"}, soft_limits=NEEDS)
    put_lease(folder)
    done = site.run(lua, site.case(folder, desc={"time_min": 5}))
    assert done["desc"]["time_min"] == 5


def test_the_generation_is_named_where_there_is_a_table(lua: Lua, tmp_path: Path) -> None:
    done = site.run(lua, site.case(written(tmp_path), desc={"name": "adminkit:generation?"}))
    assert done["messages"] == ["adminkit generation p incentives none hints none soft n"]
