"""Which nodes a job of the model slurm gets. What is left shows where others could start."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.support.slurm_case import Job, job, schedule, starts

ALONE = {"backfill": 0, "batch_sched_delay": 0, "release": 2205}
#: One node of 4 CPUs before one of 2, one before five, and so on.
SMALL_LAST = {"nodes": [{"cpus": 4}, {"cpus": 2}], **ALONE}
GPUS = {"cpus": 16, "gpus": 4, "mem": 1000}


@pytest.mark.parametrize(
    ("jobs", "site", "expected", "why"),
    [
        (
            [job(0, 99, cpus=2), job(1, 9, cpus=4)],
            SMALL_LAST,
            [1, 2],
            "one node: the one with the fewest CPUs that suffice",
        ),
        ([job(0, 99, cpus=1), job(1, 9, cpus=4), job(1, 9)], SMALL_LAST, [1, 2, 2], "also where some are left over"),
        (
            [job(0, 99, cpus=2), job(1, 9, cpus=4)],
            {"nodes": [{"cpus": 4, "weight": 1}, {"cpus": 2, "weight": 5}], **ALONE},
            [1, 100],
            "but a lower weight goes first",
        ),
        (
            [job(0, 99, cpus=2, nodes=2), job(1, 9, cpus=4)],
            {"nodes": [{"count": 2, "cpus": 1}, {"queues": 0}, {"count": 3, "cpus": 4}], **ALONE},
            [1, 2],
            "two nodes: the row of neighbours with the fewest CPUs that suffices",
        ),
        (
            [job(0, 99, cpus=6, nodes=6), job(1, 9, cpus=3)],
            {"nodes": [{"count": 2, "cpus": 3}, {"queues": 0}, {"count": 5, "cpus": 3}], **ALONE},
            [1, 2],
            "the largest row first, where none suffices",
        ),
        (
            [job(0, 99, cpus=8, nodes=2), job(1, 9, cpus=4)],
            {"nodes": [{"count": 2, "cpus": 8}], **ALONE},
            [1, 2],
            "CPUs are shared evenly where the number of nodes is given",
        ),
        (
            [job(0, 99, cpus=9, nodes=2, most_nodes=3), job(1, 9, cpus=7)],
            {"nodes": [{"count": 3, "cpus": 8}], **ALONE},
            [1, 2],
            "a range of nodes: 7 + 1 + 1 CPUs",
        ),
        (
            [job(0, 99, cpus=2, nodes=1, most_nodes=4), job(1, 9)],
            {"nodes": 2, **ALONE},
            [1, 100],
            "as many nodes of the range as there are",
        ),
        (
            [job(0, 99, cpus=5, nodes=1, most_nodes=4), job(1, 9)],
            {"nodes": 4, **ALONE},
            [-1, 2],
            "too few CPUs on the most nodes",
        ),
        ([job(0, 99, whole=1), job(1, 9)], {"nodes": [{"cpus": 8}], **ALONE}, [1, 100], "--exclusive"),
        (
            [job(0, 99), job(1, 9, whole=1), job(1, 9)],
            {"nodes": [{"cpus": 8}], **ALONE},
            [1, 100, 109],
            "waits for an empty node",
        ),
        (
            [job(0, 99), job(1, 9)],
            {"nodes": [{"cpus": 8}], "queues": [{"whole": 1}], **ALONE},
            [1, 100],
            "a queue of whole nodes",
        ),
        ([job(0, 99, gpus=3), job(1, 9, gpus=1), job(2, 9, gpus=1)], {"nodes": [GPUS], **ALONE}, [1, 2, 11], "per GPU"),
        (
            [job(0, 99, gpus=1, cpus=12), job(1, 9, gpus=1, cpus=8)],
            {"nodes": [GPUS], **ALONE},
            [1, 100],
            "CPUs per GPU",
        ),
        ([job(0, 99, mem=900), job(1, 9, mem=200)], {"nodes": [GPUS], **ALONE}, [1, 100], "memory"),
        (
            [job(0, 99, gpus=8, nodes=2), job(1, 9, gpus=1)],
            {"nodes": [{"count": 2, **GPUS}], **ALONE},
            [1, 100],
            "GPUs of two nodes",
        ),
        (
            [job(0, 9, gpus=1, gpu_type=1), job(0, 9, gpus=1, gpu_type=2), job(0, 9, gpus=1)],
            {"nodes": [{**GPUS, "gpu_type": 1}], **ALONE},
            [1, -1, 1],
            "GPUs by type",
        ),
        ([job(0, 9, features=2), job(0, 9, features=3)], {"nodes": [{"features": 2}], **ALONE}, [1, -1], "features"),
        (
            [job(0, 9, mem=1001), job(0, 9, gpus=5), job(0, 9, cpus=17)],
            {"nodes": [GPUS], **ALONE},
            [-1, -1, -1],
            "never fits",
        ),
    ],
)
def test_pick(jobs: list[Job], site: dict[str, Any], expected: list[int], why: str) -> None:
    assert starts(jobs, **site) == expected, why


@pytest.mark.parametrize(
    ("jobs", "site", "expected", "why"),
    [
        (
            [job(0, 9)],
            {"down": [{"start": -5, "end": 50}]},
            [60],
            "the only node is down until 50; the next full pass is at 60",
        ),
        (
            [job(0, 99), job(50, 9)],
            {"down": [{"start": 20, "end": 200}]},
            [1, 240],
            "a job goes on where its node goes down",
        ),
        (
            [job(0, 99), job(50, 9)],
            {"nodes": 2, "down": [{"start": 20, "end": 200}]},
            [1, 100],
            "an idle node goes down first",
        ),
        ([job(0, 9)], {"down": [{"start": 20, "end": 10}, {"start": 0, "end": 0}]}, [1], "lines without any time"),
        (
            [job(0, 9, nodes=2), job(1, 9)],
            {"nodes": 2, "down": [{"start": 0, "end": 50}], "batch_sched_delay": 0},
            [60, 69],
            "too few nodes are up for the first: the queue is blocked",
        ),
        (
            [job(0, 9, mem=5), job(1, 9)],
            {"nodes": [{"mem": 5}, {}], "down": [{"start": 0, "end": 50}], "batch_sched_delay": 0},
            [60, 2],
            "enough nodes, but none that would do: the queue is not",
        ),
    ],
)
def test_nodes_go_down(jobs: list[Job], site: dict[str, Any], expected: list[int], why: str) -> None:
    assert starts(jobs, **{**ALONE, "batch_sched_delay": 3, **site}) == expected, why


def workload(seed: int) -> tuple[list[Job], dict[str, Any]]:
    """Jobs and a site that chance made, with nearly every setting of the model."""
    rng = random.Random(seed)
    nodes = [
        {
            "count": rng.randint(1, 5),
            "cpus": rng.choice([1, 4, 16]),
            "gpus": rng.choice([0, 4]),
            "mem": rng.choice([0, 100]),
            "queues": rng.randint(1, 3),
            "weight": rng.randint(1, 2),
        }
        for _ in range(rng.randint(0, 2))
    ]
    nodes.append({"count": 3, "cpus": 16, "gpus": 4, "mem": 100, "queues": 3})
    jobs = [
        job(
            rng.randint(0, 3000),
            rng.randint(1, 900),
            limit=rng.choice([60, 300, 900]),
            nodes=rng.choice([1, 1, 2]),
            cpus=rng.randint(1, 8),
            gpus=rng.choice([0, 0, 1, 2]),
            mem=rng.choice([0, 50]),
            queues=rng.randint(1, 3),
            user=rng.randint(0, 3),
            array=rng.choice([-1, 1]),
            qos=rng.choice([-1, 0]),
            whole=rng.choice([0, 0, 0, 1]),
            plan=rng.choice([-1, -1, 30]),
        )
        for _ in range(rng.randint(20, 120))
    ]
    settings = {
        "release": rng.choice([2205, 2411, 2605]),
        "epilog": rng.choice([0, 0, 20]),
        "kill_wait": rng.choice([0, 30]),
        "bf_max_job_test": rng.choice([3, 500]),
        "bf_continue": rng.randint(0, 1),
        "test_micros": rng.choice([0, 0, 300_000]),
        "time_min_as_soft_limit": rng.randint(0, 1),
        "bf_window": rng.choice([600, 86400]),
        "bf_resolution": rng.choice([1, 60]),
        "priority_weight_age": rng.choice([0, 100_000]),
        "bf_one_resv_per_job": rng.randint(0, 1),
        "bf_interval": rng.choice([5, 30]),
    }
    site = {"queues": [{"tier": rng.randint(1, 2)}, {"max_limit": 600}], "qos": [{"group_jobs": 4}], "nodes": nodes}
    site["down"] = [{"nodes": 0, "count": 1, "start": 500, "end": 900}]
    return jobs, {**site, **settings}


@pytest.mark.parametrize("seed", range(40))
def test_whatever_comes_no_job_starts_before_its_submission_and_nothing_is_given_twice(seed: int) -> None:
    jobs, site = workload(seed)
    said = schedule(jobs, **site)
    ran = [
        (one, start, end)
        for one, start, end in zip(jobs, said.start.tolist(), said.end.tolist(), strict=True)
        if start >= 0
    ]
    assert ran
    assert all(start > one["submit"] for one, start, _ in ran)
    assert all(end - start <= one["run"] for one, start, end in ran)
    for resource, per_node in (("cpus", "cpus"), ("gpus", "gpus")):
        most = sum(node["count"] * node[per_node] for node in site["nodes"])
        changes = sorted(
            [(end, -one[resource]) for one, _, end in ran] + [(start, one[resource]) for one, start, _ in ran]
        )
        used = np.cumsum([change for _, change in changes])
        assert used.max(initial=0) <= most, resource
    order = [said.order[i] for i in np.argsort(said.start, kind="stable") if said.start[i] >= 0]
    assert sorted(order) == list(range(len(ran)))


@pytest.mark.parametrize("seed", range(5))
def test_the_same_jobs_start_at_the_same_seconds(seed: int) -> None:
    jobs, site = workload(seed)
    assert schedule(jobs, **site).start.tolist() == schedule(jobs, **site).start.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_the_clock_has_no_zero(seed: int) -> None:
    """A trace that begins 6,000,000,000 seconds later has the same waits."""
    jobs, site = workload(seed)
    first = min(one["submit"] for one in jobs)
    shift = 6_000_000_000 - first
    early = [{**one, "submit": one["submit"] - first} for one in jobs]
    late = [{**one, "submit": one["submit"] + shift} for one in jobs]
    site["down"] = []
    a, b = schedule(early, **site), schedule(late, **site)
    assert (a.start + 6_000_000_000 * (a.start >= 0)).tolist() == b.start.tolist()
