"""What counts as a submission, the time between two of them, and the hours in which they came."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from adminkit.job import Job
from adminkit.stats.arrivals import PARTS, WEEKDAYS, Arrivals, arrivals
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader, writer
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.reports import HOSTILE

ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)
UTC = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
DAY = 24 * HOUR


def measured(
    path: Path, jobs: list[Job], chosen: Filter = ALL, part: str = "hour", tz: ZoneInfo = UTC, now: int = 2**40,
    known: int = 2**40,
) -> Arrivals:  # fmt: skip
    """The trace knows all until `known`, as after a sync."""
    path.mkdir(exist_ok=True)
    trace = make_trace(path / "t.db", jobs)
    with writer(trace) as db:
        db.execute("INSERT INTO window VALUES ('aaic', 'job', 0, ?, 0, 0, 0, 0, 0, 0, 0, 0)", (known,))
    with reader(trace) as db:
        return arrivals(db, chosen, part, now, tz)


def sent(number: int, seconds: int, **changes: Any) -> Job:
    """A job that was submitted so many seconds after MONDAY."""
    return job(number, submit_time=MONDAY + seconds, **changes)


@pytest.mark.parametrize(
    ("jobs", "submissions", "several", "why"),
    [
        ([sent(1, 0), sent(2, 0)], 2, 0, "two calls of sbatch in one second"),
        ([sent(n, 0, array_job=5) for n in range(1, 4)], 1, 1, "tasks of an array"),
        ([sent(5, 0, array_job=5), sent(6, 0), sent(7, 0, array_job=7)], 3, 0, "two arrays and a job"),
        ([sent(n, 0, het_job=5) for n in range(5, 8)], 1, 1, "components of a het job"),
        ([sent(n, 0, array_job=5, cluster=f"c{n}") for n in (1, 2)], 2, 0, "the id of another cluster"),
        ([sent(1, 0, array_job=5), sent(2, 60, array_job=5)], 2, 0, "an id that came twice, as ids begin again"),
        ([sent(1, 0, start_time=None, end_time=None, elapsed=None)], 1, 0, "nobody knows anything else of it"),
    ],
)
def test_a_submission_is_one_call_of_sbatch(
    tmp_path: Path, jobs: list[Job], submissions: int, several: int, why: str
) -> None:
    found = measured(tmp_path, jobs)
    assert (found.overall.submissions, found.several, found.overall.jobs) == (submissions, several, len(jobs)), why
    assert sum(row.submissions for row in found.rows) == submissions


def test_what_slurm_put_back_was_not_submitted(tmp_path: Path) -> None:
    first = sent(1, 0, state="REQUEUED")
    found = measured(tmp_path, [first, replace(first, submit_time=MONDAY + HOUR, state="COMPLETED")])
    assert (found.overall.submissions, found.excluded) == (1, {"requeued": 1})


def test_tasks_that_never_started_were_submitted(tmp_path: Path) -> None:
    """One task ran, 467 were cancelled under one row; of another array nobody knows how many wait."""
    waits: dict[str, Any] = {"start_time": None, "end_time": MONDAY + HOUR, "elapsed": 0, "state": "CANCELLED"}
    jobs = [
        sent(2, 0, array_job=1, array_task=0),
        sent(1, 0, array_job=1, array_tasks=467, **waits),
        sent(3, 60, array_job=3, **waits),
    ]
    found = measured(tmp_path, jobs)
    assert (found.overall.submissions, found.several, found.overall.jobs) == (2, 1, 469)


def test_a_number_that_is_used_again_is_another_submission(tmp_path: Path) -> None:
    first = sent(1, 0)
    found = measured(tmp_path, [first, replace(first, submit_time=MONDAY + 24 * HOUR)])
    assert (found.overall.submissions, found.excluded) == (2, {"requeued": 0})


@pytest.mark.parametrize(
    ("times", "mean", "median", "cv", "burstiness", "why"),
    [
        ([0, 60, 120, 180], 60, 60, 0, -1, "a clock"),
        ([0, 10, 40], 20, 20, 200**0.5 / 20, (200**0.5 - 20) / (200**0.5 + 20), "std has n - 1"),
        ([0, 0, 0, 60], 20, 0, 3**0.5, (3**0.5 - 1) / (3**0.5 + 1), "two at once"),
        ([0, 60], 60, 60, None, None, "one gap has no spread"),
        ([0, 0, 0], 0, 0, None, None, "all at once: 0 / 0"),
        ([0], None, None, None, None, "no gap"),
    ],
)
def test_gaps_and_how_bursty_they_are(
    tmp_path: Path, times: list[int], mean: float, median: float, cv: float, burstiness: float, why: str
) -> None:
    gaps = measured(tmp_path, [sent(n, at) for n, at in enumerate(times, 1)]).overall.gaps
    assert (gaps.mean, gaps.median) == (mean, median), why
    assert (gaps.cv, gaps.burstiness) == (
        cv if cv is None else pytest.approx(cv),
        burstiness if burstiness is None else pytest.approx(burstiness),
    ), why


def test_a_gap_reaches_back_over_rows_but_not_over_queues(tmp_path: Path) -> None:
    jobs = [sent(1, 0), sent(2, HOUR + 5, queue="debug"), sent(3, 2 * HOUR), sent(4, 2 * HOUR + 9, queue=None)]
    rows = {row.value: row.gaps.mean for row in measured(tmp_path, jobs).rows if row.submissions}
    assert rows == {"00": None, "01": HOUR + 5, "02": (HOUR - 5 + 9) / 2}
    rows = {row.value: row.gaps.mean for row in measured(tmp_path / "other", jobs, part="queue").rows}
    assert rows == {"gq": 2 * HOUR, "debug": None, None: None}


def test_an_array_in_several_queues_is_of_the_first_by_name(tmp_path: Path) -> None:
    jobs = [sent(n, 0, array_job=9, queue=queue) for n, queue in enumerate(("gq", None, "debug", HOSTILE), 1)]
    assert [(row.value, row.jobs) for row in measured(tmp_path, jobs, part="queue").rows] == [
        (min(HOSTILE, "debug"), 4)
    ]


def test_hours_are_those_of_the_window_and_whole_ones_tell_the_dispersion(tmp_path: Path) -> None:
    jobs = [sent(n, at) for n, at in enumerate((100, 200, HOUR + 1, 3 * HOUR, 3 * HOUR + 1, 3 * HOUR + 2), 1)]
    window = replace(ALL, since=MONDAY, until=MONDAY + 4 * HOUR + 1800)
    found = measured(tmp_path, jobs, window)
    assert found.overall.seconds == 4 * HOUR + 1800
    assert found.overall.dispersion == pytest.approx(5 / 3 / 1.5)  # 2, 1, 0 and 3 in four whole hours
    assert [(row.seconds, row.submissions) for row in found.rows[:6]] == [
        (HOUR, 2), (HOUR, 1), (HOUR, 0), (HOUR, 3), (1800, 0), (0, 0),
    ]  # fmt: skip
    assert found.excluded == {"window": 0, "requeued": 0}
    open_end = measured(tmp_path / "other", jobs)
    assert open_end.overall.seconds == 3 * HOUR + 3 - 100


def test_a_window_ends_now_at_the_latest(tmp_path: Path) -> None:
    found = measured(tmp_path, [sent(1, 0)], replace(ALL, until=MONDAY + DAY), now=MONDAY + HOUR)
    assert found.overall.seconds == HOUR


@pytest.mark.parametrize(
    ("known", "until", "seconds", "why"),
    [
        (2 * HOUR, DAY, 2 * HOUR, "sync asked for two hours"),
        (0, DAY, HOUR + 1, "no further than the last submission"),
        (2 * HOUR, HOUR + 60, HOUR + 60, "as it was asked for"),
    ],
)
def test_a_window_ends_where_the_trace_does(tmp_path: Path, known: int, until: int, seconds: int, why: str) -> None:
    jobs = [sent(n, at, start_time=None, end_time=None, elapsed=None) for n, at in ((1, 0), (2, HOUR))]
    found = measured(tmp_path, jobs, replace(ALL, until=MONDAY + until), known=MONDAY + known)
    assert found.overall.seconds == seconds, why


def test_a_window_begins_with_the_trace_at_the_earliest(tmp_path: Path) -> None:
    chosen = replace(ALL, since=MONDAY - 30 * DAY, until=MONDAY + 4 * HOUR, users=("ada",))
    found = measured(tmp_path, [sent(1, 0, user="bob"), sent(2, HOUR), sent(3, 3 * HOUR)], chosen)
    assert found.overall.seconds == 4 * HOUR
    assert found.overall.dispersion == pytest.approx(1 / 3 / 0.5)


@pytest.mark.parametrize("part", PARTS)
def test_parts_follow_the_clock_of_the_host(tmp_path: Path, part: str) -> None:
    spring = 1_774_652_400  # 2026-03-28T00:00:00+01:00; the hour from 2 to 3 of the 29th does not exist
    jobs = [job(n, submit_time=spring + n * HOUR + 60) for n in range(48)]
    window = replace(ALL, since=spring, until=spring + 48 * HOUR)
    found = measured(tmp_path, jobs, window, part, BERLIN)
    rows = {row.value: (row.submissions, row.seconds // HOUR) for row in found.rows}
    assert found.zone == "CET (UTC+01:00), CEST (UTC+02:00)"
    if part == "hour":
        assert (rows["01"], rows["02"], rows["00"]) == ((2, 2), (1, 1), (3, 3))
    else:
        assert (
            rows
            == {
                "weekday": {**dict.fromkeys(WEEKDAYS, (0, 0)), "Sat": (24, 24), "Sun": (23, 23), "Mon": (1, 1)},
                "day": {"2026-03-28": (24, 24), "2026-03-29": (23, 23), "2026-03-30": (1, 1)},
                "month": {"2026-03": (48, 48)},
                "queue": {"gq": (48, 48)},
            }[part]
        )


@pytest.mark.parametrize("part", PARTS)
def test_an_empty_trace_has_no_rows(tmp_path: Path, part: str) -> None:
    found = measured(tmp_path, [], part=part)
    assert (found.rows, found.overall.submissions, found.zone, found.over_time) == ([], 0, "", [])
