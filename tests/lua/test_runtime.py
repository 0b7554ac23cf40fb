"""The Lua that decides, run by Python: values in and out, and what a damaged file can do, which is nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.installed import data_file
from adminkit.lua.runtime import Decider, Lua, LuaVersion, load_table
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.load import load_policy
from adminkit.policy.request import Typed, per_node, slurm_limit, trace_request, typed_request
from adminkit.slurm.site import made_up
from adminkit.stats.replay import Submission
from tests.support.policies import LUAS, STRICT, compiled, decider, policy

BOTH = pytest.mark.parametrize("version", LUAS)
NOW = 1_800_000_000

#: Decides nothing: hands back what it got.
ECHO = {
    "decide": b"""
        local need = ...
        local other = need("other")
        return { decide = function(r, set)
            return { verdict = other.verdict, messages = { r.user, set.i, set.h }, limit = r.limit,
                     fired = { { rule = set.p.rule, action = "warn" } } }
        end }""",
    "ruleset": b"return { of = function(p, i, h) return { p = p, i = tostring(i), h = tostring(h) } end }",
    "other": b"return { verdict = 'accept' }",
}


@BOTH
def test_modules_are_loaded_by_name_and_get_the_loader(version: LuaVersion) -> None:
    echo = Decider(b'return { ["rule"] = "a" }', version=version, read=ECHO.__getitem__)
    decision = echo.decide({"user": "ad\udcffa", "limit": 3600})
    assert decision.messages == ("ad\udcffa", "nil", "nil")
    assert (decision.verdict, decision.limit, decision.fired) == ("accept", 3600, (("a", "warn"),))
    assert (decision.queue, decision.record, decision.untold, decision.log) == (None, None, (), ())


@BOTH
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"return os.time()", "something other than texts, numbers"),
        (b"return io.open('x')", "something other than texts, numbers"),
        (b"return require('os')", "something other than texts, numbers"),
        (b"return loadstring('')", "something other than texts, numbers"),
        (b"x = ", "does not begin with return"),
        (b"\x1bLuaQ", "does not begin with return"),
        (b"return 1", "something other than texts, numbers"),
        (b"", "does not begin with return"),
        (b"return { [1] = 1 2 }", "expected"),
        (b'return { "\\999" }', "escape"),
    ],
)
def test_a_damaged_table_can_call_nothing(version: LuaVersion, text: bytes, said: str) -> None:
    with pytest.raises(AdminkitError) as caught:
        Lua(version).table(text, "policy.lua")
    assert said in caught.value.message


@BOTH
@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'return { 1, 2.5, "x", true }', [1, 2.5, "x", True]),
        (b'return { ["a"] = { ["b"] = {} } }', {"a": {"b": {}}}),
        (b'return { [1] = "a", [3] = "c" }', {1: "a", 3: "c"}),
        (b'return { [1001] = true, ["ada"] = true }', {1001: True, "ada": True}),
        (b'return { -1, 1e3, 1.5e-2, "\\032" }', [-1, 1000, 0.015, " "]),
    ],
)
def test_a_table_becomes_what_python_would_write(version: LuaVersion, text: bytes, value: Any) -> None:
    lua = Lua(version)
    assert lua.out(lua.table(text, "x")) == value


@BOTH
@pytest.mark.parametrize("value", [["a", "b"], {"a": 1, "b": [True, {"c": 2.5}]}, {"name": "\udcff"}, {3: "x"}])
def test_what_goes_in_comes_out(version: LuaVersion, value: Any) -> None:
    lua = Lua(version)
    assert lua.out(lua.into(value)) == value


def test_an_error_inside_lua_is_one_of_ours() -> None:
    with pytest.raises(AdminkitError, match=r"Lua: ruleset\.lua:1: broken"):
        Decider(b"return {}", read=lambda name: b"error('broken')")


def test_a_table_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.lua"
    path.write_text(compiled(policy(STRICT)))
    assert load_table(path)["rules"][1]["name"] == "single-day"
    with pytest.raises(AdminkitError, match="no such file"):
        load_table(tmp_path / "none.lua")


#: (what is typed, verdict, limit, queue, rules that fired)
TRIED = [
    (Typed("ada", queues=("gq",), limit="100:00:00", gpus=1), "amend", 86400, None, ["single-day"]),
    (Typed("ada", queues=("gq",), limit="100:00:00", gpus=2), "reject", None, None, ["gq-max", "long"]),
    (Typed("ada", queues=("gq",), gpus=2), "amend", 3600, None, ["gq-default"]),
    (Typed("ada", limit="90", gpus=2), "amend", None, "gq-short", ["routing"]),
    (
        Typed("ada", "other", queues=("gq-middle",), limit="1:00:00", gpus=2),
        "reject",
        None,
        None,
        ["gq-middle-one-gpu"],
    ),
    (Typed("ada", "VISION", queues=("gq-middle",), limit="1:00:00", gpus=2), "accept", None, None, []),
    (Typed("ada", queues=("gq",), limit="60:00:00", gpus=2, ckpt=True), "accept", None, None, []),
    (Typed("ada", queues=("gq",), limit="60:00:00", gpus=2, batch=False), "accept", None, None, []),
    (Typed("grace", queues=("gq",), limit="unlimited", gpus=9), "accept", None, None, []),
    (Typed("bob", queues=("gq-short",), limit="3:00:00", gpus=2), "accept", None, None, ["gq-short-later"]),
]


@BOTH
@pytest.mark.parametrize(("typed", "verdict", "limit", "queue", "fired"), TRIED)
def test_what_is_typed_is_decided_as_slurmctld_would(
    version: LuaVersion, typed: Typed, verdict: str, limit: int | None, queue: str | None, fired: list[str]
) -> None:
    found = policy(STRICT)
    site = made_up(found.queues(), found.users())
    request = typed_request(typed, site.uids.get(typed.user or ""), NOW)
    decision = decider(STRICT, site, version).decide(request)
    assert (decision.verdict, decision.limit, decision.queue) == (verdict, limit, queue)
    assert [rule.replace("-jobs-restartable", "") for rule, _ in decision.fired] == fired


def test_rules_that_cannot_be_judged_are_named() -> None:
    typed = Typed("ada", queues=("gq",), limit="60:00:00", gpus=2, batch=False)
    assert decider(STRICT).decide(typed_request(typed, None, NOW)).untold == ("long-jobs-restartable",)


def test_a_rule_whose_date_is_ahead_warns_with_the_date() -> None:
    request = typed_request(Typed("bob", queues=("gq-short",), limit="3:00:00", gpus=2), None, NOW)
    (message,) = decider(STRICT).decide(request).messages
    assert message.startswith("Not yet a rule, but from 2027-04-01: ")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("1:30", 120),
        ("02:00:00", 7200),
        ("3-00", 259200),
        ("INFINITE", None),
        ("unlimited", None),
        ("0", None),
        ("00:00:00", None),
    ],
)
def test_a_limit_is_read_as_sbatch_reads_it(text: str, seconds: int | None) -> None:
    assert slurm_limit(text) == seconds


@pytest.mark.parametrize("text", ["-5", "soon", "", "1 h"])
def test_what_is_no_limit_is_refused_with_bare_numbers_as_minutes(text: str) -> None:
    with pytest.raises(AdminkitError) as caught:
        slurm_limit(text)
    assert "minutes (90)" in caught.value.hint
    assert "seconds" not in caught.value.hint


@pytest.mark.parametrize(("gpus", "nodes", "each"), [(8, 1, 8), (16, 2, 8), (3, 2, None), (None, 1, None), (0, 4, 0)])
def test_gpus_a_node_are_known_where_they_are_spread_evenly(gpus: int | None, nodes: int, each: int | None) -> None:
    assert per_node(gpus, nodes) == each


def test_a_job_of_the_trace_asks_for_what_was_recorded() -> None:
    asked = Submission("ada", 1001, "vision", "gq,gq-short", "normal", "unset", 3600, 2, 80, 16, 2**30, 0)
    request = trace_request(asked, {"ada": 7}, NOW)
    assert (request["uid"], request["queues"], request["limit"], request["limit_kind"]) == (
        7, ["gq", "gq-short"], None, "unset",
    )  # fmt: skip
    assert (request["gpus_per_node"], request["mem"]) == (8, 1024)
    assert "restartable" not in request
    assert trace_request(Submission(*[None] * 11, 0), {}, NOW)["limit_kind"] == "unknown"


@pytest.mark.parametrize(("nodes", "verdict"), [(None, "accept"), (2, "accept"), (1, "reject")])
def test_sixteen_gpus_are_two_nodes_unless_one_is_asked_for(nodes: int | None, verdict: str) -> None:
    """The example allows 8 GPUs per node, and Slurm spreads --gpus=16 over two."""
    shipped = load_policy(data_file("etc", "policy.toml"))
    decider = Decider(policy_text(policy_table(shipped, made_up(shipped.queues()), 0)).encode())
    typed = Typed("ada", queues=("gq",), limit="02:00:00", nodes=nodes, gpus=16)
    assert decider.decide(typed_request(typed, 1001, 0)).verdict == verdict
