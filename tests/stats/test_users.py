"""Users: jobs, hours, accuracy, who is active, the last month against those before."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from adminkit.job import Job
from adminkit.reports.users import verdict
from adminkit.stats import users as users_module
from adminkit.stats.select import Filter
from adminkit.stats.users import MONTH, Change, Month, Users, users
from adminkit.trace.connect import reader
from tests.stats import regrouped
from tests.support.builders import HOUR, MONDAY, job, make_trace

DAY = 24 * HOUR


def measured(path: Path, jobs: list[Job], chosen: Filter | None = None) -> Users:
    with reader(make_trace(path / "t.db", jobs)) as db:
        return users(db, chosen or Filter(checkpoint_code=85))


def at(month: int, day: int = 15) -> int:
    return int(datetime(2026, month, day, tzinfo=UTC).timestamp())


def test_jobs_and_hours_are_counted_by_user(tmp_path: Path) -> None:
    jobs = [
        job(1, gpus=2, cpus=4), job(2, elapsed=3 * HOUR, gpus=None), job(3, user="bob", gpus=None, cpus=None),
        job(4, user=None), job(5, state="FAILED"), job(6, elapsed=60),
    ]  # fmt: skip
    found = measured(tmp_path, jobs)
    assert [(one.user, one.jobs) for one in found.users] == [("ada", 2), (None, 1), ("bob", 1)]
    ada, _, bob = found.users
    assert (ada.gpu_seconds, ada.cpu_seconds, ada.gpus_unknown) == (2 * HOUR, 28 * HOUR, 1)
    assert (bob.gpus_unknown, bob.cpus_unknown) == (1, 1)
    assert (found.overall.jobs, found.excluded) == (4, {"state": 1, "elapsed": 1})


def test_accuracy_is_of_jobs_with_a_limit_that_are_no_checkpoint_runs(tmp_path: Path) -> None:
    jobs = [
        job(1), job(2, elapsed=2 * HOUR, time_limit=2 * HOUR), job(3, time_limit=None, limit_kind="unlimited"),
        job(4, restarts=1), job(5, exit_code=85),
    ]  # fmt: skip
    (ada,) = measured(tmp_path, jobs).users
    assert (ada.jobs, ada.limited, ada.accuracy, ada.used_fraction) == (5, 2, (0.25 + 1) / 2, 3 / 6)


@pytest.mark.parametrize(
    ("days", "jobs", "months", "active", "why"),
    [
        (0, 10, 1, True, "a window counts as a month at least"),
        (0, 9, 1, False, "too few even so"),
        (61, 21, 61 * DAY / MONTH, True, "ten a month over two months"),
        (61, 20, 61 * DAY / MONTH, False, "just fewer: 61 days are more than two months"),
    ],
)
def test_active_users_have_ten_jobs_a_month(
    tmp_path: Path, days: int, jobs: int, months: float, active: bool, why: str
) -> None:
    ends = [MONDAY] * (jobs - 1) + [MONDAY + days * DAY]
    found = measured(tmp_path, [job(n, end_time=end) for n, end in enumerate(ends, 1)])
    assert (found.months, found.active(found.users[0])) == (pytest.approx(months), active), why


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        (None, None, 100),
        (MONDAY - 50 * DAY, None, 100),
        (MONDAY + 10 * DAY, MONDAY + 50 * DAY, 40),
        (None, MONDAY + 300 * DAY, 100),
    ],
)
def test_the_window_is_no_longer_than_the_trace(
    tmp_path: Path, since: int | None, until: int | None, days: int
) -> None:
    jobs = [job(1, end_time=MONDAY), job(2, end_time=MONDAY + 100 * DAY)]
    found = measured(tmp_path, jobs, Filter(since=since, until=until, checkpoint_code=85))
    assert found.months * MONTH == pytest.approx(days * DAY, abs=1)


def test_the_last_month_is_that_of_the_windows_end(tmp_path: Path) -> None:
    jobs = [job(m, end_time=at(m), elapsed=HOUR * m, time_limit=10 * HOUR) for m in (1, 2, 3)]
    assert measured(tmp_path, jobs).month == "2026-03"
    found = measured(tmp_path, jobs, Filter(until=at(3, 1), checkpoint_code=85))
    assert found.month == "2026-02", "until is not in the window"
    assert {name: one.accuracy for name, one in found.users[0].months.items()} == {"2026-01": 0.1, "2026-02": 0.2}


@pytest.mark.parametrize(
    ("now", "before", "change", "said", "why"),
    [
        (Month(5, 2.5), [0.1, 0.1, 0.1], 0.4, "more accurate", "months that never differed"),
        (Month(5, 0.5), [0.4, 0.5, 0.6], -0.4, "no significant change", "t with two degrees of freedom is wide"),
        (Month(5, 0.5), [0.59, 0.6, 0.61], -0.5, "less accurate", ""),
        (Month(5, 2.5), [0.1, 0.1], 0.4, "too few months", "two months before"),
        (Month(4, 2.0), [0.1, 0.1, 0.1], None, None, "few jobs now"),
        (Month(), [0.1, 0.1, 0.1], None, None, "none now"),
        (Month(5, 2.5), [], None, None, "nothing before"),
    ],
)
def test_a_change_has_a_verdict(
    now: Month, before: list[float], change: float | None, said: str | None, why: str
) -> None:
    found = Change(now, before)
    assert found.change == (None if change is None else pytest.approx(change)), why
    assert verdict(found.change, found.interval) == said, why


def test_the_interval_is_that_of_one_more_month() -> None:
    low, high = Change(Month(10, 5), [0.1, 0.2, 0.3]).interval or (0.0, 0.0)
    assert (low + high) / 2 == pytest.approx(0.3)
    assert (high - low) / 2 == pytest.approx(4.302652729911 * 0.1 * (4 / 3) ** 0.5), "t(0.975, 2) of a table"


def test_months_with_few_jobs_say_nothing(tmp_path: Path) -> None:
    jobs = [job(100 * month + n, end_time=at(month)) for month, many in ((1, 5), (2, 4), (3, 6)) for n in range(many)]
    (ada,) = measured(tmp_path, jobs).users
    change = ada.change("2026-03")
    assert (len(change.before), change.now.jobs, change.change) == (1, 6, 0.0)


def test_an_empty_trace_has_no_users(tmp_path: Path) -> None:
    found = measured(tmp_path, [])
    assert (found.users, found.month, found.months) == ([], None, 1.0)


def test_neither_the_order_nor_the_grouping_of_rows_changes_a_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    regrouped.check(monkeypatch, tmp_path, users_module, lambda db: users(db, Filter(checkpoint_code=85)))
