"""Jobs by class, GPUs and nodes."""

from __future__ import annotations

from pathlib import Path

from adminkit.job import Job
from adminkit.stats.parallelism import Parallelism, parallelism
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
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
