"""What the runs of a group used: sums weighted by what was reserved, and medians."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adminkit.job import Job, Step
from adminkit.sqlite import open_database
from adminkit.stats.efficiencies import Efficiencies, Use, efficiencies
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from adminkit.trace.jobstats import jobstats_gpu_memory
from adminkit.trace.months import door
from tests.support.builders import HOUR, job
from tests.support.months import keep
from tests.support.uses import GIB, jobstats, make_used, step_of

ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)


def measured(path: Path, jobs: list[Job], steps: list[Step] | None = None, part: str = "queue") -> Efficiencies:
    with reader(make_used(path / "t.db", jobs, steps or [])) as db:
        return efficiencies(db, ALL, (part,))[0]


def use(path: Path, resource: str, jobs: list[Job], steps: list[Step] | None = None) -> Use:
    return measured(path, jobs, steps).overall.uses[resource]


@pytest.mark.parametrize(
    ("jobs", "share", "median", "why"),
    [
        ([], None, None, "no job"),
        ([job(1, cpu_time=4.0 * HOUR)], 0.5, 0.5, "half of eight CPUs"),
        ([job(1, cpu_time=4.0 * HOUR, cpus=None, req_cpus=16)], 0.25, 0.25, "what was asked for, unless allocated"),
        ([job(1, cpu_time=8.0 * HOUR), job(2, elapsed=3 * HOUR, cpu_time=0.0)], 0.25, 0.5, "hours weigh, runs do not"),
        ([job(1, cpu_time=4.0 * HOUR), job(2)], 0.5, 0.5, "unknown is left out"),
        ([job(1, cpu_time=16.0 * HOUR)], 2.0, 2.0, "steps that overlap count twice, and it is shown"),
        ([job(1, elapsed=0, cpu_time=1.0), job(2, elapsed=None), job(3, elapsed=-5)], None, None, "did not run"),
    ],
)
def test_cpu_time_is_of_elapsed_and_cpus(
    tmp_path: Path, jobs: list[Job], share: float | None, median: float | None, why: str
) -> None:
    found = use(tmp_path, "cpu", jobs)
    spread = found.spread
    assert (found.share, spread and spread.median) == (share, median), why


ONE = job(1, mem=8 * GIB, gpus=2)


@pytest.mark.parametrize(
    ("steps", "share", "why"),
    [
        ([], None, "no step"),
        ([step_of(ONE)], None, "a step that says nothing"),
        ([step_of(ONE, tasks=4, max_rss=GIB)], None, "the largest task of four is not the four"),
        ([step_of(ONE, tasks=4, max_rss=GIB, mem_used=2 * GIB)], 0.25, "all tasks, not the largest"),
        ([step_of(ONE, max_rss=4 * GIB)], 0.5, "one task is all"),
        ([step_of(ONE, mem_used=GIB), step_of(ONE, "0", mem_used=3 * GIB)], 0.5, "steps at one time add up"),
        ([step_of(ONE, mem_used=GIB), step_of(ONE, "0", tasks=4, max_rss=GIB)], None, "one of two is not both"),
    ],
)
def test_memory_is_of_all_tasks_and_nodes(tmp_path: Path, steps: list[Step], share: float | None, why: str) -> None:
    assert use(tmp_path, "mem", [ONE], steps).share == share, why


def told(**cells: Any) -> str:
    return jobstats({"n1": cells})


@pytest.mark.parametrize(
    ("comment", "steps", "share", "idle", "why"),
    [
        (None, [], None, 0, "nobody measured"),
        (None, [step_of(ONE, gpus_used=1.0)], 0.5, 0, "Slurm saw one of two"),
        (None, [step_of(ONE, gpus_used=1.0, elapsed=HOUR // 2), step_of(ONE, "0")], 0.25, 0, "half of the time"),
        (None, [step_of(ONE, gpus_used=0.0)], 0.0, 1, "idle"),
        (told(gpu_utilization={"0": 90, "1": 90}), [step_of(ONE, gpus_used=0.0)], 0.9, 0, "Jobstats counts first"),
        ("JS1:AAAA", [step_of(ONE, gpus_used=1.0)], 0.5, 0, "nonsense counts for nothing"),
    ],
)
def test_gpus_are_as_jobstats_says_or_slurm(
    tmp_path: Path, comment: str | None, steps: list[Step], share: float | None, idle: int, why: str
) -> None:
    one = job(1, mem=8 * GIB, gpus=2, admin_comment=comment)
    found = measured(tmp_path, [one, job(2, gpus=0)], steps).overall
    assert (found.uses["gpu"].share, found.idle, found.gpu_jobs) == (share, idle, 1), why


@pytest.mark.parametrize(
    ("comment", "held", "why"),
    [
        (None, None, "no comment"),
        (told(gpu_used_memory={"0": GIB, "1": GIB}, gpu_total_memory={"1": 4 * GIB, "0": 4 * GIB}), (2 * GIB, 8 * GIB),
         "all GPUs together"),
        (told(gpu_used_memory={"0": GIB}), None, "of how much?"),
        (told(gpu_used_memory={"0": 5 * GIB}, gpu_total_memory={"0": 4 * GIB}), None, "more than there is"),
        (told(gpu_used_memory={"0": -1}, gpu_total_memory={"0": 4 * GIB}), None, "less than nothing"),
        (told(gpu_used_memory={"0": 1}, gpu_total_memory={"0": 1e300}), None, "no memory is so large"),
        (told(gpu_used_memory={"0": float("nan")}, gpu_total_memory={"0": 1}), None, "not a number"),
        (told(gpu_used_memory=[1], gpu_total_memory=[1]), None, "not of GPUs"),
        (jobstats({"n1": 5}), None, "not of a node"),
        (jobstats([5]), None, "no nodes"),
        (told(gpu_used_memory={"0": "1" * 2_000_000}, gpu_total_memory={"0": 1}), None, "unpacks to too much"),
    ],
)  # fmt: skip
def test_memory_of_gpus_is_never_trusted(comment: str | None, held: tuple[float, float] | None, why: str) -> None:
    assert jobstats_gpu_memory(comment) == held, why


def test_groups_have_their_own_runs_and_those_that_waste_most_come_first(tmp_path: Path) -> None:
    jobs = [job(1, user="ada", mem=GIB), job(2, user="bob", mem=GIB), job(3, user=None)]
    steps = [step_of(jobs[0], gpus_used=1.0), step_of(jobs[1], gpus_used=0.5)]
    found = measured(tmp_path, jobs, steps, "user")
    assert [(one.value, one.jobs, one.uses["gpu"].share) for one in found.groups] == [
        ("bob", 1, 0.5),
        (None, 1, None),
        ("ada", 1, 1.0),
    ]
    assert (found.overall.jobs, found.overall.uses["gpu"].jobs) == (3, 2)


def test_files_of_months_have_the_same_uses(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pick = Random(5)

    def told(percent: int) -> str:
        return jobstats({"n1": {"gpu_utilization": {"0": percent}, "gpu_used_memory": {"0": percent * GIB},
                                "gpu_total_memory": {"0": 80 * GIB}}})  # fmt: skip

    jobs = [
        job(number, queue=pick.choice(("gq", "cpu", None)), gpus=pick.choice((0, 1, 2, None)), mem=8 * GIB,
            elapsed=pick.choice((0, 61, HOUR, 3 * HOUR)), cpu_time=pick.choice((None, 0.0, 1.7, 3.3 * HOUR)),
            admin_comment=pick.choice((None, None, told(0), told(41))))
        for number in range(60)
    ]  # fmt: skip
    steps = [step_of(one, max_rss=pick.randrange(GIB), gpus_used=pick.choice((None, 0.001, 0.7))) for one in jobs[::2]]
    path = make_used(tmp_path / "t.db", jobs, steps)
    assert [one.why for one in keep(path)] == [None]
    with reader(path) as db:
        assert door.reads_files(db, ["measured_mem"], "FROM run WHERE TRUE", {})
        of_files = efficiencies(db, ALL, ("queue", "user"))
    with closing(open_database(path)) as db:
        assert of_files == efficiencies(db, ALL, ("queue", "user"))
    used = of_files[0].overall
    assert all(one.jobs for one in used.uses.values()) and used.monitored and used.idle
