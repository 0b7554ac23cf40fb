"""What the words of running jobs say to `adminkit idle`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.slurm.squeue import QueuedJob
from adminkit.usage import sampler

NOW = 1_790_010_000
START = NOW - 7200
FIELDS = set(QueuedJob.__dataclass_fields__)


def listed(comment: str | None, nodes: tuple[str, ...] = ("n1", "n2")) -> QueuedJob:
    given = {"job_id": 7, "start_time": START, "nodes": nodes, "admin_comment": comment, "state": "RUNNING"}
    return QueuedJob(**{name: given.get(name) for name in FIELDS})  # type: ignore[arg-type]


def word(node: int = 0, to: int = NOW - 60, last: str = "") -> str:
    return f"gu1:at={START + 30},to={to},node={node},gpus=2,s=14000,busy=0,used=0{last}"


@pytest.mark.parametrize(
    ("comment", "expected", "why"),
    [
        (word(), [("n1", None)], "never in use"),
        (word(last=f",last={NOW - 90}"), [("n1", NOW - 90)], "in use a moment ago"),
        (f"{word()} {word(1)}", [("n1", None), ("n2", None)], "two nodes"),
        (word(2), [], "a node that the job does not have"),
        (word(to=NOW - 1801), [], "too old: the sampler is gone"),
        (word(to=NOW + 1), [], "from the future: a clock is off"),
        (None, [], "nothing was measured"),
    ],
)
def test_a_word_is_the_use_of_a_node(comment: str | None, expected: list[tuple[str, int | None]], why: str) -> None:
    found = sampler.ask([GpuJob(listed(comment), 4, "whole")], NOW, 1800).uses
    assert [(one.node, one.last_used) for one in found.get(7, ())] == expected, why


@pytest.mark.parametrize("kind", ["slice", "shard", "mps", "mixed"])
def test_of_parts_of_gpus_nothing_is_known(kind: str) -> None:
    job = GpuJob(listed(word()), 2, "whole")
    assert sampler.ask([job], NOW, 1800).uses
    assert not sampler.ask([replace(job, kind=kind)], NOW, 1800).uses
