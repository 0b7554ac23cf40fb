"""Archived months are asked about where that is wanted; what slurmdbd says wins, and they are archived again."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.trace import connect
from tests.ingest.audit.trace_to_audit import DAY, NOW, ask, counts, forge
from tests.ingest.fake_slurm import FakeSlurm
from tests.support import archive
from tests.support.months import SETTINGS
from tests.support.sql import change, read

pytest.importorskip("duckdb")
#: A run of slurmdbd's of which the trace says something else.
WRITTEN_OVER = "UPDATE job SET elapsed = 100, time_limit = 100 WHERE job_id_raw = 50"


def moved(db: Path) -> int:
    """Archive everything that may leave. How many runs."""
    return sum(one.runs for one in archive.archive(db, before=NOW + 40 * DAY))


def shown(db: Path, sql: str) -> list[tuple[object, ...]]:
    with connect.reader(db) as trace:
        return trace.execute(sql).fetchall()


def test_archived_months_are_asked_about_only_where_that_is_wanted(slurm: FakeSlurm, db: Path) -> None:
    change(db, forge(), WRITTEN_OVER)
    runs = moved(db)
    assert runs > 90
    files = archive.rows(db)
    assert sum(counts(ask(slurm, db))) == 109 - runs
    assert counts(ask(slurm, db, archive=SETTINGS)) == (106, 1, 1, 0, 1)
    assert archive.rows(db) == files, "a look changes nothing"
    assert archive.is_archived(db) > 0


def test_what_slurmdbd_says_of_archived_runs_wins_and_they_are_archived_again(slurm: FakeSlurm, db: Path) -> None:
    change(db, forge(), WRITTEN_OVER)
    (right,) = [one for one in slurm.jobs if one["JobIDRaw"] == "50"]
    runs = moved(db)
    months = archive.is_archived(db)
    assert counts(ask(slurm, db, archive=SETTINGS, apply=True)) == (106, 1, 1, 0, 1)
    assert archive.is_archived(db) == months
    assert read(db, "SELECT count(*) FROM job") == [(109 - 1 - (runs - 1),)], "one was set aside"
    assert read(db, "SELECT count(*) FROM archive_back") == [(0,)]
    assert shown(db, "SELECT elapsed, audited FROM job WHERE job_id_raw = 50") == [
        (int(right["ElapsedRaw"]), "confirmed")
    ]
    assert shown(db, "SELECT count(*) FROM job WHERE job_id_raw = 990001") == [(0,)]
    assert read(db, "SELECT job_id_raw FROM job_aside ORDER BY 1") == [(50,), (990001,)]
    done = ask(slurm, db, archive=SETTINGS)
    assert (counts(done), done.before) == ((0, 0, 0, 0, 1), 107), "what was confirmed is kept in the files"
