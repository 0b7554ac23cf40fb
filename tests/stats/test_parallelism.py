"""Jobs by class, GPUs and nodes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job, Step
from adminkit.stats import parallelism as parallelism_module
from adminkit.stats.bundles import Bundler, bundlers
from adminkit.stats.parallelism import Parallelism, containers, parallelism
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.stats import regrouped
from tests.support.builders import HOUR, MONDAY, job, make_trace


def measured(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Parallelism:
    with reader(make_trace(path / "t.db", jobs)) as db:
        return parallelism(db, chosen or Filter(checkpoint_code=85))


def test_jobs_are_counted_by_class_gpus_and_nodes(tmp_path: Path) -> None:
    jobs = [
        job(1), job(2), job(3, gpus=0), job(4, gpus=8), job(5, gpus=2), job(6, gpus=8), job(7, nodes=4, gpus=32),
        job(8, nodes=2, gpus=None), job(9, gpus=None), job(10, state="FAILED"),
    ]  # fmt: skip
    found = measured(tmp_path, jobs)
    assert found.classes == {"cpu": 1, "single-gpu": 2, "multi-gpu": 3, "multi-node": 2, None: 1}
    assert list(found.gpus.items()) == [(2, 1), (8, 2)]
    assert list(found.nodes.items()) == [(2, 1), (4, 1)]
    assert found.jobs == 9
    assert found.excluded == {"state": 1, "elapsed": 0}


def test_jobs_without_a_limit_count(tmp_path: Path) -> None:
    assert measured(tmp_path, [job(1, time_limit=None, limit_kind="unlimited")]).jobs == 1


def test_the_components_of_a_het_job_are_one_job(tmp_path: Path) -> None:
    jobs = [
        job(1, het_job=1, het_offset=0, nodes=1, gpus=1),
        job(2, het_job=1, het_offset=1, nodes=2, gpus=4, submit_time=MONDAY),  # submitted a moment later
        job(3, het_job=3, het_offset=0, nodes=1, gpus=None),
        job(4, cluster="other", het_job=1, het_offset=0, nodes=1, gpus=1),
        job(5),
    ]
    found = measured(tmp_path, jobs)
    assert found.classes == {"cpu": 0, "single-gpu": 2, "multi-gpu": 0, "multi-node": 1, None: 1}
    assert found.nodes == {3: 1}
    assert (found.het_jobs, found.het_components) == (3, 4)


def test_each_run_of_a_requeued_het_job_is_one_job(tmp_path: Path) -> None:
    runs = [
        job(1 + offset, het_job=1, het_offset=offset, submit_time=MONDAY + run * HOUR + offset, gpus=1, state=state)
        for run, state in enumerate(["REQUEUED", "COMPLETED"])
        for offset in range(3)
    ]
    assert measured(tmp_path, runs).nodes == {3: 1}
    assert measured(tmp_path, runs, Filter(states=["REQUEUED", "COMPLETED"], checkpoint_code=85)).nodes == {3: 2}


def test_records_left_out_are_counted_whatever_job_they_belong_to(tmp_path: Path) -> None:
    jobs = [job(1, het_job=1, het_offset=0), job(2, het_job=1, het_offset=1), job(3, end_time=MONDAY - 5)]
    found = measured(tmp_path, jobs, Filter(since=MONDAY, checkpoint_code=85))
    assert (found.jobs, found.excluded) == (1, {"window": 1, "state": 0, "elapsed": 0})


def test_an_empty_trace_has_no_jobs(tmp_path: Path) -> None:
    found = measured(tmp_path, [])
    assert (found.jobs, found.gpus, found.nodes) == (0, {}, {})


@pytest.mark.parametrize(
    ("changes", "kinds", "cores", "why"),
    [
        (
            [{"cpus": 1}, {"cpus": 2}, {"cpus": 64}],
            {"single-core": 1, "multi-core": 2},
            {1: 1, 2: 1, 64: 1},
            "by cores",
        ),
        ([{"cpus": 4, "nodes": None}], {"multi-core": 1}, {4: 1}, "on nobody knows how many nodes"),
        ([{"cpus": 4, "nodes": 2}], {"multi-node": 1}, {}, "several nodes"),
        ([{"cpus": None}], {None: 1}, {}, "nobody knows anything"),
        ([{"cpus": 4}, {"cpus": 4, "gpus": 1}], {None: 1, "single-gpu": 1}, {}, "another job says its GPUs"),
        ([{"cpus": 4, "gpus": 0}], {"cpu": 1}, {4: 1}, "it is known to have none"),
        ([{"cpus": 4}, {"gpus": 1, "cluster": "b"}], {"multi-core": 1, "single-gpu": 1}, {4: 1}, "another cluster"),
    ],
)
def test_jobs_of_a_cluster_that_says_nothing_of_gpus_are_classed_by_cores(
    tmp_path: Path, changes: list[dict[str, Any]], kinds: dict[str | None, int], cores: dict[int, int], why: str
) -> None:
    found = measured(tmp_path, [job(n, **{"gpus": None, **one}) for n, one in enumerate(changes, 1)])
    assert {kind: jobs for kind, jobs in found.classes.items() if jobs} == kinds, why
    assert found.cpus == cores, why


def step(name: str, begin: int = 0, length: int = 3000, **changes: Any) -> Step:
    start = MONDAY + 60 + begin
    given = {"start_time": start, "end_time": start + length, "nodes": 1, "tasks": 1, "gpus": 1, **changes}
    return Step("aaic", 1, MONDAY + 30, name, "slurmdbd", **given)


@pytest.mark.parametrize(
    ("changes", "steps", "look", "why"),
    [
        ({}, [], "not known", "no step is known"),
        ({}, [step("batch", gpus=8), step("extern", gpus=8)], "not known", "these do not tell what runs in them"),
        ({"framework": "torchrun"}, [], "parallel", "a launcher on the command line"),
        ({}, [step("0", gpus=8)], "parallel", "one program with all GPUs"),
        ({}, [step("0", gpus=8, tasks=8)], "one task per GPU", "MPI, or eight programs"),
        ({"framework": "mpi"}, [step("0", gpus=8, tasks=8)], "parallel", "MPI"),
        ({}, [step("0", gpus=8, tasks=None)], "not known", "nobody knows its tasks"),
        ({}, [step("0", gpus=8, tasks=8), step("1", 3100, gpus=8)], "parallel", "one of its steps tells"),
        ({}, [step(str(n)) for n in range(8)], "bundle", "single-GPU steps side by side"),
        ({"framework": "torchrun"}, [step(str(n)) for n in range(8)], "bundle", "as points have it"),
        ({}, [step(str(n), 400 * n, 390) for n in range(8)], "not known", "one after the other"),
        ({"nodes": 8}, [step(str(n)) for n in range(8)], "bundle", "on eight nodes"),
        ({}, [step(str(n), gpus=None) for n in range(8)], "not known", "nobody knows their GPUs"),
    ],
)
def test_steps_tell_who_only_looks_parallel(
    tmp_path: Path, changes: dict[str, Any], steps: list[Step], look: str, why: str
) -> None:
    path = make_trace(tmp_path / "t.db", [job(1, submit_time=MONDAY + 30, gpus=8, **changes), job(2)])
    add_steps(path, steps)
    with reader(path) as db:
        found = parallelism(db, Filter(checkpoint_code=85))
        users = bundlers(db, Filter(checkpoint_code=85))
    assert found.looks == {look: 1}, why
    assert users == [Bundler("aaic", "ada", 1, 1, 8.0 * HOUR)] * (look == "bundle"), why


def add_steps(path: Path, steps: list[Step]) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for one in map(asdict, steps):
            names = ", ".join(one)
            db.execute(f"INSERT INTO step ({names}) VALUES ({', '.join('?' * len(one))})", list(one.values()))


def test_containers_are_counted_by_class(tmp_path: Path) -> None:
    jobs = [
        job(1),
        job(2, container="enroot"),
        job(3, container="enroot", gpus=8),
        job(4, gpus=None),
        job(5, elapsed=9),
    ]
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        found = containers(db, Filter(checkpoint_code=85))
    assert found.classes == {"single-gpu": {None: 1, "enroot": 1}, "multi-gpu": {"enroot": 1}, None: {None: 1}}
    assert found.all == {None: 2, "enroot": 2}
    assert found.excluded == {"state": 0, "elapsed": 1}


def test_neither_the_order_nor_the_grouping_of_rows_changes_a_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    regrouped.check(monkeypatch, tmp_path, parallelism_module, lambda db: parallelism(db, Filter(checkpoint_code=85)))
