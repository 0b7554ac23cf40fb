"""What a request of each number of GPUs would wait, by history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit.recommend.gpu_waits import gpu_waits
from adminkit.stats.progress import Habit, habit
from adminkit.trace.connect import reader
from tests.support.builders import MONDAY, job, make_trace

DAY, HOUR = 86_400, 3600
NOW = MONDAY + 20 * DAY
MINE = Habit("aaic", "gq", HOUR)


def waited(number: int, gpus: int, wait: int, **more: Any) -> Any:
    """Two a day, for 20 days."""
    at = MONDAY + number % 40 * DAY // 2
    times = {"submit_time": at, "eligible_time": at, "start_time": at + wait, "end_time": at + wait + 600}
    return job(number, queue="gq", gpus=gpus, time_limit=HOUR, elapsed=600, **times, **more)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """One GPU waits a minute, two an hour; three jobs had four."""
    jobs = [waited(n, 1, 60) for n in range(40)] + [waited(40 + n, 2, HOUR) for n in range(40)]
    return make_trace(tmp_path / "t.db", [*jobs, *(waited(80 + n, 4, 9) for n in range(3))])


def test_each_number_has_the_median_of_its_own(trace: Path) -> None:
    with reader(trace) as db:
        found = gpu_waits(db, MINE, (1, 2, 4, 8), NOW, 85)
    assert {gpus: one.median for gpus, one in found.by_gpus.items()} == {1: 60, 2: HOUR}, "three jobs say nothing"
    assert all(one.low <= one.median <= one.high for one in found.by_gpus.values())
    assert found.note.startswith("wait by history: the median of jobs of gq with about")


@pytest.mark.parametrize(
    ("asked", "said"),
    [(Habit("aaic", "none", HOUR), "not known from history"), (None, "not known, because no run of this job shows")],
    ids=["a queue without jobs", "no habit"],
)
def test_what_is_not_known_is_said(trace: Path, asked: Habit | None, said: str) -> None:
    with reader(trace) as db:
        found = gpu_waits(db, asked, (1, 2), NOW, 85)
    assert found.by_gpus == {} and said in found.note


def test_a_habit_is_that_of_the_last_run_that_counted(tmp_path: Path) -> None:
    runs = [
        waited(1, 1, 0, user="ada", job_name="train", admin_comment="ck1:at=1 pf1:it=100"),
        waited(9, 1, 0, user="ada", job_name="train"),
    ]
    with reader(make_trace(tmp_path / "t.db", runs)) as db:
        assert habit(db, NOW, "ada", "train") == Habit("aaic", "gq", HOUR)
        assert habit(db, NOW, "ada", "other") is None
