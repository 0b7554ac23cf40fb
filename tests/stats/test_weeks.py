"""Weeks of users, and who stood in line: small cases counted by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats.select import Filter
from adminkit.stats.waiting import Line, waiting
from adminkit.stats.weeks import WEEK, Week, names, weeks
from tests.support.builders import HOUR, MONDAY, job, make_trace

UNTIL = MONDAY + WEEK


def waits(number: int, user: str | None, since: int, until: int | None, **changes: Any) -> Job:
    """A job that was eligible from hour `since` on and started at `until`; None while it still waits."""
    start = None if until is None else MONDAY + until * HOUR
    end = None if start is None else start + HOUR
    given = {
        "user": user,
        "eligible_time": MONDAY + since * HOUR,
        "start_time": start,
        "end_time": end,
        "source": "slurmdbd",
    }
    return job(number, **{**given, **changes})


def lines(path: Path, jobs: Sequence[Job]) -> dict[tuple[str, str | None], Line]:
    with closing(sqlite3.connect(make_trace(path, jobs))) as db:
        return waiting(db, MONDAY, UNTIL)


@pytest.mark.parametrize(
    ("jobs", "hours", "why"),
    [
        ([], 0, "nobody waits"),
        ([waits(1, "bob", 2, 5)], 3, "one other"),
        ([waits(1, "ada", 2, 5)], 0, "only herself"),
        ([waits(1, "bob", 2, 5), waits(2, "bob", 3, 6)], 4, "two jobs of one other overlap"),
        ([waits(1, "bob", 2, 5), waits(2, "ada", 1, 9)], 3, "her own wait adds nothing"),
        ([waits(1, "bob", 2, 5), waits(2, "carl", 7, 8)], 4, "two others, one after the other"),
        ([waits(1, "bob", -5, 2)], 2, "from before"),
        ([waits(1, "bob", 8, 20)], 2, "until after"),
        ([waits(1, "bob", 4, None)], 6, "still waits"),
        ([waits(1, "bob", 4, None, source="text")], 0, "still waits in a file that was imported: nobody knows"),
        ([waits(1, "bob", 4, None, end_time=MONDAY + 6 * HOUR)], 2, "cancelled while it waited"),
        ([waits(1, "bob", 5, 5)], 0, "did not wait"),
        ([waits(1, "bob", 2, 5, eligible_time=None)], 0, "held, or nobody knows"),
        ([waits(1, "bob", 2, 5, queue="other")], 0, "in another queue"),
        ([waits(1, "bob", 2, 5, cluster="other")], 0, "on another cluster"),
        ([waits(1, None, 2, 5)], 3, "somebody without a name"),
    ],
)
def test_a_run_of_ten_hours_while_others_wait(tmp_path: Path, jobs: list[Job], hours: int, why: str) -> None:
    line = lines(tmp_path / "t.db", jobs).get(("aaic", "gq"), Line([], []))
    assert line.others("ada", MONDAY, MONDAY + 10 * HOUR) == hours * HOUR, why


def test_unused_hours_count_by_the_part_of_the_run_that_others_waited(tmp_path: Path) -> None:
    """Ten hours of 30, two GPUs, somebody in line for three of the ten: 0.3 of 40 GPU-hours."""
    mine = job(1, start_time=MONDAY, end_time=MONDAY + 10 * HOUR, elapsed=10 * HOUR, time_limit=30 * HOUR, gpus=2)
    path = make_trace(tmp_path / "t.db", [mine, waits(2, "bob", 2, 5)])
    with closing(sqlite3.connect(path)) as db:
        found = names(db, Filter(["aaic"], MONDAY, UNTIL, checkpoint_code=85), waiting(db, MONDAY, UNTIL))
    assert found["ada"][None].waited_for == pytest.approx((12 * HOUR, 0))
    assert found["ada"][None].week.unused == (40 * HOUR, 0)


def ran(number: int, end: int, **changes: Any) -> Job:
    return job(number, start_time=end - HOUR, end_time=end, **changes)


def test_weeks_are_counted_back_and_gpus_and_cpus_apart(tmp_path: Path) -> None:
    jobs = [
        ran(1, UNTIL - 1),
        ran(2, MONDAY, gpus=0, cpus=3, elapsed=2 * HOUR),
        ran(3, MONDAY - 1, gpus=None, cpus=1),
        ran(4, UNTIL),
        ran(5, MONDAY - WEEK - 1, user="bob"),
        ran(6, UNTIL - 60, elapsed=5 * HOUR),
        ran(7, UNTIL - 60, job_name="interactive"),
        ran(8, UNTIL - 60, submitted_by="salloc"),
        ran(9, UNTIL - 60, state="FAILED"),
    ]
    with closing(sqlite3.connect(make_trace(tmp_path / "t.db", jobs))) as db:
        chosen = Filter(["aaic"], UNTIL - 3 * WEEK, UNTIL, checkpoint_code=85)
        mine = weeks(db, chosen, 3, by_user=True)
        everybody = weeks(db, chosen, 3, by_user=False)[None]
    assert mine["ada"] == [
        Week(),
        Week(1, HOUR, 4 * HOUR, 0.25, 0, 3 * HOUR),
        Week(3, 8 * HOUR, 12 * HOUR, 0.25 + 0.5 + 1.25, 3 * HOUR, 2 * 3 * HOUR),
    ]
    assert mine["bob"] == [Week(1, HOUR, 4 * HOUR, 0.25, 3 * HOUR, 0), Week(), Week()]
    assert [one.runs for one in everybody] == [1, 1, 5], "the cluster's own weeks have interactive jobs too"
    assert mine["ada"][2].accuracy == pytest.approx(2 / 3) and mine["ada"][2].used_fraction == pytest.approx(2 / 3)
    assert Week().accuracy is None and Week().used_fraction is None
