"""The memory that a run used, and what its fullest node can have held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.findings import memory as finding
from adminkit.job import Job
from adminkit.stats.efficiencies import NODE_MEM, efficiencies
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from adminkit.trace.step_memory import Step, memory, node_memory
from tests.support.builders import HOUR, MONDAY, job
from tests.support.uses import GIB, make_used, step_of

ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)


def step(start: int | None = 0, end: int | None = 100, **cells: Any) -> Step:
    given = {
        "step": "0", "nodes": 1, "tasks": 4, "mem_used": None, "max_rss": None, "gpus_used": None, "elapsed": 100,
        **cells,
    }  # fmt: skip
    return Step(start_time=start, end_time=end, **given)


BATCH = {"step": "batch", "tasks": 1, "max_rss": GIB // 64}
EXTERN = {"step": "extern", "tasks": 1}


@pytest.mark.parametrize(
    ("steps", "used", "why"),
    [
        ([], None, "no step"),
        ([step()], None, "a step that says nothing"),
        ([step(mem_used=3 * GIB, max_rss=GIB)], 3 * GIB, "the tasks' peaks added up, not the largest times the tasks"),
        ([step(max_rss=GIB)], None, "the largest of four tasks is not theirs together"),
        ([step(tasks=1, max_rss=GIB)], GIB, "of one task it is"),
        ([step(tasks=1, max_rss=0)], None, "0 is what Slurm keeps where nothing was sampled"),
        ([step(tasks=1, max_rss=GIB, mem_used=0)], GIB, "the same of the sum"),
        ([step(mem_used=GIB), step(100, 200, mem_used=2 * GIB)], 2 * GIB, "one after the other"),
        ([step(mem_used=GIB), step(50, 200, mem_used=2 * GIB)], 3 * GIB, "beside each other"),
        ([step(mem_used=GIB), step(None, None, mem_used=GIB)], 2 * GIB, "one of which no time is known"),
        (
            [step(mem_used=GIB), step(100, 200, mem_used=GIB), step(None, None, mem_used=GIB)],
            2 * GIB,
            "beside two in turn",
        ),
        ([step(0, 0, mem_used=GIB)], GIB, "shorter than a second"),
        ([step(n, n + 2, mem_used=GIB) for n in range(100_000)], 2 * GIB, "as many as a loop of srun makes"),
        ([step(0, None, mem_used=GIB), step(500, 600, mem_used=GIB)], 2 * GIB, "one without an end"),
        ([step(**BATCH), step(max_rss=2 * GIB, tasks=8)], None, "the batch step is not the eight tasks"),
        ([step(**BATCH), step(mem_used=GIB)], GIB + GIB // 64, "the batch step counts beside the tasks"),
        ([step(step="batch"), step(mem_used=GIB)], None, "the batch step may have done the work itself"),
        ([step(**EXTERN), step(mem_used=GIB)], GIB, "extern says nothing, and has nothing to say"),
        ([step(**EXTERN, max_rss=GIB), step(mem_used=GIB)], 2 * GIB, "extern has what came by ssh"),
        ([step(**EXTERN, max_rss=GIB)], None, "extern is not the job"),
    ],
)
def test_memory_is_that_of_all_tasks_at_one_time(steps: list[Step], used: int | None, why: str) -> None:
    assert memory(steps, 1) == used, why
    assert memory(steps, None) == used, why


@pytest.mark.parametrize(
    ("steps", "nodes", "used", "fullest", "why"),
    [
        ([step(max_rss=2 * GIB, tasks=8)], 1, None, 16 * GIB, "MaxRSS of eight tasks is a bound, and no more"),
        ([step(max_rss=2 * GIB, tasks=8, mem_used=5 * GIB)], 1, 5 * GIB, 5 * GIB, "the sum is the better bound"),
        ([step(max_rss=GIB, tasks=None)], 1, None, None, "of nobody knows how many tasks"),
        ([step(**BATCH), step(max_rss=GIB, tasks=8)], 1, None, 8 * GIB + GIB // 64, "bounds add up too"),
        ([step(**BATCH), step()], 1, None, None, "a bound needs every step"),
        ([step(nodes=4, tasks=8, mem_used=8 * GIB, max_rss=2 * GIB)], 4, 8 * GIB, 4 * GIB, "two of the largest a node"),
        ([step(nodes=4, tasks=9, mem_used=8 * GIB, max_rss=2 * GIB)], 4, 8 * GIB, 6 * GIB, "one node has three"),
        ([step(nodes=4, tasks=9, mem_used=8 * GIB)], 4, 8 * GIB, 8 * GIB, "all may be on one node"),
        ([step(nodes=4, tasks=4, mem_used=GIB, max_rss=2 * GIB)], 4, GIB, GIB, "never more than all together"),
        ([step(**BATCH)], 20, None, None, "ssh started the rest, where Slurm does not look"),
        ([step(**BATCH), step(**EXTERN, nodes=20, mem_used=GIB)], 20, None, None, "extern is on every node, and blind"),
        ([step(nodes=None, mem_used=GIB)], 2, None, None, "a step on nobody knows how many of the nodes"),
        ([step(tasks=1, max_rss=GIB, nodes=1), step(tasks=1, max_rss=GIB, nodes=1)], 2, 2 * GIB, 2 * GIB,
         "a step on each, or both on one"),
        ([step(**BATCH), step(tasks=1, max_rss=GIB)], 2, None, None, "batch is on the first node, as that step may be"),
        ([step(**BATCH), step(tasks=2, nodes=2, mem_used=GIB)], 2, GIB + GIB // 64, GIB + GIB // 64, "both are seen"),
    ],
)  # fmt: skip
def test_the_fullest_node_is_bounded(
    steps: list[Step], nodes: int, used: int | None, fullest: int | None, why: str
) -> None:
    assert (memory(steps, nodes), node_memory(steps, nodes)) == (used, fullest), why


def busy_jobs(count: int = 30) -> list[Job]:
    """Jobs of one user for which a tebibyte is held for days: the finding would be about them."""
    return [
        job(n, nodes=1, mem=1024 * GIB, elapsed=10 * HOUR, start_time=MONDAY, end_time=MONDAY + 10 * HOUR)
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("nodes", "cells", "mem", "node_mem", "found", "why"),
    [
        (1, {"tasks": 8, "mem_used": 40 * GIB}, 40 / 1024, 40 / 1024, True, "a site that can save memory"),
        (1, {"tasks": 8, "max_rss": 124 * GIB}, None, 8 * 124 / 1024, False, "97 % used: the batch step is not all"),
        (1, {"tasks": 8, "max_rss": 4 * GIB}, None, 32 / 1024, True, "even at most, little"),
        (4, {"tasks": 4, "nodes": 4, "mem_used": 250 * GIB, "max_rss": 240 * GIB}, 250 / 1024, 960 / 1024, False,
         "one node of four is full, and --mem is per node"),
        (4, {"tasks": 4, "nodes": 4, "mem_used": 40 * GIB, "max_rss": 11 * GIB}, 40 / 1024, 40 / 1024 * 1.1, True,
         "each node holds little"),
    ],
)  # fmt: skip
def test_nobody_is_told_to_ask_for_less_than_a_node_can_have_held(
    tmp_path: Path, nodes: int, cells: dict[str, Any], mem: float | None, node_mem: float, found: bool, why: str
) -> None:
    jobs = [Job(**{**vars_of(one), "nodes": nodes}) for one in busy_jobs()]
    steps = [step_of(one, "0", **{"nodes": 1, **cells}) for one in jobs]
    # One second apart, so that the batch step does not add up with the tasks.
    steps += [
        step_of(one, nodes=1, max_rss=GIB, start_time=MONDAY + 10 * HOUR, end_time=MONDAY + 10 * HOUR + 1)
        for one in jobs
    ]
    with reader(make_used(tmp_path / "t.db", jobs, steps)) as db:
        (group,) = efficiencies(db, ALL, ("user",))[0].groups
    assert group.uses["mem"].share == (None if mem is None else pytest.approx(mem)), why
    assert group.uses[NODE_MEM].share == pytest.approx(node_mem), why
    assert bool(finding.check(group, finding.Limits())) is found, why


def vars_of(one: Job) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}
