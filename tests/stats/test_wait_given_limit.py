"""What jobs of a limit have waited, and what to expect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adminkit.job import Job
from adminkit.stats.select import Filter
from adminkit.stats.wait_given_limit import MIN_DAYS, MIN_JOBS, GivenLimit, expected, wait_given_limit
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

DAY = 24 * HOUR


def waited(number: int, day: int, seconds: int, **changes: Any) -> Job:
    eligible = MONDAY + day * DAY
    given = {"eligible_time": eligible, "start_time": eligible + seconds, "end_time": eligible + seconds + HOUR}
    return job(number, **{**given, **changes})


def given(path: Path, jobs: list[Job], limit: int = 4 * HOUR, gpus: int | None = None, **chosen: Any) -> GivenLimit:
    with reader(make_trace(path / "t.db", jobs)) as db:
        return wait_given_limit(db, Filter(checkpoint_code=85, **chosen), limit, gpus)


def steady(jobs: int, days: int, seconds: int = 60, first: int = 0, **changes: Any) -> list[Job]:
    return [waited(first + n, n % days, seconds + n % 7, **changes) for n in range(jobs)]


@pytest.mark.parametrize(
    ("jobs", "days", "known"),
    [(MIN_JOBS, MIN_DAYS, True), (MIN_JOBS - 1, MIN_DAYS, False), (MIN_JOBS, MIN_DAYS - 1, False), (0, 1, False)],
)
def test_a_few_jobs_or_days_say_nothing(tmp_path: Path, jobs: int, days: int, known: bool) -> None:
    other = [waited(999, 0, 5, time_limit=72 * HOUR)]
    (one,) = given(tmp_path, steady(jobs, days) + other).queues
    assert (one.expected is not None, one.waits.jobs, one.days) == (known, jobs, min(jobs, days))


def test_only_jobs_of_the_bucket_and_the_size_count(tmp_path: Path) -> None:
    jobs = [
        *steady(40, 20),
        *steady(5, 5, 900, 100, time_limit=2 * HOUR),  # in the same bucket
        *steady(7, 5, 900, 200, time_limit=HOUR),
        *steady(9, 5, 900, 300, gpus=3),
        *steady(11, 5, 900, 400, gpus=4),
        *steady(13, 5, 900, 500, gpus=0),
        *steady(15, 5, 900, 600, reason="Dependency"),
        *steady(17, 5, 900, 700, time_limit=None, limit_kind="unlimited"),
    ]
    counts = {}
    for gpus in (None, 0, 1, 4):
        (tmp_path / str(gpus)).mkdir()
        (one,) = given(tmp_path / str(gpus), jobs, 3 * HOUR, gpus).queues
        counts[gpus] = (one.waits.jobs, one.of_queue.jobs)
    assert counts == {None: (78, 102), 0: (13, 102), 1: (45, 102), 4: (20, 102)}


def test_the_same_waits_on_all_days_leave_nothing_open() -> None:
    eligible = np.repeat(np.arange(20), 30) * DAY
    told = expected(eligible, np.tile(np.arange(30), 20))
    assert told is not None
    assert (told.median, told.low, told.high) == (14.5, 14.5, 14.5)


def test_whole_days_that_differ_leave_more_open_than_jobs_that_differ() -> None:
    rng = np.random.default_rng(1)
    days = rng.exponential(3600, 60).astype(int)
    eligible = np.repeat(np.arange(60), 30) * DAY
    together = expected(eligible, np.repeat(days, 30))
    mixed = expected(eligible, rng.permutation(np.repeat(days, 30)))
    assert together is not None
    assert mixed is not None
    assert together.median == mixed.median
    assert together.low < mixed.low < mixed.high < together.high


@pytest.mark.parametrize(
    ("lasting", "least"), [(0.0, 0.9), (0.6, 0.75)], ids=["each day by itself", "lasting backlogs"]
)
def test_the_interval_has_the_median_of_as_long_again(lasting: float, least: float) -> None:
    """Sixty histories of 160 days: the first half of each predicts the second. A level of the load that lasts for days
    makes the interval too narrow, which docs/reports/wait.md says."""
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(60):
        level = np.zeros(160)
        for day in range(1, 160):
            level[day] = lasting * level[day - 1] + rng.normal()
        waits = np.exp(6 + np.repeat(level, 6) + rng.normal(0, 1, 960)).astype(int)
        told = expected(np.repeat(np.arange(160), 6)[:480] * DAY, waits[:480])
        assert told is not None
        held += told.low <= np.median(waits[480:]) <= told.high
    assert held / 60 >= least


def test_the_backtest_predicts_the_later_half_from_waits_that_were_over(tmp_path: Path) -> None:
    """Day 0 to 40: at the middle, day 20, those that wait since day 19 for two days are not known yet."""
    before = [waited(n, n % 20, 100) for n in range(60)]
    unknown = [waited(100 + n, 19, 2 * DAY) for n in range(200)]
    after = [waited(400 + n, 20 + n % 21, 100) for n in range(60)]
    other = [waited(600 + n, n % 20, 5000, time_limit=72 * HOUR) for n in range(90)]
    (one,) = given(tmp_path, before + unknown + after + other).queues
    assert (one.tried, one.held, one.error, one.queue_error) == (1, 1, 0, 4900)


def test_without_enough_jobs_in_both_halves_there_is_no_backtest(tmp_path: Path) -> None:
    (one,) = given(tmp_path, [waited(n, n % 20, 100) for n in range(50)]).queues
    assert (one.tried, one.held, one.error, one.queue_error, one.missed) == (0, 0, None, None, None)


def test_of_jobs_that_waited_so_long_alone(tmp_path: Path) -> None:
    """Half of the jobs start at once, which says nothing of one that is known to wait."""
    at_once = [waited(1000 + n, n % 20, 0) for n in range(200)]
    path = make_trace(tmp_path / "t.db", [*at_once, *steady(60, 20, 900)])
    with reader(path) as db:
        chosen = Filter(checkpoint_code=85)
        (every,) = wait_given_limit(db, chosen, 4 * HOUR).queues
        (one,) = wait_given_limit(db, chosen, 4 * HOUR, least=60).queues
        assert wait_given_limit(db, chosen, 4 * HOUR, least=907).queues == []
    assert every.expected is not None and one.expected is not None
    assert (every.expected.median, one.expected.median, one.waits.jobs) == (0, 903, 60)


def test_single_waits_are_tried_against_the_median_of_the_earlier_half(tmp_path: Path) -> None:
    before = [waited(n, n % 20, 100) for n in range(60)]
    after = [waited(400 + n, 20 + n % 21, 100 + 50 * (n % 3)) for n in range(60)]
    other = [waited(600 + n, n % 41, 5000, time_limit=72 * HOUR) for n in range(90)]
    (one,) = given(tmp_path, before + after + other).queues
    assert one.missed == 50


def test_an_empty_trace_has_no_queue(tmp_path: Path) -> None:
    found = given(tmp_path, [])
    assert (found.queues, found.jobs, found.excluded) == ([], 0, {"not_started": 0, "eligible_unknown": 0})
