"""When a request can start by what jobs like it waited."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.fit.history import Like, by_history, is_asked, past
from adminkit.fit.verdict import Start
from adminkit.job import Job
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

DAY = 24 * HOUR
NOW = MONDAY + 60 * DAY
LIKE = Like("aaic", "gq", 4 * HOUR, 1)
HIDDEN = Start("later", None, None, None, "hidden", "busy until an unknown time")


@pytest.mark.parametrize(
    ("start", "asked", "why"),
    [
        (HIDDEN, True, "jobs without a limit run there"),
        (replace(HIDDEN, why="busy"), True, "it is behind a job without a limit"),
        (replace(HIDDEN, why="priority"), True, "the same"),
        (replace(HIDDEN, why="Resources"), True, "a waiting job of several nodes that nobody planned"),
        (replace(HIDDEN, at=NOW), False, "a time is known"),
        (replace(HIDDEN, why="drained"), False, "the past knows nothing of this repair"),
        (replace(HIDDEN, why="qos"), False, "waits for limits are not in what is measured"),
        (replace(HIDDEN, why="Dependency"), False, "the same"),
        (Start("never", why="size"), False, "it never starts"),
    ],
)
def test_the_past_is_asked_where_nobody_knows_a_time(start: Start, asked: bool, why: str) -> None:
    assert is_asked(start) is asked, why


def waited(number: int, seconds: int, **changes: Any) -> Job:
    eligible = NOW - 50 * DAY + number % 45 * DAY
    given = {"eligible_time": eligible, "start_time": eligible + seconds, "end_time": eligible + seconds + HOUR}
    return job(number, **{**given, **changes})


#: Most start at once. Of those that wait half do for an hour, half for five.
JOBS = [
    *(waited(n, 0) for n in range(200)),
    *(waited(1000 + n, HOUR - 1 if n % 2 else 5 * HOUR) for n in range(180)),
    *(waited(2000 + n, 20 * HOUR, queue="gq-long") for n in range(90)),
    *(waited(3000 + n, 20 * HOUR, cluster="beta") for n in range(90)),
    *(waited(4000 + n, 20 * HOUR, gpus=8) for n in range(90)),
    *(waited(5000 + n, 20 * HOUR, user="bob") for n in range(5)),
]


@pytest.mark.parametrize(
    ("like", "users", "at", "said", "why"),
    [
        (LIKE, ["ada"], NOW + (HOUR - 1 + 5 * HOUR) // 2, "of 180 jobs of gq", "who started at once does not count"),
        (LIKE, [], NOW + 5 * HOUR, "of 185 jobs of gq", "of everybody"),
        (
            replace(LIKE, eligible_time=NOW - 2 * HOUR),
            ["ada"],
            NOW + 3 * HOUR,
            "of 90 jobs of gq",
            "it has waited for 2 h",
        ),
        (replace(LIKE, eligible_time=NOW - 6 * HOUR), [], None, "not known: 5 jobs of gq", "few waited so long"),
        (replace(LIKE, gpus=4), [], None, "not known: 0 jobs of gq", "no job of this size"),
        (replace(LIKE, queue="other"), [], None, "not known: 0 jobs of other", "no such queue"),
        (replace(LIKE, time_limit=None), [], None, "not known for jobs without a limit", "no limit"),
    ],
)
def test_the_time_is_the_median_of_jobs_that_waited_as_long(
    tmp_path: Path, like: Like, users: list[str], at: int | None, said: str, why: str
) -> None:
    with reader(make_trace(tmp_path / "t.db", JOBS)) as db:
        given = past(db, like, users, NOW, 85)
    start, note = by_history(HIDDEN, like, given, NOW, own=False)
    assert start.at is at is None or start.at == pytest.approx(at, abs=1), (why, start)
    assert start.method == (None if at is None else "history"), why
    assert said in note, (why, note)
    if at is None:
        assert start == HIDDEN
    else:
        assert start.error is not None and "backtest: half of the later waits" in note


def test_without_a_backtest_the_error_is_unknown(tmp_path: Path) -> None:
    early = [one for one in JOBS if one.eligible_time is not None and one.eligible_time < NOW - 35 * DAY]
    lonely = waited(9000 + 44, 2 * HOUR)
    with reader(make_trace(tmp_path / "t.db", [*early, lonely])) as db:
        start, note = by_history(HIDDEN, LIKE, past(db, LIKE, [], NOW, 85), NOW, own=True)
    assert (start.method, start.error) == ("history", None)
    assert "your own jobs of gq" in note and "no backtest" in note


def test_older_jobs_are_left_out(tmp_path: Path) -> None:
    with reader(make_trace(tmp_path / "t.db", JOBS)) as db:
        assert past(db, LIKE, [], NOW + 100 * DAY, 85) is None
