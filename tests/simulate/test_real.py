"""The workloads that ran on a real Slurm, their files, and the measures of the comparison."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.simulate_real import page, runs
from tests.simulate_real.compare import Comparison, compare_all, signs, tau
from tests.simulate_real.drive import words
from tests.simulate_real.request import request
from tests.simulate_real.runs import Row, Run
from tests.simulate_real.shape import conf_lines
from tests.simulate_real.workloads import SHORT, WORKLOADS, Workload, workload

#: As they were committed before the first comparison; who changes a workload has to run it again.
DIGESTS = {
    "one-tier": "5a7f3d91f0853b92",
    "two-tiers": "9d4fa8b2f2b59795",
    "bad-estimates": "623845dd3886e542",
    "good-estimates": "fa6b14b0fb622684",
    "deep-queue": "525c1259fe75ffd8",
    "soft-limits": "2d269f353ae2453e",
}


def never_waited(what: Workload) -> Run:
    """A run in which each job started when it came and slept as long as it wanted."""
    rows = tuple(
        Row(job.number, job.offset, job.offset, job.offset, job.offset + job.sleep, "COMPLETED", 1, "main", "c1")
        for job in what.jobs
    )
    head = {"workload": what.name, "digest": what.digest, "release": "26.05.3", "commit": "0", "date": "2026-11-22"}
    return Run(head, rows)


def test_a_seed_makes_the_workload_that_was_committed() -> None:
    assert {one.name: one.digest for one in WORKLOADS} == DIGESTS


@pytest.mark.parametrize("what", WORKLOADS, ids=lambda one: one.name)
def test_a_workload_is_what_the_order_asks_for(what: Workload) -> None:
    assert 300 <= len(what.jobs) <= 600
    assert len(what.shape.node_names) >= 16
    assert all(5 <= job.sleep <= 120 and 60 <= job.limit <= 3600 and job.limit % 60 == 0 for job in what.jobs)
    assert [job.offset for job in what.jobs] == sorted(job.offset for job in what.jobs)
    for job in what.jobs:
        classes = {one.prefix: one for name in job.queues for one in what.shape.nodes_of(name)}.values()
        fits = [one for one in classes if one.cpus >= job.cpus and one.mem >= job.mem and one.gpus >= job.gpus]
        assert sum(one.count for one in fits if job.gpu_type in ("", one.gpu_type)) >= job.nodes, job
        assert job.limit <= min(what.shape.queue(name).max_limit for name in job.queues)
        assert job.soft is None or job.soft <= job.limit


def test_two_workloads_of_a_pair_have_the_same_jobs_but_for_the_policy() -> None:
    for one, other in zip(WORKLOADS[::2], WORKLOADS[1::2], strict=True):
        assert one.pair == other.pair
        bare = [[replace(job, limit=0, soft=None) for job in what.jobs] for what in (one, other)]
        assert bare[0] == bare[1]
        assert (one.shape, one.jobs) != (other.shape, other.jobs)


def test_a_file_gives_back_the_run() -> None:
    run = never_waited(SHORT)
    assert runs.parse(runs.text(run)) == run


def test_sbatch_and_the_simulator_are_told_the_same() -> None:
    what = workload("soft-limits")
    job = next(job for job in what.jobs if job.soft and job.nodes > 1)
    asked = request(what, never_waited(what)).jobs
    said = " ".join(words(job))
    assert f"-t {job.limit // 60} " in said and f"--time-min={job.soft and job.soft // 60}" in said
    assert f"-N {job.nodes} --ntasks-per-node=1 -c {job.cpus} " in said
    told = {name: int(column[job.number]) for name, column in asked.items()}
    assert (told["limit"], told["plan"], told["nodes"]) == (job.limit, job.soft, job.nodes)
    assert (told["cpus"], told["run"], told["submit"]) == (job.nodes * job.cpus, job.sleep, job.offset)


def test_slurm_conf_and_the_simulator_have_the_same_queues() -> None:
    shape = workload("two-tiers").shape
    lines = conf_lines(shape, dict.fromkeys(shape.node_names, "NodeAddr=x"))
    asked = request(workload("two-tiers"), never_waited(workload("two-tiers")))
    (short,) = (line for line in lines if line.startswith("PartitionName=short "))
    assert "MaxTime=3 PriorityTier=2 PriorityJobFactor=4 MaxNodes=2" in short
    assert asked.queues[4] == {"tier": 2, "factor": 4, "max_limit": 180, "max_nodes": 2}
    assert sum(line.startswith("NodeName=") for line in lines) == sum(one["count"] for one in asked.nodes)
    assert asked.settings["priority_max_age"] == 3600


@pytest.mark.parametrize(
    ("first", "second", "expected", "why"),
    [
        ([0, 10, 20, 30], [0, 10, 20, 30], 1.0, "the same order"),
        ([0, 10, 20, 30], [30, 20, 10, 0], -1.0, "the other way round"),
        ([0, 2, 20, 30], [2, 0, 20, 30], 1.0, "starts within 3 s are tied in both"),
        ([0, 10, 20], [10, 0, 20], 1 / 3, "one pair of three"),
        ([0, 10, 20], [0, 1, 20], (2 / 6**0.5), "a tie in one alone: tau-b"),
    ],
)
def test_the_order_of_starts_is_kendalls_tau_b(
    first: list[float], second: list[float], expected: float, why: str
) -> None:
    assert tau(np.array(first, float), np.array(second, float), 3.0) == pytest.approx(expected), why


@pytest.fixture(scope="module")
def compared() -> list[Comparison]:
    return compare_all(runs.load())


def test_what_ran_is_what_was_ordered() -> None:
    """All six on 26.05, two each on 22.05 and 24.11, each at least three times, none longer than twelve minutes."""
    kept = runs.load()
    made = Counter((run.release, run.workload) for run in kept)
    assert {release for release, _ in made} == {"2205", "2411", "2605"} and min(made.values()) >= 3
    assert [sum(of == release for of, _ in made) for release in ("2205", "2411", "2605")] == [2, 2, 6]
    assert all(max(row.end for row in run.rows) <= 720 for run in kept)
    assert all(len(run.rows) == len(workload(run.workload).jobs) for run in kept)


def test_the_simulator_is_as_near_as_the_bars_or_real_runs_to_each_other(compared: list[Comparison]) -> None:
    found = [(one.release, one.workload.name, figure) for one in compared for figure in one.measures]
    assert [one for one in found if not one[2].within] == []


def test_the_sign_of_each_policy_is_right(compared: list[Comparison]) -> None:
    found = signs(compared)
    assert [one for one in found if not one.right] == []
    assert {(one.first, one.second) for one in found if one.known} == {
        (one.name, other.name) for one, other in zip(WORKLOADS[::2], WORKLOADS[1::2], strict=True)
    }


def test_the_page_is_fresh(compared: list[Comparison]) -> None:
    made = page.markdown(runs.load(), compared, signs(compared))
    assert page.PAGE.read_text() == made, "write it again: python -m tests.simulate_real compare"
