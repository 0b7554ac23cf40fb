"""Slices of MIG, shards and MPS: what a list says of them, what rules make of it, that their shape earns nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest

from adminkit.gres import UNTYPED, Shares, equivalents, parse_gres, parse_tres
from adminkit.policy.gpu_parts import shares_table
from tests.job_submit.policies import HOUR, incentives, policy, request, rule
from tests.job_submit.runtime import Lua
from tests.job_submit.site import DRIVER
from tests.support.gres_words import Case, cases

SHARES = Shares({UNTYPED: 4, "a40": 8}, {"v100": 200}, {"a100_3g.20gb": 0.5, "1g.24gb": 0.25, "shard:t4": 0.1})


def reading(lua: Lua, case: Case, shares: Shares) -> dict[str, Any] | None:
    """What Lua makes of the text: of Slurm's count where its form is tres, else of a list of a job."""
    table = lua.into(shares_table(shares))
    if case.form == "tres":
        found = lua.out(lua.call(lua.module("gres").requested, case.text, table))
        return None if found is None else dict(found)
    text = ",".join(word if word.startswith(("gres", "PER")) else f"gres:{word}" for word in case.text.split(","))
    reader = lua.call(lua.module("gres").reader, True, table)
    made = lua.out(lua.run(b"local reader, list = ... return reader[list]", reader, lua.into(text)))
    return dict(made)


def of(made: dict[str, Any], name: str, end: str) -> float:
    part = made.get(name, made) if made.get("parts") else {} if name == "pieces" else made
    return float(part.get(end, 0) or 0)


@pytest.mark.parametrize("case", cases("tres"), ids=str)
def test_slurm_s_own_count_says_what_the_table_says(lua: Lua, case: Case) -> None:
    made = reading(lua, case, SHARES)
    known = parse_tres(case.text)
    if known is None:
        assert made is None or of(made, "size", "most") == math.inf or "gres/" not in case.text
        return
    held = known.held()
    size = equivalents(held.whole, held.parts, SHARES)
    made = made or {}
    assert of(made, "counts", "most") == held.whole + held.slices
    assert of(made, "size", "most") == (math.inf if size is None else pytest.approx(size))
    assert of(made, "pieces", "most") >= held.slices + sum(held.shards.values())


@pytest.mark.parametrize("case", cases("gres"), ids=str)
def test_a_list_has_what_the_table_says_between_its_least_and_its_most(lua: Lua, case: Case) -> None:
    """Lua doubts more than the table: what Slurm reads in several ways, and what it may pass over."""
    made, known = reading(lua, case, SHARES) or {}, parse_gres(case.text)
    if known is None:
        assert not case.text or of(made, "size", "most") == math.inf
        return
    size = equivalents(known.whole, known.parts, SHARES)
    pieces = known.slices + sum(known.shards.values())
    assert of(made, "size", "least") <= (size or math.inf) + 1e-9
    assert of(made, "size", "most") >= (math.inf if size is None else size) - 1e-9
    assert of(made, "counts", "least") <= known.whole + known.slices <= of(made, "counts", "most")
    assert of(made, "pieces", "least") <= pieces + sum(known.mps.values())
    assert of(made, "pieces", "most") >= pieces


def asked(lua: Lua, desc: dict[str, Any], ruleset: Any) -> Any:
    """The request of a job_desc."""
    mock = lua.run(f"return dofile({str(DRIVER.with_name('mock.lua'))!r})".encode())
    job_desc = mock.job_desc(lua.into({"user_id": 1001, **desc}), mock.slurm()[1])
    return lua.call(lua.module("request").reader, ruleset, True).of_submission(job_desc, None, 1001.0, 5)


#: what a user asks for; GPUs, parts, GPUs as Slurm counts them, class; shares are SHARES
ASKED: list[tuple[dict[str, Any], float, int, int, str]] = [
    ({"tres_per_node": "gres:gpu:a100_3g.20gb:1"}, 0.5, 1, 1, "--gres=gpu:a100_3g.20gb:1, given by the config"),
    ({"tres_per_node": "gres:gpu:1g.10gb:2"}, 2 / 7, 2, 2, "--gres=gpu:1g.10gb:2"),
    ({"tres_per_node": "gres:gpu:1g.10gb:7"}, 1, 7, 7, "seven slices of a seventh are a GPU"),
    ({"tres_per_job": "gres:gpu:1g.10gb:1"}, 1 / 7, 1, 1, "--gpus=1g.10gb:1"),
    ({"tres_per_job": "gres/gpu:1g.10gb=1"}, 1 / 7, 1, 1, "the same of 24.11"),
    ({"tres_per_node": "gres:shard:4"}, 1, 4, 0, "--gres=shard:4"),
    ({"tres_per_node": "gres/shard:4", "min_nodes": 2}, 2, 8, 0, "on each of two nodes"),
    ({"tres_per_node": "gres:shard:a40:4"}, 0.5, 4, 0, "of a type"),
    ({"tres_per_node": "gres:shard"}, 0.25, 1, 0, "one"),
    ({"tres_per_node": "gres:mps:50"}, 0.5, 1, 0, "--gres=mps:50"),
    ({"tres_per_node": "gres:mps:150"}, 1.5, 2, 0, "of two GPUs"),
    ({"tres_per_node": "gres:gpu:a100:1,gres:gpu:1g.10gb:2"}, 1 + 2 / 7, 2, 3, "a GPU and two slices"),
    ({"tres_per_node": "gres:gpu:1,gres:shard:2"}, 1.5, 2, 1, "a GPU and two shards of another"),
    ({"tres_per_task": "gres:gpu:1g.10gb:1", "num_tasks": 3}, 3 / 7, 3, 3, "--tres-per-task"),
    ({"tres_per_task": "gres/shard:1", "num_tasks": 3}, 0.75, 3, 0, "--tres-per-task=gres/shard:1"),
    ({"tres_per_node": "gres:gpu:a100:2"}, 2, 0, 2, "whole GPUs"),
]


