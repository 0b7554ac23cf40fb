"""What jobs would have waited less, had they asked for what they needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.findings import waits
from adminkit.job import Job
from adminkit.stats.select import Filter
from adminkit.stats.wait_avoided import Avoided, wait_avoided
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

DAY = 86_400
DAYS = 12


def waited(first: int, wait: int, limit: int, days: int = DAYS, **changes: Any) -> list[Job]:
    """Three jobs a day that wait so long and run for half an hour."""
    return [
        job(first + n, **{
            "eligible_time": (at := MONDAY + n // 3 * DAY + n % 3 * HOUR), "submit_time": at, "start_time": at + wait,
            "elapsed": 1800, "end_time": at + wait + 1800, "time_limit": limit, **changes,
        })
        for n in range(3 * days)
    ]  # fmt: skip


#: 36 jobs that ask for an hour and wait for 100 s, 36 that ask for a day and wait for 1000 s.
HONEST, OVER = waited(1000, 100, HOUR), waited(2000, 1000, 24 * HOUR)


def measured(path: Path, jobs: list[Job]) -> list[Avoided]:
    with reader(make_trace(path / "t.db", jobs)) as db:
        return list(wait_avoided(db, Filter(checkpoint_code=85)))


@pytest.mark.parametrize(
    ("jobs", "expected", "why"),
    [
        (HONEST + OVER, [(36, 36_000.0, 36 * 900.0)], "900 s more each"),
        (HONEST, [], "nobody asked for more than needed"),
        (OVER, [], "nobody to compare with"),
        (waited(1000, 100, HOUR, 9) + OVER, [], "jobs to compare with on nine days only"),
        (HONEST + waited(2000, 1000, 24 * HOUR, gpus=4), [], "of another size"),
        (HONEST + waited(2000, 1000, 24 * HOUR, queue="other"), [], "in another queue"),
        (HONEST + waited(2000, 1000, 24 * HOUR, reason="Dependency"), [], "waited for another job"),
        (HONEST + waited(2000, 1000, 24 * HOUR, state="TIMEOUT"), [], "what they needed is not known"),
        (HONEST + waited(2000, 1000, 24 * HOUR, ckpt_requeues=1), [], "pieces of a job"),
        (HONEST + waited(2000, 50, 24 * HOUR), [(36, 1800.0, -1800.0)], "they waited less"),
        ([], [], "no job"),
    ],
)
def test_waits_above_those_of_jobs_that_asked_for_what_they_needed(
    tmp_path: Path, jobs: list[Job], expected: list[tuple[int, float, float]], why: str
) -> None:
    found = measured(tmp_path, jobs)
    assert [(one.jobs, one.wait, pytest.approx(one.avoided)) for one in found] == expected, why


def test_the_same_waits_each_day_leave_no_doubt_and_different_ones_some(tmp_path: Path) -> None:
    (same,) = measured(tmp_path, HONEST + OVER)
    assert same.low == pytest.approx(same.high) == pytest.approx(same.avoided)
    jobs = [job for n in range(DAYS) for job in waited(2000 + 10 * n, 100 + 300 * n, 24 * HOUR)[3 * n : 3 * n + 3]]
    (tmp_path / "t.db").unlink()
    (varied,) = measured(tmp_path, HONEST + jobs)
    assert varied.low < varied.avoided < varied.high
    assert varied.high - varied.low > 0.2 * varied.avoided


@pytest.mark.parametrize(
    ("changes", "expected", "why"),
    [
        ({}, ["avoidable"], "a hundred hours, the interval above zero"),
        ({"low": 0.0}, [], "the interval has zero"),
        ({"avoided": 99 * 3600.0}, [], "little to gain"),
        ({"wait": 1001 * 3600.0}, [], "less than a tenth"),
        ({"wait": 0.0}, [], "nobody waited"),
    ],
)
def test_a_finding(changes: dict[str, float], expected: list[str], why: str) -> None:
    given: dict[str, Any] = {"wait": 200 * 3600.0, "avoided": 100 * 3600.0, "low": 1.0, "high": 9e6}
    found = waits.check(Avoided("aaic", "gq", 50, **(given | changes)), waits.Limits())
    assert [one.verdict for one in found] == expected, why
    assert all((one.stake, one.command) == (None, "adminkit report wait --queue gq --plot") for one in found)
