"""Which rows of one number are pieces of one job, for every state and release."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any, Final

import pytest

from adminkit.job import Job
from adminkit.trace import schema
from tests.support.builders import HOUR, MONDAY, job
from tests.trace.test_run_view import filled

DAY: Final = 24 * HOUR
#: Columns of one run: its state; `after` is the time from the end of the run before to the submission.
Run = dict[str, Any]
WHOLE: Final = {"state": "COMPLETED"}
LOST: Final = {"state": "NODE_FAIL"}
PREEMPTED: Final = {"state": "PREEMPTED"}
REQUEUED: Final = {"state": "REQUEUED"}
WAITS: Final = {"state": "PENDING", "start_time": None, "end_time": None, "elapsed": 0}


def runs_of(*rows: Run, number: int = 7) -> list[Job]:
    """The rows of one number, each submitted `after` seconds after the end of the one before; it waits 121 seconds."""
    found, at = [], MONDAY
    for row in rows:
        given = {"after": 0, **row}
        at += given.pop("after")
        start, elapsed = at + 121, given.pop("elapsed", HOUR)
        given = {
            "eligible_time": start,
            "start_time": start,
            "end_time": start + elapsed,
            "submitted_by": "sbatch",
            **given,
        }
        found.append(job(number, submit_time=at, elapsed=elapsed, **given))
        at = start + elapsed
    return found


def pieces(jobs: list[Job], column: str) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as db:
        return [one for (one,) in filled(db, jobs).execute(f"SELECT {column} FROM run ORDER BY submit_time")]


@pytest.mark.parametrize(
    ("rows", "continues", "continued", "checkpoint", "why"),
    [
        ([WHOLE], [0], [0], [0], "one run"),
        ([REQUEUED, WHOLE], [0, 1], [1, 0], [1, 1], "put back by hand"),
        ([PREEMPTED, PREEMPTED, WHOLE], [0, 1, 1], [1, 1, 0], [1, 1, 1], "preempted twice"),
        ([LOST, WHOLE], [0, 1], [1, 0], [1, 1], "its node failed"),
        ([{"state": "BOOT_FAIL"}, WHOLE], [0, 1], [1, 0], [1, 1], "its node did not boot"),
        ([{"state": "RESIZING"}, WHOLE], [0, 1], [1, 0], [1, 1], "it went on in another size"),
        ([REQUEUED, LOST, PREEMPTED, WHOLE], [0, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1], "all of them"),
        ([PREEMPTED], [0], [0], [0], "preempted for good: PreemptMode=CANCEL"),
        ([LOST], [0], [0], [0], "--no-requeue"),
        ([REQUEUED], [0], [1], [1], "the next run is not in the trace"),
        ([REQUEUED, WAITS], [0, 1], [1, 0], [1, 1], "it waits"),
        ([LOST, {**WHOLE, "after": 300}], [0, 1], [1, 0], [1, 1], "the node was given up after five minutes"),
        ([{**PREEMPTED, "restarts": 0}, {**WHOLE, "restarts": 1}], [0, 1], [1, 0], [1, 1], "24.11 counts them"),
        ([{**WHOLE, "restarts": 0}, {**WHOLE, "restarts": 1}], [0, 1], [1, 0], [1, 1], "26.05, when it was over"),
        ([{"state": "TIMEOUT", "restarts": 1}, {**WHOLE, "restarts": 2}], [1, 1], [1, 0], [1, 1], "again"),
        ([WHOLE, {**WHOLE, "restarts": 1, "after": 9 * DAY}], [0, 1], [0, 0], [0, 1], "its first run is not there"),
        ([{**WHOLE, "restarts": 2}], [1], [0], [1], "the first runs are older than the trace"),
        ([{**LOST, "restarts": 0}, {**WHOLE, "restarts": 0}], [0, 1], [1, 0], [1, 1], "older than an update to 24.11"),
        (
            [{**LOST, "restarts": 0}, {**WHOLE, "restarts": 0, "after": HOUR}],
            [0, 0], [0, 0], [0, 0], "the number was used again, says Slurm",
        ),
        ([PREEMPTED, {**WHOLE, "after": 3 * DAY}], [0, 0], [0, 0], [0, 0], "the number was used again"),
        ([REQUEUED, {**WHOLE, "after": 300 * DAY}], [0, 0], [1, 0], [1, 0], "… and the next run is not in the trace"),
        ([PREEMPTED, {**WHOLE, "user": "bob"}], [0, 0], [0, 0], [0, 0], "by somebody else"),
        ([{**PREEMPTED, "user": None}, WHOLE], [0, 1], [1, 0], [1, 1], "a file that does not always name the user"),
        ([WHOLE, WHOLE], [0, 0], [0, 0], [0, 0], "slurmctld forgot its counter"),
        ([{"state": "FAILED"}, {**WHOLE, "after": 60}], [0, 0], [0, 0], [0, 0], "what failed for good"),
        ([REQUEUED, WHOLE, WHOLE], [0, 1, 0], [1, 0, 0], [1, 1, 0], "a chain ends where a run completed"),
        ([{**REQUEUED, "exit_code": 3}, {"state": "FAILED"}], [0, 1], [1, 0], [1, 1], "FAILED, and put back by hand"),
        ([{**REQUEUED, "array_job": 5, "array_task": 2}, {**WHOLE, "array_job": 5, "array_task": 2}],
            [0, 1], [1, 0], [1, 1], "a task of an array"),
        ([{**PREEMPTED, "het_job": 7, "het_offset": 0}, {**WHOLE, "het_job": 7, "het_offset": 0}],
            [0, 1], [1, 0], [1, 1], "a component of a het job"),
    ],
)  # fmt: skip
def test_a_run_is_a_piece_of_the_job_that_was_continued(
    rows: list[Run], continues: list[int], continued: list[int], checkpoint: list[int], why: str
) -> None:
    jobs = runs_of(*rows)
    assert pieces(jobs, "continues") == continues, why
    assert pieces(jobs, "continued") == continued, why
    assert pieces(jobs, "checkpoint") == checkpoint, why


def cron(state: str = "REQUEUED", minute: int = 0, **more: Any) -> Job:
    """A run of scrontab's, each minute; it ran for five seconds."""
    submit, start = MONDAY + 60 * minute + 5, MONDAY + 60 * (minute + 1)
    return job(7, **{"state": state, "submit_time": submit, "eligible_time": start, "start_time": start,
        "end_time": start + 5, "elapsed": 5, **more})  # fmt: skip


