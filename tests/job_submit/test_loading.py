"""Tables from files: damaged ones never decide, and never keep the script from loading."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.lua.literal import module
from tests.job_submit import site
from tests.job_submit.policies import HOUR, hints, incentives, policy, queue, rule
from tests.job_submit.runtime import Lua

GOOD = policy(rule("max_limit", 10 * HOUR, "amend"), generation="good")
NEW = policy(rule("max_limit", 5 * HOUR, "amend"), generation="new")
TEXT = module(NEW, "x")

DAMAGED: list[tuple[str, str | bytes]] = [
    ("nothing", ""),
    ("half a file", TEXT[: len(TEXT) // 2]),
    ("its first line", TEXT.splitlines()[0]),
    ("noise", b"\x00\xff\x01 return"),
    ("a table that is not returned", "local x = {}"),
    ("no table", "return 7"),
    ("another format", TEXT.replace('["format"] = 1', '["format"] = 2')),
    ("no format", TEXT.replace('["format"] = 1,', "")),
    ("an empty table", "return {}"),
    ("a call", "return os.exit(1)"),
    ("a call of what the text made itself", "local function f() return f() + 1 end return f()"),
    ("an error", "error('x')"),
    ("a global", "x = 1 return y"),
    ("a rule without a check", module(policy({"name": "a", "value": 1, "action": "warn"}), "x")),
    ("an unknown check", module(policy(rule("quota", 1)), "x")),
    ("an unknown action", module(policy(rule("max_limit", 1, "kill")), "x")),
    ("an amendment that cannot be", module(policy(rule("nodes", {"max": 1}, "amend")), "x")),
    ("a value of another kind", module(policy(rule("max_limit", "72h")), "x")),
    ("a negative value", module(policy(rule("max_limit", -1)), "x")),
    ("a range of another kind", module(policy(rule("gpus", 3)), "x")),
    ("a range with a text in it", module(policy(rule("gpus", {"max": "3"})), "x")),
    ("conditions that are no sets", module(policy({**rule("max_limit", 1), "when": {"queues": ["gq"]}}), "x")),
    ("a gap in the rules", TEXT.replace('["rules"] = {', '["rules"] = { [3] = {},')),
    ("queues of another kind", module(policy(queues={"gq": 7}), "x")),
    ("a queue's limit of another kind", module(policy(queues={"gq": queue(max_limit="x")}), "x")),
    ("nobody exempt, not even root", module(policy(exempt=None), "x")),
    ("an unknown fail", module(policy(fail="maybe"), "x")),
    ("an unknown record", module(policy(record="job_name"), "x")),
    ("an unknown routing", module(policy(routing={"action": "guess", "order": []}), "x")),
    ("a text of another kind", module(policy(texts={"en": {"max_limit": 3}}), "x")),
    ("a rule's text of another kind", module(policy({**rule("max_limit", 1), "text": {"en": 3}}), "x")),
]


@pytest.mark.parametrize(("name", "content"), DAMAGED, ids=[case[0] for case in DAMAGED])
def test_a_damaged_policy_does_not_count_and_the_good_copy_does(
    lua: Lua, tmp_path: Path, name: str, content: str | bytes
) -> None:
    site.write(tmp_path, policy=content, policy_good=GOOD)
    answer = site.run(lua, site.case(tmp_path))
    assert (answer["load_code"], answer["code"]) == (0, 0)
    assert answer["desc"]["time_limit"] == 600, name
    assert "policy.lua" in answer["loading"]["errors"][0]
    assert answer["loading"]["errors"][1].endswith("generation good")


@pytest.mark.parametrize(("name", "content"), DAMAGED[:8], ids=[case[0] for case in DAMAGED[:8]])
def test_without_a_good_copy_everything_is_accepted_and_the_log_says_why(
    lua: Lua, tmp_path: Path, name: str, content: str | bytes
) -> None:
    site.write(tmp_path, policy=content)
    answer = site.run(lua, site.case(tmp_path))
    assert (answer["load_code"], answer["code"], answer["desc"]["time_limit"]) == (0, 0, 1200)
    assert "policy.lua" in answer["loading"]["errors"][0]
    assert "every submission is accepted" in answer["loading"]["info"][0]


def test_a_whole_policy_counts(lua: Lua, tmp_path: Path) -> None:
    site.write(tmp_path, policy=NEW, policy_good=GOOD)
    answer = site.run(lua, site.case(tmp_path))
    assert answer["desc"]["time_limit"] == 300
    assert not answer["loading"]["errors"]


def test_bytecode_is_refused(lua: Lua, tmp_path: Path) -> None:
    for interpreter, compiler in (("lua5.1", "luac5.1"), ("lua5.4", "luac5.4")):
        source = tmp_path / "policy.txt"
        source.write_text(TEXT)
        dump = (
            f"local f = io.open('{tmp_path}/{interpreter}', 'wb') f:write(string.dump(loadfile('{source}'))) f:close()"
        )
        if not shutil.which(interpreter):
            pytest.skip(f"not run: no {interpreter} (nor {compiler})")
        subprocess.run([interpreter, "-e", dump], check=True)
        folder = tmp_path / f"site-{interpreter}"
        folder.mkdir()
        site.write(folder, policy=(tmp_path / interpreter).read_bytes(), policy_good=GOOD)
        answer = site.run(lua, site.case(folder))
        assert answer["desc"]["time_limit"] == 600
        assert "bytecode" in answer["loading"]["errors"][0]


BAD_TABLES: list[tuple[str, str, Any]] = [
    ("incentives", "points below zero", incentives(users={1001: {"points": -5}})),
    ("incentives", "points that are no number", incentives(users={1001: {"points": "many"}})),
    ("incentives", "a row that is no table", incentives(users={1001: 5})),
    ("incentives", "users by name", incentives(users={"alice": {"points": 5}})),
    ("incentives", "class points below zero", incentives(class_points={"multi-node": -1})),
    ("incentives", "points by size below zero", incentives(size_points={9: -1})),
    ("incentives", "a size that is no number", incentives(size_points={"9": 1})),
    ("incentives", "sizes that are no table", incentives(size_points=9)),
    ("incentives", "a cap that is not a number", incentives(cap="x")),
    ("incentives", "no users", incentives(users=None)),
    ("hints", "a row that is too short", hints({"": {"": [1, 2, 3]}})),
    ("hints", "a row of texts", hints({"": {"": ["a", "b", "c", "d"]}})),
    ("hints", "no ratio", hints({}, ratio=None)),
    ("hints", "accounts without hints that are no set", hints({}, accounts_off=["vision"])),
    ("hints", "a queue that is no text", hints({"": {5: [1, 2, 3, 4]}})),  # type: ignore[dict-item]
]


@pytest.mark.parametrize(("name", "why", "table"), BAD_TABLES, ids=[f"{case[0]}: {case[1]}" for case in BAD_TABLES])
def test_damaged_points_and_hints_do_not_count_and_the_policy_does(
    lua: Lua, tmp_path: Path, name: str, why: str, table: dict[str, Any]
) -> None:
    site.write(tmp_path, policy=NEW, **{name: table})
    answer = site.run(lua, site.case(tmp_path))
    assert answer["desc"]["time_limit"] == 300, why
    assert "site_factor" not in answer["desc"]
    assert f"{name}.lua" in answer["loading"]["errors"][0]
    site.write(tmp_path, incentives_good=incentives(), hints_good=hints({}))
    again = site.run(lua, site.case(tmp_path))
    assert again["desc"]["site_factor"] == 420


def test_points_and_hints_that_were_never_installed_are_no_error(lua: Lua, tmp_path: Path) -> None:
    site.write(tmp_path, policy=NEW)
    loading = site.run(lua, site.case(tmp_path))["loading"]
    assert not loading["errors"]
    assert loading["info"] == ["adminkit: policy new, incentives none, hints none"]


def test_a_missing_policy_with_a_good_copy_counts(lua: Lua, tmp_path: Path) -> None:
    site.write(tmp_path, policy_good=GOOD)
    assert site.run(lua, site.case(tmp_path))["desc"]["time_limit"] == 600


@settings(max_examples=60)
@given(st.data())
def test_a_policy_with_bytes_lost_or_changed_counts_whole_or_not_at_all(lua: Lua, data: st.DataObject) -> None:
    raw = bytearray(TEXT.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw) - 1))
        length = data.draw(st.integers(0, 40))
        raw[start : start + length] = data.draw(st.binary(max_size=3))
    value = lua.run(b"local read, text = ... return (read(text, 'x'))", lua.module("data").read, bytes(raw))
    check = b"local check, value = ... local ok, wrong = pcall(check, value) return ok and wrong == nil"
    if value is not None and lua.run(check, lua.module("validate").policy, value):
        asked = {"uid": 1, "limit": 36000, "queues": ["gq"], "nodes": 1, "gpus": 1}
        assert lua.decide(asked, value)["verdict"] in ("accept", "amend", "reject")