@pytest.mark.parametrize(("desc", "gpus", "parts", "counted", "why"), ASKED)
def test_a_part_counts_as_what_it_is_of_a_gpu(
    lua: Lua, desc: dict[str, Any], gpus: float, parts: int, counted: int, why: str
) -> None:
    made = asked(lua, desc, lua.ruleset(policy(gpu_shares=shares_table(SHARES))))
    counts = made.counts or made
    assert made.gpus == pytest.approx(gpus), why
    assert max(made.gpus_fixed, made.gpus_each * made.nodes) == pytest.approx(gpus), why
    assert made.gpu_slices == parts, why
    assert counts.gpus == counted, why


#: rules, what is asked for, the outcome; shares of nothing are known, nodes have 8 GPUs
JUDGED: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    (rule("gpus", {"max": 1}), {"tres_per_node": "gres:gpu:1g.10gb:7"}, "", "a GPU in seven slices"),
    (rule("gpus", {"max": 1}), {"tres_per_node": "gres:gpu:1g.10gb:8"}, "1.14 (gpu_slices=8)", "one slice more"),
    (rule("gpus", {"min": 1}), {"tres_per_node": "gres:gpu:1g.10gb:1"}, "0.14 (gpu_slices=1)", "less than a GPU"),
    (rule("gpus", {"max": 8}), {"tres_per_node": "gres:shard:1"}, "?", "a share that nobody knows is refused"),
    (rule("gpus", {"max": 8}), {"tres_per_node": "gres:mps:50"}, "", "MPS is per cent"),
    (rule("gpus", {"max": 0}), {"tres_per_node": "gres:mps:50"}, "0.5 (gpu_slices=1)", "and not none"),
    (rule("gpus_per_node", {"max": 1}), {"tres_per_node": "gres:gpu:2g.10gb:4"}, "1.14", "of a node"),
    (rule("gpu_slices", {"max": 0}), {"tres_per_node": "gres:gpu:1g.10gb:1"}, "1", "no slices here"),
    (rule("gpu_slices", {"max": 0}), {"tres_per_node": "gres:shard:4"}, "4", "no shards"),
    (rule("gpu_slices", {"max": 0}), {"tres_per_node": "gres:mps:10"}, "1", "no MPS"),
    (rule("gpu_slices", {"max": 0}), {"tres_per_node": "gres:gpu:8"}, "", "whole GPUs"),
    (rule("gpu_slices", {"max": 2}), {"tres_per_node": "gres:gpu:1g.10gb:2"}, "", "as many as are allowed"),
    (rule("gpu_slices", {"max": 2}), {"tres_per_node": "gres:shard:2", "min_nodes": 2}, "4", "on two nodes"),
    (rule("gpu_slices", {"min": 1}), {"tres_per_node": "gres:gpu:1"}, "0", "a queue of slices"),
    (rule("gpu_slices", {"max": 4}), {"tres_per_node": "gres:shard:-4"}, "?", "an odd spelling"),
    (
        rule("max_limit", HOUR, classes="cpu"),
        {"tres_per_node": "gres:shard:1"},
        "",
        "a job of shards is not of the CPUs",
    ),
    (
        rule("max_limit", HOUR, classes="single-gpu"),
        {"tres_per_node": "gres:gpu:1g.10gb:1"},
        "02:00:00",
        "a slice is of a single GPU",
    ),
    (
        rule("max_limit", HOUR, classes="multi-gpu"),
        {"tres_per_node": "gres:gpu:1g.10gb:7"},
        "",
        "so are all slices of one",
    ),
    (
        rule("cpus_per_gpu", 8),
        {"tres_per_node": "gres:gpu:1g.10gb:1", "num_tasks": 1, "cpus_per_task": 2},
        "14",
        "in proportion: a seventh of a GPU may take one of eight CPUs",
    ),
    (rule("mem_per_gpu", 700), {"tres_per_node": "gres:gpu:1g.10gb:1", "mem_per_tres": "gres:gpu:100"}, "", "memory"),
    (
        rule("mem_per_gpu", 699),
        {"tres_per_node": "gres:gpu:1g.10gb:2", "mem_per_tres": "gres:gpu:100"},
        "700M",
        "100 MiB of each slice are 700 of a GPU",
    ),
]
CHECKS = ("gpus", "gpus_per_node", "gpu_slices", "max_limit", "cpus_per_gpu", "mem_per_gpu")
TEXTS = {"en": dict.fromkeys(CHECKS, "asked {asked}")}


