"""What holds for every request under every policy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.lua.runtime import LuaVersion
from tests.job_submit import site
from tests.job_submit.policies import (
    ALICE,
    BOB,
    HOUR,
    NOW,
    OPERATOR,
    QUEUES,
    applied,
    hints,
    incentives,
    policy,
    queue,
    request,
)
from tests.job_submit.policies import rule as make_rule
from tests.job_submit.runtime import Lua

#: Their value is true, as that of require_limit is.
DEMANDS = ("batch_only", "require_account", "exclusive")
#: Their value is a number, and they never change a job.
RATIOS = ("cpus_per_gpu", "mem_per_gpu")
QUEUE_NAMES = [*QUEUES, "unheard-of"]
#: Whole minutes: Slurm has no others, and policy.toml is refused with others.
limits = st.sampled_from([60, 120, 900, HOUR, 3 * HOUR, 24 * HOUR, 72 * HOUR, 100 * HOUR, 400 * HOUR]) | st.integers(
    1, 500 * 60
).map(lambda minutes: minutes * 60)
counts = st.sampled_from([0, 1, 2, 8, 9, 50, 51, 401]) | st.none()


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    choices: dict[str, st.SearchStrategy[Any]] = {
        "queues": st.sets(st.sampled_from(QUEUE_NAMES), min_size=1),
        "classes": st.sets(st.sampled_from(["cpu", "single-gpu", "multi-gpu", "multi-node"]), min_size=1),
        "users": st.sets(st.sampled_from([ALICE, BOB]), min_size=1),
        "except_users": st.sets(st.sampled_from([ALICE, BOB]), min_size=1),
        "accounts": st.sets(st.sampled_from(["physics", "chemistry"]), min_size=1),
        "except_accounts": st.sets(st.sampled_from(["physics", "chemistry"]), min_size=1),
        "qos": st.sets(st.sampled_from(["normal", "high"]), min_size=1),
    }
    picked = draw(st.sets(st.sampled_from(sorted(choices)), max_size=2))
    return {key: draw(choices[key]) for key in picked}


@st.composite
def rules(draw: st.DrawFn, number: int = 0) -> dict[str, Any]:
    check = draw(
        st.sampled_from(
            [
                *("require_limit", "default_limit", "min_limit", "max_limit", "restartable_above"),
                "gpus",
                "nodes",
                "cpus",
                *DEMANDS,
                *RATIOS,
            ]
        )
    )
    actions = {"require_limit": ["reject", "warn"], "default_limit": ["amend"]}
    ranged = check in ("gpus", "nodes", "cpus")
    action = draw(
        st.sampled_from(
            actions.get(
                check, ["reject", "warn"] if ranged or check in (*DEMANDS, *RATIOS) else ["reject", "amend", "warn"]
            )
        )
    )
    value: Any = True if check in ("require_limit", *DEMANDS) else draw(limits)
    if check in RATIOS:
        value = draw(st.integers(1, 64))
    if ranged:
        low = draw(st.integers(0, 4))
        value = {"min": low, "max": low + draw(st.integers(0, 8))}
    extra = draw(st.sampled_from([{}, {"from_": NOW}, {"from_": NOW + 60}]))
    return make_rule(check, value, action, name=f"{check}-{draw(st.integers(0, 9))}", **extra, **draw(conditions()))


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    queues = dict(QUEUES)
    queues["gq-short"] = queue(
        default_limit=HOUR,
        max_limit=draw(st.sampled_from([None, 3 * HOUR])),
        min_nodes=draw(st.integers(0, 3)),
        max_nodes=draw(st.sampled_from([None, 1, 50])),
        up=draw(st.booleans()),
        **draw(st.sampled_from([{}, {"allow_accounts": {"physics"}}, {"deny_qos": {"high"}}, {"allow_groups": {"g"}}])),
    )
    return policy(
        *draw(st.lists(rules(), max_size=5)),
        queues=queues,
        routing={"action": draw(st.sampled_from(["amend", "warn", "off"])), "order": [*QUEUES]},
        record=draw(st.sampled_from(["admin_comment", "comment", "none"])),
        languages=draw(st.sampled_from([["en"], ["ja", "en"], []])),
    )


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["finite", "finite", "unset", "unlimited"]))
    gpus, per_node = draw(counts), draw(counts)
    if per_node is not None:  # as request.lua makes it: no node has more than the job
        gpus = max(gpus or 0, per_node)
    return request(
        uid=draw(st.sampled_from([ALICE, BOB, OPERATOR])),
        limit_kind=kind,
        limit=draw(limits) if kind == "finite" else None,
        time_min=draw(st.none() | limits),
        queues=draw(st.lists(st.sampled_from(QUEUE_NAMES), max_size=3, unique=True)),
        nodes=draw(counts),
        gpus=gpus,
        cpus=draw(counts),
        gpus_per_node=per_node,
        max_nodes=draw(st.none() | st.integers(1, 60)),
        gpu_type=draw(st.sampled_from([None, "p100", "h100"])),
        mem=draw(st.none() | st.integers(0, 10**9)),
        features=draw(st.none() | st.text(alphabet="ab&|,[]*(2) ", max_size=8)),
        reservation=draw(st.sampled_from([None, None, "r"])),
        account=draw(st.sampled_from([None, "physics", "chemistry"])),
        qos=draw(st.sampled_from([None, "normal", "high"])),
        restartable=draw(st.sampled_from([None, True, False])),
        usable=draw(st.sampled_from([None, {"gq": True, "gq-short": True}])),
        het_offset=draw(st.sampled_from([None, 0, 1])),
        comment=draw(st.sampled_from([None, "x", "ak1:lim=60,src=e", "ak1:lim=none,src=d,rules=default_limit-1"])),
        job_name=draw(st.text(max_size=5)),
    )


HINTS = hints({"": {"": [60, 300, 1, 9]}})


@settings(max_examples=75, deadline=None)
@given(policies(), requests())
def test_a_second_decision_changes_nothing_more(lua: Lua, table: dict[str, Any], asked: dict[str, Any]) -> None:
    first = lua.decide(asked, table, incentives(), HINTS)
    assert first["verdict"] in ("accept", "amend", "reject")
    if first["verdict"] == "reject":
        assert first["messages"]
        assert lua.decide(asked, table, incentives(), HINTS) == first
        return
    changes = {"queue", "limit", "time_min"}
    assert (first["verdict"] == "amend") == bool(changes & set(first))
    after = applied(asked, first)
    if "record" in first:
        after[table["record"]] = first["record"]
    second = lua.decide(after, table, incentives(), HINTS)
    assert second["verdict"] == "accept", second
    assert "record" not in second
    assert second.get("points") == first.get("points")


@settings(max_examples=50, deadline=None)
@given(policies(), requests())
def test_a_job_is_routed_only_where_it_fits(lua: Lua, table: dict[str, Any], asked: dict[str, Any]) -> None:
    asked = {**asked, "queues": []}
    decision = lua.decide(asked, table)
    if {"rule": "routing", "action": "amend"} not in decision["fired"] or decision["verdict"] == "reject":
        return
    facts = table["queues"][decision["queue"]]
    limit = decision.get("limit", asked["limit"])
    assert facts["max_limit"] is None or limit <= facts["max_limit"]
    assert "limit" not in decision
    assert (asked["nodes"] or 1) <= (facts["max_nodes"] or 50)
    assert (asked["gpus"] or 0) <= 50 * facts["node_gpus"]
    assert (asked["gpus_per_node"] or 0) <= facts["node_gpus"]
    assert facts["up"]
    assert asked["reservation"] is None
    assert asked["gpu_type"] in (None, "p100")
    assert not asked["usable"] or asked["usable"].get(decision["queue"])
    assert lua.decide({**asked, "queues": [decision["queue"]]}, table)["verdict"] == "accept"


@settings(max_examples=60, deadline=None)
@given(policies(), requests(), requests(), st.sampled_from(["PENDING", "RUNNING", None]), st.booleans())
def test_an_update_is_judged_whatever_it_is(
    lua: Lua, table: dict[str, Any], before: dict[str, Any], after: dict[str, Any], state: str | None, array: bool
) -> None:
    job = {**before, "state": state, "array": array, "points": 5}
    decision = lua.modify({**after, "uid": job["uid"], "by": ALICE}, job, table, incentives())
    assert "record" not in decision
    assert "queue" not in decision
    assert not (array and "points" in decision)
    assert (decision["verdict"] == "reject") <= bool(decision["messages"])


@pytest.mark.parametrize("release", ["lua54"])
@settings(max_examples=60, deadline=None)
@given(policies(), requests())
def test_both_releases_of_lua_decide_alike(release: LuaVersion, table: dict[str, Any], asked: dict[str, Any]) -> None:
    old, new = _pair(release)
    assert old.decide(asked, table, incentives(), HINTS) == new.decide(asked, table, incentives(), HINTS)


_STATES: dict[str, Lua] = {}


def _pair(release: LuaVersion) -> tuple[Lua, Lua]:
    names: tuple[LuaVersion, ...] = ("lua51", release)
    for name in names:
        if name not in _STATES:
            _STATES[name] = Lua(name)
    return _STATES["lua51"], _STATES[release]


@settings(max_examples=40, deadline=None)
@given(policies(), st.lists(requests(), min_size=2, max_size=4))
def test_nothing_of_a_decision_is_left_in_the_next(
    lua: Lua, table: dict[str, Any], asked: list[dict[str, Any]]
) -> None:
    """a, b, c, c, b, a under one policy is as each under a copy of it."""
    ruleset = lua.ruleset(table, incentives(), HINTS)
    alone = [lua.decide(one, table, incentives(), HINTS) for one in asked]
    for number in [*range(len(asked)), *reversed(range(len(asked)))]:
        again = lua.ask("decide", "decide", asked[number], ruleset)
        assert {**again, **{key: again.get(key) or [] for key in ("fired", "untold", "messages", "log")}} == alone[
            number
        ]


@settings(max_examples=40, deadline=None)
@given(policies(), st.lists(requests(), min_size=2, max_size=4))
def test_a_decision_stays_what_it_was_when_others_are_made(
    lua: Lua, table: dict[str, Any], asked: list[dict[str, Any]]
) -> None:
    ruleset = lua.ruleset(table, incentives(), HINTS)
    made = [lua.call(lua.module("decide").decide, one, ruleset) for one in asked]
    alone = [lua.ask("decide", "decide", one, lua.ruleset(table, incentives(), HINTS)) for one in asked]
    assert [lua.out(one) for one in made] == alone


SUBMISSIONS: dict[str, st.SearchStrategy[Any]] = {
    "partition": st.sampled_from([None, "gq", "gq-short", "gq,gq-long", "unheard-of"]),
    "time_limit": st.sampled_from([None, 60, 1200, 100_000]),
    "time_min": st.sampled_from([None, 30, 5000]),
    "min_nodes": st.sampled_from([None, 1, 3]),
    "max_nodes": st.sampled_from([None, 1, 6]),
    "num_tasks": st.sampled_from([None, 1, 16]),
    "tres_per_node": st.sampled_from([None, "gres:gpu:1", "gres:gpu:p100:8"]),
    "tres_per_job": st.sampled_from([None, "gres:gpu:12"]),
    "min_mem_per_node": st.sampled_from([None, 1000, 10**6]),
    "account": st.sampled_from([None, "physics", "chemistry"]),
    "qos": st.sampled_from([None, "high"]),
    "features": st.sampled_from([None, "ib"]),
    "reservation": st.sampled_from([None, "r"]),
    "req_nodes": st.sampled_from([None, "n1", "n[1-3]"]),
    "cpus_per_tres": st.sampled_from([None, "gres:gpu:4"]),
    "script": st.sampled_from([None, "#!/bin/sh\n"]),
    "environment": st.sampled_from([None, {"ADMINKIT_CKPT": "1"}]),
    "admin_comment": st.sampled_from([None, "x", "ak1:lim=60,src=e"]),
    "comment": st.sampled_from([None, "mine"]),
    "name": st.sampled_from([None, "train"]),
}


@settings(max_examples=50, deadline=None)
@given(policies(), st.lists(st.fixed_dictionaries(SUBMISSIONS), min_size=2, max_size=4))
def test_nothing_of_a_submission_is_left_in_the_next(
    lua: Lua, table: dict[str, Any], jobs: list[dict[str, Any]]
) -> None:
    """a, b, c, c, b, a through what Slurm calls: what comes of each is what comes of it in callbacks of its own."""
    mock = lua.run(f"return dofile({json.dumps(str(site.DRIVER.with_name('mock.lua')))})".encode())
    slurm_api = lua.module("slurm_api")

    def outcome(callbacks: Any, slurm: tuple[Any, Any], job: dict[str, Any]) -> Any:
        fields = lua.into({**job, "user_id": ALICE})
        said = slurm[1]
        said[b"messages"], said[b"info"] = lua.into([]), lua.into([])
        parts = lua.call(mock.part_list, site.PARTS)
        code = callbacks.submit(mock.job_desc(fields, said), parts, ALICE)
        return code, lua.out(fields), lua.out(said[b"errors"]), lua.out(said[b"messages"])

    def fresh() -> tuple[Any, tuple[Any, Any]]:
        slurm = mock.slurm()
        tables = lua.into({"policy": table, "incentives": incentives(), "hints": HINTS})
        return slurm_api.callbacks(slurm[0], tables, lua.run(f"return function() return {NOW} end".encode())), slurm

    first = []
    for job in jobs:
        first.append(outcome(*fresh(), job))
        assert first[-1][0] in (0, -1) or first[-1][0] > 1000
        assert not first[-1][2], "an error of ours would hide the decision"
    shared = fresh()
    for number in [*range(len(jobs)), *reversed(range(len(jobs)))]:
        assert outcome(*shared, jobs[number]) == first[number]
