"""Waits from Eligible, and who made jobs wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats.backlog import Backlog, backlog
from adminkit.stats.select import Filter
from adminkit.stats.wait import Wait, buckets, limit_bucket, size_bucket, wait
from adminkit.trace.connect import reader
from adminkit.trace.wait_sql import LONGER, UNLIMITED
from tests.support.builders import HOUR, MONDAY, job, make_trace

NOW = MONDAY + 100 * HOUR


def waited(number: int, seconds: int, **changes: Any) -> Job:
    start = MONDAY + number * HOUR
    given = {"start_time": start, "eligible_time": start - seconds, "end_time": start + HOUR}
    return job(number, **{**given, **changes})


def measured(path: Path, jobs: list[Job], part: str = "queue", **chosen: Any) -> Wait:
    with reader(make_trace(path / "t.db", jobs)) as db:
        return wait(db, Filter(checkpoint_code=85, **chosen), NOW, part)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (None, None),
        ("None", None),
        ("Priority", None),
        ("Resources", None),
        ("JobArrayTaskLimit", "array"),
        ("Dependency", "dependency"),
        ("DependencyNeverSatisfied", "dependency"),
        ("QOSMaxGRESPerUser", "qos"),
        ("QOSGrpCpuLimit", "qos"),
        ("MaxJobsPerAccount", "qos"),
        ("MaxGRESRunMinsPerUser", "qos"),
        ("AssocGrpCpuLimit", "association"),
        ("AssociationJobLimit", "association"),
        ("AccountingPolicy", "association"),
        ("JobHeldUser", "held"),
        ("JobHeldAdmin", "held"),
        ("JobHoldMaxRequeue", "held"),
        ("BeginTime", "begin"),
        ("Licenses", "other"),
        ("ReqNodeNotAvail", "other"),
        ("PartitionDown", "other"),
        ("a word of Slurm 99", "other"),
        ("", "other"),
    ],
)
def test_a_job_that_waited_for_anything_else_is_kept_apart(
    tmp_path: Path, reason: str | None, cause: str | None
) -> None:
    found = measured(tmp_path, [waited(1, 60), waited(2, 600, reason=reason)])
    assert list(found.causes) == ([cause] if cause else [])
    assert (found.overall.waits.jobs, found.overall.apart) == ((1, 1) if cause else (2, 0))
    if cause:
        assert (found.causes[cause].jobs, found.causes[cause].median, found.overall.waits.max) == (1, 600, 60)


def test_quantiles_are_linear_and_the_mean_is_the_mean(tmp_path: Path) -> None:
    waits = measured(tmp_path, [waited(n, seconds) for n, seconds in enumerate((0, 10, 20, 100), 1)]).overall.waits
    assert (waits.jobs, waits.median, waits.p75, waits.max, waits.mean) == (4, 15, 40, 100, 32.5)
    assert waits.p90 == pytest.approx(76)
    assert waits.p95 == pytest.approx(88)


@pytest.mark.parametrize(
    ("changes", "excluded", "why"),
    [
        ({"end_time": None, "elapsed": None, "state": "RUNNING"}, {}, "it runs: its wait is over"),
        ({"elapsed": 0, "end_time": MONDAY + HOUR, "state": "FAILED", "node_list": "n1"}, {}, "it ran for no second"),
        ({"elapsed": 20, "end_time": MONDAY + HOUR + 20, "state": "CANCELLED"}, {}, "cancelled while it ran"),
        (
            {"elapsed": 0, "end_time": MONDAY + HOUR, "state": "CANCELLED"},
            {"not_started": 1},
            "sacct's start is no start",
        ),
        ({"start_time": None, "elapsed": None, "state": "CANCELLED"}, {"not_started": 1}, "cancelled while it waited"),
        ({"eligible_time": None}, {"eligible_unknown": 1}, "a hold that never ended"),
    ],
)
def test_a_job_counts_when_it_has_started(
    tmp_path: Path, changes: dict[str, Any], excluded: dict[str, int], why: str
) -> None:
    found = measured(tmp_path, [waited(1, 60, **{"start_time": MONDAY + HOUR, "eligible_time": MONDAY, **changes})])
    assert found.excluded == {"not_started": 0, "eligible_unknown": 0, **excluded}, why
    assert found.overall.waits.jobs == 1 - sum(excluded.values()), why


def test_the_window_is_about_the_start(tmp_path: Path) -> None:
    jobs = [waited(1, 4 * HOUR), waited(2, 60), waited(3, 60), waited(4, 60, start_time=None)]
    found = measured(tmp_path, jobs, since=MONDAY + 2 * HOUR, until=MONDAY + 3 * HOUR)
    assert (found.overall.waits.jobs, found.excluded) == (
        1,
        {"window": 3, "not_started": 0, "eligible_unknown": 0},
    )


def test_a_wait_below_zero_counts_as_none_and_is_counted(tmp_path: Path) -> None:
    found = measured(tmp_path, [waited(1, -30), waited(2, 0)])
    assert (found.below_zero, found.overall.waits.max, found.overall.waits.mean) == (1, 0, 0)


@pytest.mark.parametrize(("source", "untold"), [("slurmdbd", 0), ("text", 1), ("trusted", 1), ("swf", 1), ("demo", 1)])
def test_only_slurmdbd_says_that_there_was_no_other_reason(tmp_path: Path, source: str, untold: int) -> None:
    found = measured(tmp_path, [waited(1, 60, source=source), waited(2, 60, source=source, reason="Priority")])
    assert (found.untold, found.overall.waits.jobs) == (untold, 2)


def test_jobs_that_wait_still_are_counted_whatever_the_window(tmp_path: Path) -> None:
    pending: dict[str, Any] = {"start_time": None, "end_time": None, "elapsed": None, "state": "PENDING"}
    pending["seen_open"] = NOW - 60
    jobs = [
        job(5, **pending | {"seen_open": NOW - 36 * 86_400}, eligible_time=NOW - 40 * 86_400),  # lost
        job(6, **pending | {"seen_open": None}, eligible_time=NOW - 700),  # from a file: never seen by a snapshot
        job(1, **pending, eligible_time=NOW - 500),
        job(2, **pending, eligible_time=NOW - 900, queue="other"),
        job(3, **pending, eligible_time=None),
        job(4, **pending, eligible_time=NOW + 60),
    ]
    found = measured(tmp_path, jobs, queues=["gq"], since=MONDAY)
    assert (found.waiting, found.longest) == (1, 500)


@pytest.mark.parametrize(
    ("tasks", "waiting", "cut", "why"),
    [
        ((800, 37, 5, 4), 846, 0, "arrays of which no task has begun, or some have"),
        ((800, None), 801, 1, "sacct cut the list of the second: one at least"),
        ((1,), 1, 0, "the last one of an array"),
    ],
)
def test_every_task_of_an_array_waits(
    tmp_path: Path, tasks: Sequence[int | None], waiting: int, cut: int, why: str
) -> None:
    pending: dict[str, Any] = {"start_time": None, "end_time": None, "elapsed": None, "state": "PENDING"}
    pending |= {"seen_open": NOW - 60, "eligible_time": NOW - 500}
    found = measured(tmp_path, [job(n, array_job=n, array_tasks=many, **pending) for n, many in enumerate(tasks, 1)])
    assert (found.waiting, found.cut_arrays) == (waiting, cut), why
    with reader(tmp_path / "t.db") as db:
        assert backlog(db, NOW) == [Backlog("aaic", "gq", waiting, 500, cut)], why


@pytest.mark.parametrize(
    ("part", "groups", "why"),
    [
        ("queue", [("gq", 3, 1), (None, 1, 0)], "most first"),
        ("user", [("ada", 4, 1)], "one user"),
        ("class", [("single-gpu", 3, 0), (None, 1, 0), ("multi-node", 0, 1)], "those kept apart name their group too"),
        ("limit", [(0, 1, 0), (2, 2, 1), (UNLIMITED, 1, 0)], "in the order of the limits"),
        ("nodes", [(1, 4, 0), (3, 0, 1)], "in the order of the sizes"),
    ],
)
def test_groups(tmp_path: Path, part: str, groups: list[tuple[Any, int, int]], why: str) -> None:
    jobs = [
        waited(1, 10),
        waited(2, 20, time_limit=600),
        waited(3, 30, time_limit=None, limit_kind="unlimited"),
        waited(4, 40, queue=None, gpus=None),
        waited(5, 50, nodes=3, reason="BeginTime"),
    ]
    found = measured(tmp_path, jobs, part)
    assert [(one.value, one.waits.jobs, one.apart) for one in found.groups] == groups, why


def test_hours_are_those_of_the_moment_of_being_eligible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        found = measured(tmp_path, [waited(1, 7200), waited(2, 7200), waited(3, 1)], "hour")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [(one.value, one.waits.jobs) for one in found.groups] == [(4, 1), (5, 1), (8, 1)]


def test_clusters_are_groups_of_their_own(tmp_path: Path) -> None:
    for part in ("queue", "limit", "hour"):
        (tmp_path / part).mkdir()
        found = measured(tmp_path / part, [waited(1, 10), waited(1, 10, cluster="other")], part)
        assert [(one.cluster, one.waits.jobs) for one in found.groups] == [("aaic", 1), ("other", 1)]


@pytest.mark.parametrize(
    ("jobs", "cells", "why"),
    [
        ([{"gpus": 1}, {"gpus": 3}, {"gpus": 4}], {"gpus": [((1, 2), 1), ((3, 2), 2)]}, "GPUs where there are some"),
        ([{"gpus": 0}, {"gpus": None}], {"cpus": [((4, 2), 2)]}, "CPUs where no job has several nodes"),
        ([{"gpus": 0}, {"gpus": 0, "nodes": 2}], {"nodes": [((1, 2), 1), ((2, 2), 1)]}, "nodes else"),
        ([{}, {"gpus": 0}], {"gpus": [((1, 2), 1)], "cpus": [((4, 2), 1)]}, "both kinds of jobs"),
        ([{"gpus": 0, "cpus": None}, {"time_limit": None, "limit_kind": "unknown"}], {}, "nothing is known"),
    ],
)
def test_cells_are_of_size_and_limit(
    tmp_path: Path, jobs: list[dict[str, Any]], cells: dict[str, list[tuple[tuple[int, int], int]]], why: str
) -> None:
    found = measured(tmp_path, [waited(n, 10, **changes) for n, changes in enumerate(jobs, 1)], "cells")
    shown = {unit: [((one.value[1], one.limit), one.waits.jobs) for one in each] for unit, each in found.cells.items()}
    assert shown == cells, why
    placed = sum(jobs for each in cells.values() for _, jobs in each)
    assert found.unplaced == len(jobs) - placed
    assert sum(one.waits.jobs for one in found.groups) == placed


@pytest.mark.parametrize(
    ("limit", "bucket"),
    [(1, 0), (900, 0), (901, 1), (3600, 1), (4 * HOUR, 2), (168 * HOUR, 6), (168 * HOUR + 1, LONGER)],
)
def test_the_end_of_a_bucket_of_limits_is_in_it(limit: int, bucket: int) -> None:
    assert limit_bucket(limit) == bucket


@pytest.mark.parametrize(
    ("size", "bucket"), [(-3, 0), (0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (1024, 11), (1025, 12), (10**6, 12)]
)
def test_sizes_go_by_powers_of_two(size: int, bucket: int) -> None:
    import numpy as np

    assert size_bucket(size) == bucket
    assert buckets(np.array([size])).tolist() == [bucket]


def test_extreme_numbers_stay_apart(tmp_path: Path) -> None:
    big = waited(1, 5, time_limit=2**31 - 2, gpus=2**40, nodes=2**40, cpus=2**40)
    one = measured(tmp_path, [big, replace(big, job_id_raw=2, eligible_time=-(2**40), gpus=-5, nodes=-5, cpus=-5)])
    assert (one.overall.waits.max, one.overall.waits.median) == (2**31 - 1, (2**31 - 1 + 5) / 2)
    assert {(cell.value[1], cell.limit) for cell in one.cells["gpus"]} == {(12, LONGER)}


def test_nothing_is_known_of_rows_of_unknowns_and_of_an_empty_trace(tmp_path: Path) -> None:
    blank = Job(cluster="aaic", job_id_raw=1, submit_time=1, source="text")
    for number, jobs in enumerate([[], [blank], [replace(blank, start_time=5, eligible_time=5)]]):
        (tmp_path / str(number)).mkdir()
        for part in ("queue", "limit", "hour", "cells"):
            (tmp_path / str(number) / part).mkdir()
            found = measured(tmp_path / str(number) / part, jobs, part)
            assert found.overall.waits.jobs == (number == 2)
            assert found.overall.waits.median == (0 if number == 2 else None)
