"""Idle GPUs as metrics: what is unknown has no sample, and never 0."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from prometheus_client.core import Metric

from adminkit.installed import data_file
from adminkit.integrations.prometheus_idle import idle_metrics
from adminkit.quote import clean
from adminkit.usage.held import IDLE, Held, held
from adminkit.usage.steps import steps
from adminkit.usage.usage import Answer
from tests.usage.jobs import NOW, job, use

HOSTILE = 'a"b\\c\nd{} # x'
JOBS = [job(11), job(12), job(13, queue="short"), job(14, queue=HOSTILE, gpus=1), job(15, gpus=0, kind="shard")]
FOUND = held(
    JOBS,
    [Answer(source="dcgm", at=NOW, uses={
        11: [use(0), use(1)], 12: [use(2, quiet=0), use(3)], 13: [use(4, until=NOW - 900), use(5)],
        14: [use(6, quiet=0)],
    })],
    NOW, 300,
)  # fmt: skip


def samples(found: Sequence[Held], reached: dict[str, int] | None) -> dict[str, dict[tuple[str, ...], float]]:
    """By metric, the values by labels in the order of their names, without the cluster."""
    made: list[Metric] = list(idle_metrics("alpha", found, reached, IDLE))

    def labels(of: dict[str, str]) -> tuple[str, ...]:
        return tuple(value for name, value in sorted(of.items()) if name != "cluster")

    return {one.name: {labels(each.labels): each.value for each in one.samples} for one in made}


def test_every_metric() -> None:
    shown = clean(HOSTILE)
    assert samples(FOUND, steps(FOUND, [], IDLE)) == {
        "adminkit_gpu_jobs": {("measured",): 3, ("parts",): 1, ("stale",): 1},
        "adminkit_measured_gpus": {("gq",): 4, (shown,): 1},
        "adminkit_idle_gpus": {("gq",): 3, (shown,): 0},
        "adminkit_idle_gpu_seconds": {("gq",): 3 * 6 * 3600, (shown,): 0},
        "adminkit_idle_jobs": {("idle",): 2, ("warned",): 0, ("points",): 0, ("shrink",): 0, ("requeue",): 0,
                               ("cancel",): 0},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("found", "reached", "without", "why"),
    [
        ([], {"idle": 0}, {"gpu_jobs", "measured_gpus", "idle_gpus", "idle_gpu_seconds", "idle_jobs"}, "no job"),
        (FOUND[2:3], {"idle": 0}, {"measured_gpus", "idle_gpus", "idle_gpu_seconds", "idle_jobs"}, "none is measured"),
        (FOUND, None, {"idle_jobs"}, "the log of acts cannot be read here"),
    ],
)
def test_what_is_unknown_has_no_sample(
    found: Sequence[Held], reached: dict[str, int] | None, without: set[str], why: str
) -> None:
    empty = {name.removeprefix("adminkit_") for name, values in samples(found, reached).items() if not values}
    absent = {"idle_jobs"} - {name.removeprefix("adminkit_") for name in samples(found, reached)}
    assert empty | absent == without, why


def test_the_page_has_every_metric() -> None:
    page = data_file("docs", "metrics.md").read_text()
    assert [name for name in samples(FOUND, {"idle": 2}) if f"`{name}`" not in page] == []
