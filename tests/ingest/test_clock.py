"""A host whose clock was wrong for a while: nothing is taken for answered that was not, and every reader says so."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.reports.status import status_report
from adminkit.slurm.cluster import parse_clock
from adminkit.stats.status import facts, passes
from adminkit.trace.connect import reader
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.ingest.trace_to_sync import DAY, HOUR, NOW, one, run

_REAL = time.time


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """By how many seconds this host's clock is ahead."""
    by = [0.0]
    monkeypatch.setattr(time, "time", lambda: _REAL() + by[0])
    yield by


def test_a_window_that_was_asked_for_by_a_fast_clock_is_asked_for_again(
    slurm: FakeSlurm, db: Path, said: list[str], ahead: list[float]
) -> None:
    """Slurm does not tell its time here, so the fast run cannot know; the next one does."""
    run(slurm, db, said, since=NOW - DAY)
    ahead[0] = 3 * DAY
    run(slurm, db, said)
    assert int(str(one(db, "SELECT max(until) FROM window"))) > NOW + 2 * DAY
    ahead[0] = 6 * HOUR  # sync stood still for six hours: more than the overlap
    slurm.jobs = [job(1, NOW + HOUR)]
    done = run(slurm, db, said)
    assert done.closed.new == 1, "the row came after the fast run, in a window that it had called answered"
    assert int(str(one(db, "SELECT max(until) FROM window"))) <= _REAL() + ahead[0]
    assert int(str(one(db, "SELECT max(asked_at) FROM window"))) <= _REAL() + ahead[0]
    assert any("in the future" in line for line in said)


def test_a_run_ends_at_slurmctlds_time_where_this_clock_is_ahead_of_it(
    slurm: FakeSlurm, db: Path, said: list[str], ahead: list[float]
) -> None:
    slurm.clock = NOW
    ahead[0] = 3 * DAY
    run(slurm, db, said, since=NOW - DAY)
    assert one(db, "SELECT max(until) FROM window") == NOW
    assert one(db, "SELECT max(asked_at) FROM window") == NOW
    assert any(re.search(r"clock is 72(\.\d)? h ahead of slurmctld's", line) for line in said), said


def test_a_clock_that_is_behind_is_said(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    slurm.clock = int(time.time()) + 2 * HOUR
    run(slurm, db, said, since=NOW - DAY)
    assert any("behind slurmctld's" in line for line in said)


def test_a_clock_before_the_trace_begins_changes_nothing(
    slurm: FakeSlurm, db: Path, said: list[str], ahead: list[float]
) -> None:
    """A host without a battery begins at 1970: cutting windows to its clock would leave none."""
    run(slurm, db, said, since=NOW - DAY)
    before = one(db, "SELECT group_concat(since || ' ' || until || ' ' || provisional) FROM window")
    ahead[0] = -float(NOW) + 60
    with pytest.raises(AdminkitError, match="this host's clock says 1970-01-01") as error:
        run(slurm, db, said)
    assert "set the clock" in error.value.hint
    assert one(db, "SELECT group_concat(since || ' ' || until || ' ' || provisional) FROM window") == before


def test_rounds_that_were_done_in_time_to_come_are_due(
    slurm: FakeSlurm, db: Path, said: list[str], ahead: list[float]
) -> None:
    run(slurm, db, said, since=NOW - DAY)
    ahead[0] = 3 * DAY
    run(slurm, db, said)
    run(slurm, db, said)
    ahead[0] = 0
    run(slurm, db, said)
    assert int(str(one(db, "SELECT max(at) FROM fact WHERE key LIKE 'reconciled%'"))) <= _REAL() + 1


def test_a_run_that_a_fast_snapshot_saw_is_looked_up_when_it_is_gone(
    slurm: FakeSlurm, db: Path, said: list[str], ahead: list[float]
) -> None:
    slurm.jobs = [job(1)]
    ahead[0] = 3 * DAY
    run(slurm, db, said, since=NOW - DAY)
    ahead[0] = 0
    slurm.jobs = []
    assert run(slurm, db, said).looked_up == 1


@pytest.mark.parametrize(
    ("windows", "reach", "gap", "to_come", "why"),
    [
        ([(-100, -10, -10)], -10, 0, None, "as it should be"),
        ([(-100, -10, -10), (-20, 999, 999)], -10, 0, 999, "the fast run counts for nothing"),
        ([(-20, 999, 999)], None, 0, 999, "nothing else is known"),
        ([(-100, 50, -10)], -10, 0, 50, "a window never ends after its run"),
        ([(-100, -60, -10), (-30, -5, -5), (-5, 999, 999)], -5, 30, 999, "a hole of thirty seconds is one still"),
    ],
)
def test_how_far_a_trace_reaches_is_told_by_the_runs_that_have_been(
    slurm: FakeSlurm, db: Path, said: list[str], windows: list[tuple[int, int, int]], reach: int | None, gap: int,
    to_come: int | None, why: str,
) -> None:  # fmt: skip
    run(slurm, db, said, since=NOW - DAY)
    with closing(sqlite3.connect(db)) as trace, trace:
        trace.execute("DELETE FROM window")
        trace.executemany(
            "INSERT INTO window VALUES ('alpha', 'job', ?, ?, 0, ?, 1.0, 0, 0, 0, 0, 0)",
            [tuple(NOW + at for at in window) for window in windows],
        )
    with reader(db) as trace:
        (found,) = passes(trace, NOW)
        report = status_report([found], [], facts(trace), "t.db")
    assert (found.until, found.gap_seconds) == (None if reach is None else NOW + reach, gap), why
    assert found.to_come == (None if to_come is None else NOW + to_come), why
    assert any("in the future" in note for note in report.meta.notes) == (to_come is not None)


def test_runs_that_ended_in_time_to_come_are_counted(slurm: FakeSlurm, db: Path, said: list[str]) -> None:
    """slurmctld's own clock was fast: its rows say when."""
    slurm.jobs = [job(1, NOW - 5 * HOUR), job(2)]
    run(slurm, db, said, since=NOW - DAY)
    with closing(sqlite3.connect(db)) as trace, trace:
        trace.execute("UPDATE job SET end_time = ? WHERE job_id_raw = 1", (NOW + DAY,))
    said.clear()
    run(slurm, db, said)
    with reader(db) as trace:
        (found,) = passes(trace, int(time.time()) + 1)
    assert found.ends_to_come == 1
    assert any("1 run ended in the future" in line for line in said), said


@pytest.mark.parametrize(
    ("text", "clock", "why"),
    [
        ("sdiag output at Thu Nov 26 22:20:05 2026 (1795731605)\n", 1_795_731_605, "every release"),
        ("sdiag output at 2026-11-26T22:20:05 (1795731605)\nServer thread count: 1\n", 1_795_731_605, "a format"),
        ("DBD Agent queue size: 0\n", None, "it does not say"),
        ("sdiag output at now\n", None, "no number"),
    ],
)
def test_slurmctlds_clock_is_read_from_sdiag(text: str, clock: int | None, why: str) -> None:
    assert parse_clock(text) == clock, why
