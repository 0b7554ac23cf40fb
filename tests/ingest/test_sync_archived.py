"""Sync over a trace with archived months: they are compared with slurmdbd as all others are, and late rows win."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adminkit.trace import connect
from adminkit.trace.months import archived, place
from adminkit.trace.months.manifest import month_of
from tests.ingest.fake_slurm import FakeSlurm, job
from tests.ingest.trace_to_sync import DAY, HOUR, NOW, run
from tests.support import archive
from tests.support.sql import change

pytest.importorskip("duckdb")
WEEK = 7 * DAY + 60


def archived_by(db: Path, slurm: FakeSlurm, said: list[str], ends: list[int], **options: object) -> None:
    """Sync runs that ended then, and archive all of them."""
    slurm.jobs = [job(number, end) for number, end in enumerate(ends, 1)]
    run(slurm, db, said, since=NOW - 60 * DAY, **options)
    with connect.writer(db) as trace:
        trace.execute("UPDATE job SET restarts = NULL")
    moved = archive.archive(db, before=NOW + 40 * DAY)
    assert sum(one.runs for one in moved) == len(ends), moved
    change(db, f"UPDATE fact SET at = at - {WEEK} WHERE key = 'reconciled_weekly'")
    slurm.asked()


def shown(db: Path, sql: str = "SELECT job_id_raw, elapsed FROM run ORDER BY 1") -> list[tuple[object, ...]]:
    with connect.reader(db) as trace:
        return trace.execute(sql).fetchall()


def test_an_archived_month_that_is_as_slurmdbd_has_it_is_not_asked_for_again(
    slurm: FakeSlurm, db: Path, said: list[str]
) -> None:
    archived_by(db, slurm, said, [NOW - 30 * DAY, NOW - 20 * DAY])
    done = run(slurm, db, said)
    assert (done.reconciled, done.closed.new, done.closed.changed) == (0, 0, 0)
    with connect.reader(db, archive=False) as trace:
        assert trace.execute("SELECT count(*) FROM job").fetchone() == (0,), "all of them stay in their files"
        assert archived.back(trace) == []
    assert shown(db) == [(1, 600), (2, 600)]


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (lambda jobs, end: jobs.append(job(3, end + 60)), [(1, 600), (2, 600), (3, 600)]),
        (lambda jobs, end: jobs.__setitem__(0, job(1, end, ElapsedRaw="500")), [(1, 500), (2, 600)]),
    ],
    ids=["a new row", "a changed row"],
)
def test_rows_of_an_archived_month_that_come_or_change_late_are_found_and_win(
    slurm: FakeSlurm, db: Path, said: list[str], late: object, expected: list[tuple[int, int]]
) -> None:
    end = NOW - 30 * DAY
    archived_by(db, slurm, said, [end, NOW - 20 * DAY])
    late(slurm.jobs, end)  # type: ignore[operator]
    assert run(slurm, db, said).reconciled == 1
    assert shown(db) == expected
    change(db, f"UPDATE fact SET at = at - {WEEK} WHERE key = 'reconciled_weekly'")
    assert run(slurm, db, said).reconciled == 0, "and once"
    assert shown(db) == expected
    archive.archive(db, before=NOW + 40 * DAY)
    assert shown(db) == expected


def test_a_month_that_cannot_be_read_is_not_compared_and_this_is_said(
    slurm: FakeSlurm, db: Path, said: list[str]
) -> None:
    end = NOW - 30 * DAY
    archived_by(db, slurm, said, [end])
    shutil.rmtree(place.folder_of(db))
    slurm.jobs.append(job(2, NOW - 30 * DAY + HOUR))
    assert run(slurm, db, said).reconciled == 0
    assert any(f"alpha {month_of(end)}" in line and "was not compared with slurmdbd" in line for line in said), said