@pytest.mark.parametrize(
    ("jobs", "continues", "continued", "why"),
    [
        ([cron(minute=0), cron(minute=1), cron("COMPLETED", 2)], [0, 0, 0], [0, 0, 0], "Slurm says REQUEUED of each"),
        ([cron(minute=n, restarts=n) for n in range(3)], [0, 0, 0], [0, 0, 0], "and counts them as restarts"),
        ([cron("NODE_FAIL", 0), cron("COMPLETED", 1)], [0, 1], [1, 0], "its node failed"),
        ([cron(minute=1, restarts=1)], [1], [0], "Slurm calls it a restart, and the trace has no other run"),
        ([cron(submitted_by="scrontab"), cron(minute=1, submitted_by="scrontab")], [0, 0], [0, 0], "a site's own word"),
        ([cron(submitted_by="sbatch"), cron("COMPLETED", 1, submitted_by="sbatch")], [0, 1], [1, 0], "--begin"),
        (
            [cron(eligible_time=MONDAY + 5), cron("COMPLETED", 1)],
            [0, 1], [1, 0], "no line says who submitted it: it began at once, and its delay ended with a minute",
        ),
    ],
)  # fmt: skip
def test_runs_of_scrontab_are_jobs_of_their_own(
    jobs: list[Job], continues: list[int], continued: list[int], why: str
) -> None:
    assert pieces(jobs, "continues") == continues, why
    assert pieces(jobs, "continued") == continued, why


def test_a_piece_names_the_run_that_it_continues() -> None:
    jobs = runs_of(PREEMPTED, LOST, WHOLE, WHOLE)
    submits = [one.submit_time for one in jobs]
    assert pieces(jobs, "previous_submit") == [None, submits[0], submits[1], None]


def test_what_a_file_says_makes_no_piece_of_slurmdbds_run() -> None:
    first, last = runs_of({**LOST, "source": "text"}, WHOLE)
    assert pieces([first, last], "continues") == [0, 0]
    assert pieces(runs_of(*({**row, "source": "text"} for row in (LOST, WHOLE))), "continues") == [0, 1]


def test_a_run_that_cannot_be_continued_is_not_looked_up() -> None:
    """Its number is in no list: the look into the index of keys is for the few that are."""
    with closing(sqlite3.connect(":memory:")) as db:
        schema.lay_out(db)
        plan = " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN SELECT total(checkpoint) FROM run"))
    assert "put_back USING COVERING INDEX job_requeued" in plan, plan
    assert "USING INDEX job_key (cluster=? AND job_id_raw=? AND submit_time<?)" in plan
