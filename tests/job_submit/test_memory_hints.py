"""The line about memory: what similar jobs used on a node, and a size that was enough for most of them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.job_submit.policies import ALICE, BOB, HOUR, QUEUES, TEXTS, hints, policy, queue, request, rule
from tests.job_submit.runtime import Lua

GIB = 1024
#: At most 12 GiB were used; 16 GiB were enough for 99 of 100.
ROW = [12 * GIB, 16 * GIB, 2.5, 100, 99]
TEXT = "{runs} jobs used {used} of {asked} ({option}, {queue}): --mem={safe} for {enough}, risk {risk} %"
SAID = "100 jobs used 12G of {asked} ({option}, gq): --mem=16G for 99, risk 2.5 %"
ENGLISH = {**TEXTS["en"], "memory_hint": TEXT}


def table(rows: dict[str, dict[str, list[float]]], **more: Any) -> dict[str, Any]:
    """Alice's hints: none about time."""
    return hints({}, memory={"ratio": 2, "floor": 8 * GIB, "users": {ALICE: rows}}, **more)


def told(lua: Lua, fields: dict[str, Any], given: dict[str, Any], **more: Any) -> list[str]:
    asked = {"queues": ["gq"], "limit": HOUR, "limit_kind": "finite", "mem_per_node": 200 * GIB, **fields}
    messages = lua.decide(request(**asked), policy(texts={"en": ENGLISH}, **more), None, given)["messages"]
    return list(messages)


OURS = {"train": {"gq": ROW}}


@pytest.mark.parametrize(
    ("rows", "fields", "asked", "why"),
    [
        (OURS, {}, "200G", "the job's name and its queue"),
        ({"train": {"": ROW}}, {}, "200G", "the job's name in any queue"),
        ({"": {"gq": ROW}}, {}, "200G", "any job in the queue"),
        ({"train": {"gq": ROW}, "": {"": [1, 2, 3, 4, 5]}}, {}, "200G", "the closest row counts"),
        ({"other": {"gq": ROW}}, {}, None, "another name"),
        (OURS, {"uid": BOB}, None, "another user"),
        (OURS, {"mem_per_node": 32 * GIB}, "32G", "twice as much, and 8 GiB more"),
        (OURS, {"mem_per_node": 32 * GIB - 1}, None, "less than twice as much"),
        ({"train": {"gq": [GIB, 2 * GIB, 1, 9, 9]}}, {"mem_per_node": 9 * GIB}, None, "less than 8 GiB more"),
        (OURS, {"mem_per_node": 40_000}, "40000M", "no whole GiB"),
        (OURS, {"mem_per_node": None}, None, "it names no memory"),
        (OURS, {"mem_per_node": math.inf}, None, "--mem=0: all of a node"),
        (OURS, {"whole": True}, None, "nobody else could use the memory of whole nodes"),
        (OURS, {"het_offset": 1}, None, "one hint for a whole job"),
        (OURS, {"by": 0}, None, "root gets no hints"),
    ],
)
def test_a_hint_about_memory(
    lua: Lua, rows: dict[str, Any], fields: dict[str, Any], asked: str | None, why: str
) -> None:
    expected = [SAID.format(asked=asked, option="--mem")] if asked else []
    assert told(lua, fields, table(rows)) == expected, why


@pytest.mark.parametrize(
    ("fields", "option", "why"),
    [
        ({"min_mem_per_cpu": 5 * GIB, "mem": 200 * GIB, "nodes": 1, "most_nodes": 1}, "--mem-per-cpu", "one node"),
        ({"mem": 200 * GIB, "nodes": 1, "most_nodes": 1}, "--mem-per-gpu", "its GPUs'"),
        ({"mem": 200 * GIB, "nodes": 1, "most_nodes": 2}, None, "it may be put on two nodes"),
        ({"mem": 200 * GIB, "nodes": 2, "most_nodes": 2}, None, "what is on each node is not known"),
        ({"mem": 200 * GIB, "nodes": 1}, None, "neither is on how many it may be"),
        ({"nodes": 1, "most_nodes": 1}, None, "it names no memory"),
    ],
)
def test_memory_by_the_cpu_or_gpu_counts_where_it_is_on_one_node(
    lua: Lua, fields: dict[str, Any], option: str | None, why: str
) -> None:
    expected = [SAID.format(asked="200G", option=option)] if option else []
    assert told(lua, {"mem_per_node": None, **fields}, table(OURS)) == expected, why


def test_a_queue_of_whole_nodes_gives_no_hint(lua: Lua) -> None:
    whole = {**QUEUES, "gq": queue(default_limit=HOUR, max_limit=72 * HOUR, is_default=True, whole=True)}
    assert told(lua, {}, table(OURS), queues=whole) == []


def test_an_account_without_hints_has_none_about_memory(lua: Lua) -> None:
    assert told(lua, {"account": "Vision"}, table(OURS, accounts_off={"vision"})) == []


def test_a_job_may_get_both_hints(lua: Lua) -> None:
    given = {**table(OURS), "users": {ALICE: {"train": {"gq": [600, 1500, 2.5, 12]}}}}
    first, second = told(lua, {"limit": 20 * HOUR}, given)
    assert first.startswith("12 similar jobs") and second.startswith("100 jobs used")


def test_a_job_that_is_refused_gets_no_hint_about_memory(lua: Lua) -> None:
    asked = request(queues=["gq"], limit=20 * HOUR, mem_per_node=200 * GIB)
    decision = lua.decide(asked, policy(rule("max_limit", 10 * HOUR)), None, table(OURS))
    assert decision["verdict"] == "reject" and not any("--mem" in line for line in decision["messages"])


def test_without_a_text_there_is_a_line_of_its_own(lua: Lua) -> None:
    asked = request(queues=["gq"], limit=HOUR, mem_per_node=200 * GIB)
    (line,) = lua.decide(asked, policy(texts={}, languages=[]), None, table(OURS))["messages"]
    assert "--mem=16G would have been enough for 99 of them" in line


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        ({"ratio": 2, "floor": 1, "users": {1: {"a": {"gq": [1, 2, 3, 4]}}}}, "a row that is too short"),
        ({"ratio": 2, "floor": 1, "users": {1: {"a": {"gq": [1, 2, 3, 4, "5"]}}}}, "a text in a row"),
        ({"floor": 1, "users": {}}, "no ratio"),
        ({"ratio": 2, "floor": 1}, "no users"),
        ([1], "a list"),
        ("x", "a text"),
    ],
)
def test_a_damaged_table_is_seen(lua: Lua, memory: Any, why: str) -> None:
    assert lua.ask("validate", "hints", hints({}, memory=memory)) is not None, why
    assert lua.ask("validate", "hints", table(OURS)) is None
