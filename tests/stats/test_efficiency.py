"""What a run used of what it had."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from adminkit.stats.efficiency import efficiency
from adminkit.trace.jobstats import jobstats_gpu
from adminkit.trace.step_memory import Step

GIB = 1 << 30


def step(start: int | None = 0, end: int | None = 100, **cells: Any) -> Step:
    given = {"tasks": 4, "mem_used": None, "max_rss": None, "gpus_used": None, "elapsed": 100, **cells}
    return Step("0", 1, start_time=start, end_time=end, **given)


def jobstats(nodes: object) -> str:
    return "JS1:" + base64.b64encode(gzip.compress(json.dumps({"nodes": nodes}).encode(), mtime=0)).decode()


@pytest.mark.parametrize(
    ("given", "shares", "why"),
    [
        ({}, (0.25, 0.5, None), "a run without GPUs"),
        ({"gpus": 4}, (0.25, 0.5, None), "GPUs that nobody measured"),
        ({"gpus": 4, "steps": [step(gpus_used=2.0, mem_used=GIB)]}, (0.25, 0.5, 0.5), "two of four, all the time"),
        ({"gpus": 4, "steps": [step(gpus_used=2.0, elapsed=50, mem_used=GIB)]}, (0.25, 0.5, 0.25), "half of the time"),
        ({"gpus": 3 / 7, "gpu_kind": "slice", "steps": [step(gpus_used=0.9, mem_used=GIB)]}, (0.25, 0.5, None),
         "what Slurm measures is of whole GPUs"),
        ({"gpus": None, "gpu_kind": "slice", "steps": [step(gpus_used=0.9, mem_used=GIB)]}, (0.25, 0.5, None),
         "parts of unknown size"),
        ({"gpus": 0.5, "gpu_kind": "shard", "admin_comment": jobstats({"n1": {"gpu_utilization": {"0": 50}}})},
         (0.25, 0.5, 0.5), "Jobstats has measured"),
        ({"gpus": 2, "admin_comment": jobstats({"n1": {"gpu_utilization": {"0": 50, "1": 100}}})}, (0.25, 0.5, 0.75),
         "Jobstats has measured"),
        ({"elapsed": 0}, (None, 0.5, None), "it did not run"),
        ({"cpus": None, "mem": None, "cpu_time": None}, (None, None, None), "nothing is known"),
    ],
)  # fmt: skip
def test_shares_are_of_what_was_allocated(given: dict[str, Any], shares: tuple[float | None, ...], why: str) -> None:
    values = {"elapsed": 100, "cpus": 4, "mem": 2 * GIB, "gpus": 0, "cpu_time": 100.0, "steps": [step(mem_used=GIB)]}
    values["start"] = None
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
