"""Waits day by day, as a trial compares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats.switchback import Day
from adminkit.stats.waits import QUARTER, DayWaits, Waits, by_day, longest_p95, waits
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

DAY = 24 * HOUR
DAYS = [Day(MONDAY, MONDAY + DAY, True), Day(MONDAY + DAY, MONDAY + 2 * DAY, False)]
NOW = MONDAY + 3 * DAY


def one(number: int, eligible: int, wait: int | None = 600, **changes: Any) -> Job:
    start = None if wait is None else eligible + wait
    ended = {"start_time": start, "end_time": None if start is None else start + HOUR}
    return job(number, **{"eligible_time": eligible, **ended, **changes})


def read(tmp_path: Path, *jobs: Job) -> Waits:
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        return waits(db, "aaic", MONDAY, MONDAY + 2 * DAY, NOW)


def days(tmp_path: Path, *jobs: Job, carry_over: int = 0) -> list[DayWaits]:
    return by_day(read(tmp_path, *jobs), DAYS, carry_over)


@pytest.mark.parametrize(
    ("jobs", "carry_over", "expected", "why"),
    [
        ([one(1, MONDAY), one(2, MONDAY + DAY - 1, 1200)], 0, [(2, 1800), (0, 0)], "by when they were eligible"),
        ([one(1, MONDAY + DAY), one(2, MONDAY + 2 * DAY)], 0, [(0, 0), (1, 600)], "the end is no part of a day"),
        ([one(1, MONDAY + 2 * HOUR - 1), one(2, MONDAY + 2 * HOUR)], 2 * HOUR, [(1, 600), (0, 0)], "carry-over"),
        ([one(1, MONDAY, 2 * DAY)], 0, [(1, 2 * DAY), (0, 0)], "a wait belongs to its day, whenever it ended"),
        ([one(1, MONDAY, None, state="PENDING")], 0, [(1, 3 * DAY), (0, 0)], "who waits still has waited until now"),
        ([one(1, MONDAY, None, state="CANCELLED", end_time=MONDAY + HOUR)], 0, [(0, 0), (0, 0)], "never started"),
        ([one(1, MONDAY, -60)], 0, [(0, 0), (0, 0)], "a start before it was eligible is no wait"),
        ([one(1, MONDAY, cluster="other")], 0, [(0, 0), (0, 0)], "another cluster"),
    ],
)
def test_which_waits_belong_to_a_day(
    tmp_path: Path, jobs: list[Job], carry_over: int, expected: list[tuple[int, int]], why: str
) -> None:
    found = days(tmp_path, *jobs, carry_over=carry_over)
    assert [(day.jobs, day.jobs * (day.mean or 0)) for day in found] == expected, why


def test_what_else_is_counted(tmp_path: Path) -> None:
    soft: dict[str, Any] = {"admin_comment": "ak1:lim=14400,src=e,soft=600"}
    gone = one(3, MONDAY, None, state="CANCELLED", end_time=MONDAY + HOUR)
    found = days(tmp_path, one(1, MONDAY, **soft), one(2, MONDAY, None, state="PENDING"), gone)[0]
    assert (found.jobs, found.waiting, found.gone, found.planned) == (2, 1, 1, 1)
    assert found.mean == (600 + 3 * DAY) / 2 and DayWaits().mean is None


def test_every_task_of_an_array_that_waits_is_a_job(tmp_path: Path) -> None:
    listed = {"array_job": 1, "array_tasks": 40}
    gone = one(3, MONDAY, None, state="CANCELLED", end_time=MONDAY + HOUR, array_job=3, array_tasks=7)
    found = days(
        tmp_path, one(1, MONDAY, None, state="PENDING", **listed), one(2, MONDAY, array_job=1, array_task=3), gone
    )[0]
    assert (found.jobs, found.waiting, found.gone) == (41, 40, 7)
    assert found.mean == pytest.approx((40 * 3 * DAY + 600) / 41) and found.p95 == 3 * DAY


def test_the_groups_of_jobs(tmp_path: Path) -> None:
    jobs = [
        one(1, MONDAY),
        one(2, MONDAY, 60, gpus=4, queue="b,c"),
        one(3, MONDAY + QUARTER, 120, gpus=None),
        one(4, MONDAY + QUARTER, 180, gpus=9, nodes=2, queue="b"),
        one(5, MONDAY + QUARTER, 240, gpus=0),
    ]
    found = read(tmp_path, *jobs)
    waited = {
        (part, name): by_day(found, DAYS, 0, found.group(part, name))[0].mean
        for part, (_, names) in found.parts.items()
        for name in names
    }
    assert found.unit == "GPU"
    assert waited["queue", "b"] == 120, "of several queues the first"
    assert (waited["class", "multi-gpu"], waited["class", "multi-node"]) == (60, 180)
    assert [waited["size", name] for name in ("1 GPU", "2 to 8 GPUs", "9 to 64 GPUs", "no GPU")] == [600, 60, 180, 240]
    assert waited["size", "above 64 GPUs"] is None


def test_where_few_jobs_have_gpus_sizes_are_cpus(tmp_path: Path) -> None:
    found = read(
        tmp_path, one(1, MONDAY, gpus=0, cpus=8), one(2, MONDAY, gpus=0, cpus=65), one(3, MONDAY, gpus=1, cpus=1)
    )
    assert found.unit == "CPU"
    assert [int(found.group("size", name).sum()) for name in ("2 to 8 CPUs", "above 64 CPUs")] == [1, 1]


def test_slowdown_is_bounded_and_of_jobs_that_ended(tmp_path: Path) -> None:
    jobs = [
        one(1, MONDAY, 600, elapsed=HOUR),
        one(2, MONDAY, 90, elapsed=1),
        one(3, MONDAY, 60, elapsed=5, end_time=None, state="RUNNING"),
    ]
    assert days(tmp_path, *jobs)[0].slowdown == pytest.approx(((600 + HOUR) / HOUR + 91 / 10) / 2)


def test_the_95th_percentile_is_a_wait_of_the_day(tmp_path: Path) -> None:
    found = days(tmp_path, *(one(nth, MONDAY, 10 * nth) for nth in range(1, 101)))[0]
    assert (found.p95, found.mean) == (950, 505)


def test_the_longest_95th_percentile_of_the_queues(tmp_path: Path) -> None:
    jobs = [one(nth, MONDAY, elapsed=60 * nth) for nth in range(1, 101)]
    jobs += [one(200 + nth, MONDAY, queue="debug", elapsed=10) for nth in range(500)]
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        assert longest_p95(db, "aaic", MONDAY, NOW) == 60 * 95 + 3
        assert longest_p95(db, "aaic", MONDAY - DAY, MONDAY) is None
