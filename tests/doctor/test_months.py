"""doctor says whether reports can read files of months, and how much of the trace these cover."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit.config import Config
from adminkit.doctor.months import months
from adminkit.sections import Months
from adminkit.trace.months import place
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.months import LATER, keep
from tests.support.others import gives_files_away

pytest.importorskip("duckdb")

DAY = 24 * HOUR
SETTINGS = replace(Config(), months=Months(least=2, threads=1))
JOBS = [job(1), job(2, end_time=MONDAY + 40 * DAY, start_time=MONDAY + 40 * DAY - 60, elapsed=60)]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace with two months that are over and have files."""
    path = make_trace(tmp_path / "t.db", JOBS)
    keep(path)
    return path


def run(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql)


def _cut(path: Path) -> None:
    next(place.folder_of(path).rglob("run.parquet")).write_bytes(b"PAR1")


def _link(path: Path) -> None:
    folder = place.folder_of(path)
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("change", "status", "found", "why"),
    [
        (lambda path: None, "ok", "2 of 2 months that are over have files, with 2 runs", "all is well"),
        (lambda path: run(path, "UPDATE job SET state = 'FAILED' WHERE job_id_raw = 1"), "ok",
         "1 of 2 months that are over have files, with 1 run; the next sync writes 1", "a late row made one stale"),
        (lambda path: run(path, "DELETE FROM month_file"), "warn",
         "0 of 2 months that are over have files, with 0 runs: reports read SQLite, and are slower", "none is written"),
        (_cut, "warn", "; 1 refused: ", "a file that is not what was written"),
        (lambda path: run(path, "UPDATE month_file SET shape = 'another'"), "warn",
         "; the files of 2 are of another release of adminkit", "an upgrade, and no sync since"),
        (lambda path: place.folder_of(path).chmod(0o2755), "warn", "has mode 2755", "anybody may read the files"),
        pytest.param(lambda path: os.chown(place.folder_of(path), 12345, -1), "warn", "belongs to uid 12345",
                     "somebody else's", marks=gives_files_away),
        (_link, "warn", "is not a folder", "a link in its place"),
    ],
)  # fmt: skip
def test_it_says_what_is_covered_and_what_is_wrong(
    trace: Path, change: Callable[[Path], None], status: str, found: str, why: str
) -> None:
    change(trace)
    (check,) = months(SETTINGS, trace, LATER)
    assert (check.name, check.status) == ("months", status), (why, check)
    assert found in check.found, why
    assert bool(check.hint) is (status != "ok")


@pytest.mark.parametrize(
    ("settings", "duckdb", "status", "found"),
    [
        (Months(keep=False), True, "ok", "not kept"),
        (Months(least=3), True, "ok", "the trace has fewer than 3 runs"),
        (Months(least=2), False, "warn", "DuckDB is not installed"),
    ],
)
def test_it_says_why_there_are_none(
    trace: Path, monkeypatch: pytest.MonkeyPatch, settings: Months, duckdb: bool, status: str, found: str
) -> None:
    monkeypatch.setattr("adminkit.trace.months.duck.is_there", lambda: duckdb)
    (check,) = months(replace(Config(), months=settings), trace, LATER)
    assert check.status == status and found in check.found


def test_it_says_nothing_where_there_is_no_trace(tmp_path: Path) -> None:
    assert list(months(SETTINGS, tmp_path / "none.db", LATER)) == []