@pytest.mark.parametrize(("one", "desc", "said", "why"), JUDGED)
def test_rules_count_parts_of_gpus(lua: Lua, one: dict[str, Any], desc: dict[str, Any], said: str, why: str) -> None:
    table = policy(one, routing=None, texts=TEXTS)
    decision = decided(lua, {"partition": "gq", "time_limit": 120, **desc}, table)
    assert decision.get("verdict") == ("reject" if said else "accept"), why
    if said:
        assert decision["messages"][0].startswith(f"asked {said}"), why


def decided(
    lua: Lua, desc: dict[str, Any], table: dict[str, Any], points: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The decision on a job_desc, as slurmctld has it."""
    ruleset = lua.ruleset(table, points)
    return dict(lua.out(lua.module("decide").decide(asked(lua, desc, ruleset), ruleset)))


@pytest.mark.parametrize(
    ("desc", "points", "why"),
    [
        ({"tres_per_node": "gres:gpu:2", "min_nodes": 1, "max_nodes": 1}, 520, "two GPUs are parallel"),
        ({"tres_per_node": "gres:gpu:1g.10gb:8", "min_nodes": 1, "max_nodes": 1}, 420, "eight slices are not"),
        ({"tres_per_node": "gres:shard:64", "min_nodes": 1, "max_nodes": 1}, 420, "nor are shards"),
        ({"tres_per_node": "gres:mps:200", "min_nodes": 1, "max_nodes": 1}, 420, "nor is MPS"),
        (
            {"tres_per_node": "gres:gpu:1g.10gb:1", "min_nodes": 2, "max_nodes": 2},
            420,
            "nor a slice on each of two nodes",
        ),
    ],
)
def test_no_shape_of_parts_earns_points(lua: Lua, desc: dict[str, Any], points: int, why: str) -> None:
    decision = decided(lua, {"partition": "gq", "time_limit": 60, **desc}, policy(), incentives())
    assert decision["points"] == points, why


@pytest.mark.parametrize(
    ("desc", "licences", "why"),
    [
        ({"tres_per_node": "gres:gpu:a100:1"}, "watts:400", "a GPU"),
        ({"tres_per_node": "gres:gpu:1g.10gb:1"}, "watts:400", "a slice draws no more than its GPU"),
        ({"tres_per_node": "gres:shard:2"}, "watts:800", "two shards may be of two GPUs"),
        ({"tres_per_node": "gres:mps:50"}, "watts:400", "MPS is of a GPU"),
        ({"tres_per_node": "gres:gpu:a100:1,gres:gpu:1g.10gb:2"}, "watts:1200", "a GPU and two slices"),
    ],
)
def test_a_part_draws_what_its_gpu_may(lua: Lua, desc: dict[str, Any], licences: str, why: str) -> None:
    power = {"licence": "watts", "budget_w": 20_000, "gpu_w": {"a100": 400, "v100": 250}}
    decision = decided(lua, {"partition": "gq", "time_limit": 60, **desc}, policy(power=power))
    assert decision["licences"] == licences, why


def test_all_slices_of_a_node_are_no_more_gpus_than_it_has(lua: Lua) -> None:
    """--exclusive on a node of 14 slices of two GPUs."""
    facts = {**policy()["queues"]["gq"], "node_gpus": 14, "node_gpu_size": 2, "node_gpu_slices": 14}
    desc = {"partition": "gq", "time_limit": 60, "shared": 0, "tres_per_node": "gres:gpu:1g.10gb:1"}
    for check, most, verdict in (("gpus", 2, "accept"), ("gpus", 1, "reject"), ("gpu_slices", 14, "accept"),
                                 ("gpu_slices", 13, "reject")):  # fmt: skip
        table = policy(rule(check, {"max": most}), queues={"gq": facts}, routing=None)
        assert decided(lua, desc, table)["verdict"] == verdict, (check, most)


def test_what_the_trace_does_not_tell_is_untold(lua: Lua) -> None:
    decision = lua.decide(request(queues=["gq"], gpus=1, limit=HOUR), policy(rule("gpu_slices", {"max": 0})))
    assert (decision["verdict"], decision["untold"]) == ("accept", ["gpu_slices"])
