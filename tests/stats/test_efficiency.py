"""What a run used of what it had."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from adminkit.stats.efficiency import Step, efficiency, jobstats_gpu, memory

GIB = 1 << 30


def step(start: int | None = 0, end: int | None = 100, **cells: Any) -> Step:
    given = {"tasks": 4, "mem_used": None, "max_rss": None, "gpus_used": None, "elapsed": 100, **cells}
    return Step(start, end, **given)


def jobstats(nodes: object) -> str:
    return "JS1:" + base64.b64encode(gzip.compress(json.dumps({"nodes": nodes}).encode(), mtime=0)).decode()


@pytest.mark.parametrize(
    ("steps", "used", "why"),
    [
        ([], None, "no step"),
        ([step()], None, "a step that says nothing"),
        ([step(mem_used=3 * GIB, max_rss=GIB)], 3 * GIB, "the tasks' peaks added up, not the largest times the tasks"),
        ([step(max_rss=GIB)], None, "the largest of four tasks is not theirs together"),
        ([step(tasks=1, max_rss=GIB)], GIB, "of one task it is"),
        ([step(mem_used=GIB), step(100, 200, mem_used=2 * GIB)], 2 * GIB, "one after the other"),
        ([step(mem_used=GIB), step(50, 200, mem_used=2 * GIB)], 3 * GIB, "beside each other"),
        ([step(mem_used=GIB), step(None, None, mem_used=GIB)], 2 * GIB, "one of which nothing is known"),
        (
            [step(mem_used=GIB), step(100, 200, mem_used=GIB), step(None, None, mem_used=GIB)],
            2 * GIB,
            "beside two in turn",
        ),
        ([step(0, 0, mem_used=GIB)], GIB, "shorter than a second"),
        ([step(n, n + 2, mem_used=GIB) for n in range(100_000)], 2 * GIB, "as many as a loop of srun makes"),
        ([step(0, None, mem_used=GIB), step(500, 600, mem_used=GIB)], 2 * GIB, "one without an end"),
    ],
)
def test_memory_is_that_of_all_tasks_at_one_time(steps: list[Step], used: int | None, why: str) -> None:
    assert memory(steps) == used, why


@pytest.mark.parametrize(
    ("given", "shares", "why"),
    [
        ({}, (0.25, 0.5, None), "a run without GPUs"),
        ({"gpus": 4}, (0.25, 0.5, None), "GPUs that nobody measured"),
        ({"gpus": 4, "steps": [step(gpus_used=2.0, mem_used=GIB)]}, (0.25, 0.5, 0.5), "two of four, all the time"),
        ({"gpus": 4, "steps": [step(gpus_used=2.0, elapsed=50, mem_used=GIB)]}, (0.25, 0.5, 0.25), "half of the time"),
        ({"gpus": 2, "admin_comment": jobstats({"n1": {"gpu_utilization": {"0": 50, "1": 100}}})}, (0.25, 0.5, 0.75),
         "Jobstats has measured"),
        ({"elapsed": 0}, (None, 0.5, None), "it did not run"),
        ({"cpus": None, "mem": None, "cpu_time": None}, (None, None, None), "nothing is known"),
    ],
)  # fmt: skip
def test_shares_are_of_what_was_allocated(given: dict[str, Any], shares: tuple[float | None, ...], why: str) -> None:
    values = {"elapsed": 100, "cpus": 4, "mem": 2 * GIB, "gpus": 0, "cpu_time": 100.0, "steps": [step(mem_used=GIB)]}
    found = efficiency(**{**values, **given})
    assert (found.cpu, found.mem, found.gpu) == shares, why


@pytest.mark.parametrize(
    ("comment", "share", "why"),
    [
        (None, None, "no comment"),
        ("ak1:lim=60,src=e " + jobstats({"n1": {"gpu_utilization": {"0": 20}}}), 0.2, "behind another word"),
        ("JS1:None", None, "Jobstats found nothing"),
        ("JS1:Short", None, "a short job"),
        (jobstats({"n1": {}}), None, "no GPU"),
        (jobstats({"n1": {"gpu_utilization": {"0": "x"}}}), None, "no number"),
        (jobstats({"n1": {"gpu_utilization": {"0": 400}}}), None, "more than there is"),
        (jobstats({"n1": {"gpu_utilization": {"0": float("nan")}}}), None, "not a number"),
        (jobstats({"n1": {"gpu_utilization": {"0": 10**400}}}), None, "too large for a float"),
        (jobstats([1]), None, "another shape"),
        ("JS1:" + base64.b64encode(gzip.compress(b"[" * 100_000, mtime=0)).decode(), None, "deep"),
        ("JS1:" + base64.b64encode(gzip.compress(b" " * (64 << 20), mtime=0)).decode(), None, "a bomb"),
        ("JS1:!!", None, "no base64"),
    ],
)
def test_a_summary_of_jobstats_is_read_or_counts_for_nothing(
    comment: str | None, share: float | None, why: str
) -> None:
    assert jobstats_gpu(comment) == share, why
