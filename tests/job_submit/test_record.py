"""The record of a submission: written, read again, and never believed when it cannot be ours."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.job_submit.policies import HOUR, applied, policy, request, rule
from tests.job_submit.runtime import Lua
from tests.support.comment_words import CASES, Case

H = HOUR
GRAMMAR = re.compile(r"ak1:[a-z]+=[A-Za-z0-9_.+-]+(,[a-z]+=[A-Za-z0-9_.+-]+)*\Z")


def read(lua: Lua, field: str) -> Any:
    return lua.ask("record", "read", field)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_comment_says(lua: Lua, case: Case) -> None:
    found = read(lua, case.comment)
    if case.record is None:
        assert found is None
    else:
        rules = case.record.more.get("rules", "").split("+")
        assert (found["lim"], found["src"], found["rules"] or [""]) == (case.record.lim, case.record.src, rules)
        assert (found.get("cls"), found.get("own")) == (case.record.more.get("cls"), case.record.more.get("own"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_other_word_stays_when_a_record_is_written(lua: Lua, case: Case) -> None:
    """Those to come, those of others and those that are none: behind the record, to the byte."""
    limit = case.record.limit if case.record and case.record.limit is not None else 2 * H
    asked = request(queues=["gq"], limit=limit, admin_comment=case.comment)
    written = lua.decide(asked, policy(record="admin_comment")).get("record")
    if written is not None:
        assert written == f"ak1:lim={limit},src=e" + (f" {case.comment}" if case.comment else "")
    else:
        assert case.record is not None, "only a record of ours is left as it is"


@given(st.text(alphabet="ak1:limsrcuen=,+ \n0129-.d", max_size=60))
def test_any_text_is_read_or_left(lua: Lua, field: str) -> None:
    found = read(lua, field)
    if found is not None:
        assert GRAMMAR.match(re.split(r"\s", field)[0])


MAX = rule("max_limit", 10 * H, "amend", name="max")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"limit": 2 * H}, "ak1:lim=7200,src=e"),
        ({"limit": 20 * H}, "ak1:lim=72000,src=e,rules=max"),
        ({"limit_kind": "unlimited"}, "ak1:lim=inf,src=e,rules=max"),
        ({"limit_kind": "unset"}, "ak1:lim=none,src=d"),
        ({"limit": 2 * H, "queues": []}, "ak1:lim=7200,src=e,rules=routing"),
        ({"limit_kind": "unknown"}, None),
        ({"limit": 2 * H, "admin_comment": "JS1:abc"}, "ak1:lim=7200,src=e JS1:abc"),
        ({"limit": 2 * H, "admin_comment": ""}, "ak1:lim=7200,src=e"),
        ({"limit": 2 * H, "time_min": 300}, "ak1:lim=7200,src=e,min=300"),
        ({"limit": 20 * H, "time_min": 20 * H}, "ak1:lim=72000,src=e,min=72000,rules=max"),
        ({"limit_kind": "unset", "time_min": 300}, "ak1:lim=none,src=d,min=300"),
        ({"limit": 2 * H, "time_min": float("inf")}, "ak1:lim=7200,src=e,rules=max"),
    ],
)
def test_what_is_written(lua: Lua, fields: dict[str, Any], expected: str | None) -> None:
    decision = lua.decide(request(**{"queues": ["gq"], **fields}), policy(MAX))
    assert decision.get("record") == expected
    if expected:
        assert GRAMMAR.match(expected.split(" ")[0])


#: a limit now, a record typed into the comment, whether it is taken for ours, why
FORGED: list[tuple[int, str, bool, str]] = [
    (2 * H, "ak1:lim=7200,src=e", True, "it says what the job says"),
    (2 * H, "ak1:lim=60,src=e", False, "less was never asked"),
    (2 * H, "ak1:lim=60,src=e,rules=max", False, "no maximum raises a limit"),
    (2 * H, "ak1:lim=60,src=e,rules=floor", True, "a minimum does"),
    (2 * H, "ak1:lim=none,src=d", False, "no rule gave a limit"),
    (2 * H, "ak1:lim=none,src=d,rules=given", True, "a rule gave one"),
    (2 * H, "ak1:lim=none,src=d,rules=unheard", False, "no such rule"),
    (2 * H, "ak1:lim=90000,src=e,rules=max", True, "a maximum lowered it"),
    (2 * H, "ak1:lim=inf,src=e,rules=max", True, "a maximum lowered it"),
]


@pytest.mark.parametrize(("limit", "comment", "ours", "why"), FORGED, ids=[case[3] + " " + case[1] for case in FORGED])
def test_a_typed_record_counts_only_where_the_policy_could_have_made_it(
    lua: Lua, limit: int, comment: str, ours: bool, why: str
) -> None:
    rules = [MAX, rule("min_limit", 60, "amend", name="floor"), rule("default_limit", H, "amend", name="given")]
    decision = lua.decide(request(queues=["gq"], limit=limit, comment=comment), policy(*rules, record="comment"))
    assert decision.get("record") == (None if ours else f"ak1:lim={limit},src=e {comment}"), why


#: rules, fields of the request, the record typed into the comment, the record that takes its place, why
TYPED: list[tuple[list[dict[str, Any]], dict[str, Any], str, str, str]] = [
    (
        [rule("min_limit", H, "amend")],
        {"limit": 60},
        "ak1:lim=60,src=e",
        "ak1:lim=60,src=e,rules=min_limit",
        "a rule changes the limit now, so no earlier decision did",
    ),
    (
        [rule("min_limit", H, "amend")],
        {"limit": 2 * H, "time_min": 60},
        "ak1:lim=7200,src=e",
        "ak1:lim=7200,src=e,min=60,rules=min_limit",
        "a rule changes --time-min now",
    ),
    ([], {"limit": 2 * H, "queues": []}, "ak1:lim=7200,src=e", "ak1:lim=7200,src=e,rules=routing", "routed now"),
    (
        [rule("max_limit", H, "warn")],
        {"limit": 2 * H},
        "ak1:lim=7200,src=e",
        "ak1:lim=7200,src=e,rules=max_limit",
        "a rule warns that the record does not name",
    ),
    ([], {"limit": 2 * H}, "ak1:lim=7200,src=e,cls=multi-node", "ak1:lim=7200,src=e", "a class that was not paid"),
    ([], {"limit": 2 * H}, "ak1:lim=7200,src=e,own=node", "ak1:lim=7200,src=e", "whole nodes that it does not take"),
]


@pytest.mark.parametrize(("rules", "fields", "comment", "expected", "why"), TYPED, ids=[case[4] for case in TYPED])
def test_a_typed_record_that_this_decision_contradicts_is_replaced(
    lua: Lua, rules: list[dict[str, Any]], fields: dict[str, Any], comment: str, expected: str, why: str
) -> None:
    table, asked = policy(*rules, record="comment"), request(**{"queues": ["gq"], **fields}, comment=comment)
    first = lua.decide(asked, table)
    assert first.get("record") == f"{expected} {comment}", why
    second = lua.decide({**applied(asked, first), "comment": first["record"]}, table)
    assert (second["verdict"], second.get("record")) == ("accept", None), why


@pytest.mark.parametrize("limit", [60, 2 * H, 20 * H, None])
@pytest.mark.parametrize("before", ["", "mine", "ak1:lim=5,src=e"])
def test_a_second_decision_keeps_the_first_record(lua: Lua, limit: int | None, before: str) -> None:
    table = policy(MAX, rule("min_limit", H, "amend"), rule("default_limit", 2 * H, "amend"))
    asked = request(queues=["gq"], limit=limit, admin_comment=before)
    after = applied(asked, lua.decide(asked, table))
    assert "record" not in lua.decide(after, table)


def test_names_of_rules_cannot_break_the_grammar(lua: Lua) -> None:
    bad = rule("max_limit", 10 * H, "amend", name="a b,c=d+é")
    decision = lua.decide(request(queues=["gq"], limit=20 * H), policy(bad))
    assert GRAMMAR.match(decision["record"])


@pytest.mark.parametrize(
    ("length", "kept"),
    [(1024 - len("ak1:lim=3600,src=e") - 1, True), (1024 - len("ak1:lim=3600,src=e"), False), (1024, False)],
)
def test_a_text_that_leaves_no_room_stays_as_it_is(lua: Lua, length: int, kept: bool) -> None:
    """Slurm refuses a job whose comment is longer than 1024 bytes, and looks after the script has run."""
    found = lua.decide(request(limit=H, queues=["gq"], comment="x" * length), policy(record="comment"))
    assert ("record" in found) == kept
    assert len(found.get("record", "")) <= 1024


def test_many_long_names_are_left_out_of_a_record(lua: Lua) -> None:
    rules = [rule("max_limit", 60, "warn", name=f"{'a' * 37}{n}") for n in range(100, 140)]
    assert lua.decide(request(limit=H, queues=["gq"]), policy(*rules))["record"] == "ak1:lim=3600,src=e"
