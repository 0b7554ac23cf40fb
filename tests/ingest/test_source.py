"""Sync, its rounds and the audit on a source that is not sacct: no such program is there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adminkit import journal
from adminkit.ingest.audit import audit
from adminkit.ingest.sources.base import SourceFailed
from adminkit.ingest.sync import sync
from adminkit.ingest.sync_run import Options, Summary
from tests.ingest.fake_slurm import FakeSlurm
from tests.ingest.rows_source import Book, Row
from tests.support.sql import change, read

HOUR, DAY = 3600, 86_400
NOW = int(time.time())


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Book]:
    slurm = FakeSlurm(tmp_path / "slurm", monkeypatch)
    slurm.write()
    (tmp_path / "slurm" / "bin" / "sacct").unlink()
    journal.close()
    yield Book()
    journal.close()


def run(book: Book, db: Path, since: int | None = None, said: list[str] | None = None, **options: object) -> Summary:
    book.asked.clear()
    chosen = {"steps": False, "steps_pause": 0.0, **options}
    talk = (said if said is not None else []).append
    return sync(Options(db, since=since, **chosen), [], talk, opener=book.open)[0]  # type: ignore[arg-type]


def test_sync_stores_closed_and_open_runs_and_names_the_source(book: Book, db: Path) -> None:
    book.rows = [Row(1, NOW - HOUR), Row(2, NOW - 2 * HOUR, "TIMEOUT"), Row(3), Row(4, NOW - HOUR, "GONE")]
    done = run(book, db, since=NOW - DAY)
    assert (done.closed.new, done.open.new, done.revoked) == (2, 1, 1)
    assert read(db, "SELECT job_id_raw, state, user, elapsed, time_limit, source FROM job ORDER BY 1") == [
        (1, "COMPLETED", "ada", 600, 7200, "slurmdbd"),
        (2, "TIMEOUT", "ada", 600, 7200, "slurmdbd"),
        (3, "RUNNING", "ada", 600, 7200, "slurmdbd"),
    ]
    assert read(db, "SELECT seen_open IS NOT NULL FROM job ORDER BY job_id_raw") == [(0,), (0,), (1,)]
    assert read(db, "SELECT kind, source FROM load") == [("sync", "rows")]
    assert run(book, db).closed.new == 0
    assert not list(db.parent.glob(".*spool*"))


def test_a_run_that_left_the_snapshot_is_looked_up_by_its_id(book: Book, db: Path) -> None:
    book.rows = [Row(1, submit=NOW - 50 * DAY), Row(2)]
    run(book, db, since=NOW - DAY)
    time.sleep(1.1)  # the next snapshot is another moment
    book.rows = [Row(1, NOW - 40 * DAY, submit=NOW - 50 * DAY), Row(2)]
    assert run(book, db).looked_up == 1
    assert ("lookup", "job", (1,)) in [(how, part, ids) for how, part, _, _, ids in book.asked]
    assert read(db, "SELECT end_time FROM job WHERE job_id_raw = 1") == [(NOW - 40 * DAY,)]


@pytest.mark.parametrize(
    ("widest", "unreachable", "rows", "why"),
    [
        (2 * HOUR, False, 20, "asked for in smaller windows"),
        (0, False, None, "the narrowest window gets no answer either"),
        (DAY, True, None, "asking for less would not help"),
    ],
)
def test_a_source_that_fails_is_asked_for_less_or_given_up(
    book: Book, db: Path, monkeypatch: pytest.MonkeyPatch, widest: int, unreachable: bool, rows: int | None, why: str
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    book.rows = [Row(n, NOW - DAY + n * HOUR) for n in range(1, 21)]
    book.fails, book.unreachable = lambda window: window.width > widest, unreachable
    said: list[str] = []
    if rows is None:
        with pytest.raises(SourceFailed, match="the book is shut"):
            run(book, db, since=NOW - DAY)
        assert book.asked[-1][0] == "stop", why
        assert (len(book.asked) <= 3) is unreachable, why
    else:
        assert run(book, db, since=NOW - DAY, said=said).closed.new == rows, why
        assert "the book is shut; asking for less" in said


def test_the_days_round_compares_digests_and_asks_for_what_differs(book: Book, db: Path) -> None:
    book.rows = [Row(1, NOW - 40 * HOUR)]
    run(book, db, since=NOW - 3 * DAY, steps=True)
    late = Row(2, NOW - 41 * HOUR)
    book.rows += [late, Row(2, late.end, step="batch", submit=late.submitted, worked="00:01:40")]
    change(db, f"UPDATE fact SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
    assert run(book, db, steps=True).reconciled == 1
    assert read(db, "SELECT cpu_time FROM job WHERE job_id_raw = 2") == [(100.0,)]
    change(db, f"UPDATE fact SET at = at - {DAY + 60} WHERE key = 'reconciled_daily'")
    assert run(book, db, steps=True).reconciled == 0
    assert any(how == "digest" for how, *_ in book.asked)


@pytest.mark.parametrize(("backlog", "provisional"), [(0, False), (7, True), (None, True)])
def test_windows_are_settled_where_nothing_is_on_its_way(
    book: Book, db: Path, backlog: int | None, provisional: bool
) -> None:
    book.backlog = backlog
    assert bool(run(book, db, since=NOW - DAY).provisional) is provisional


def test_a_restart_puts_the_last_two_days_in_doubt(book: Book, db: Path) -> None:
    book.started_at = NOW - 100 * DAY
    run(book, db, since=NOW - 10 * DAY)
    book.started_at, book.rows = NOW - DAY, [Row(1, NOW - 40 * HOUR)]
    assert run(book, db).closed.new == 1


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize(
    ("stray", "name", "reason"),
    [
        (Row(7, NOW - HOUR, cluster="beta"), "7", "not the value that was asked for"),
        (Row(7, NOW - 5 * DAY), "7", "outside the range that was asked for"),
        (Row(7), "7", "required, but unknown"),
        (Row(7, NOW - HOUR, step="batch"), "7.batch", "a step, although only jobs were asked for"),
    ],
)
def test_a_record_that_was_not_asked_for_is_refused_and_named(
    book: Book, db: Path, capsys: pytest.CaptureFixture[str], sealed: bool, stray: Row, name: str, reason: str
) -> None:
    book.rows, book.strays, book.sealed = [Row(1, NOW - HOUR)], [stray], sealed
    assert run(book, db, since=NOW - 2 * HOUR).closed.new == 1
    refused = [line for line in capsys.readouterr().err.splitlines() if line.startswith("refused records")]
    assert len(refused) == 1 and f"job {name} of ada" in refused[0] and reason in refused[0]
    assert read(db, "SELECT DISTINCT source FROM rejected") == [("rows alpha",)]
    assert read(db, "SELECT job_id_raw FROM job") == [(1,)]


def test_records_of_owners_are_asked_for_by_themselves_where_the_source_says_so(book: Book, db: Path) -> None:
    book.claims_apart = True
    book.rows = [Row(1, NOW - HOUR, record="ak1:lim=600,src=e"), Row(2, record="ak1:lim=60,src=e")]
    run(book, db, since=NOW - DAY)
    stated = [(600, "stated"), (60, "stated")]
    assert read(db, "SELECT limit_original, limit_source FROM job ORDER BY job_id_raw") == stated
    assert {how for how, part, *_ in book.asked if part == "claims"} == {"closed", "open"}


def test_an_audit_confirms_contradicts_and_denies(book: Book, db: Path) -> None:
    book.rows = [Row(n, NOW - 5 * DAY + n * HOUR) for n in range(1, 50)] + [Row(60)]
    run(book, db, since=NOW - 10 * DAY)
    change(db, "UPDATE job SET elapsed = 5, fingerprint = 1 WHERE job_id_raw = 7")
    change(
        db,
        "INSERT INTO job (cluster, job_id_raw, submit_time, source, job_id, user, uid, state, start_time, end_time,"
        f" elapsed) VALUES ('alpha', 99, {NOW - 3 * DAY}, 'slurmdbd', '99', 'eve', 9, 'COMPLETED',"
        f" {NOW - 3 * DAY + 1}, {NOW - 3 * DAY + 50}, 49)",
    )
    (done,) = audit(Options(db, steps=False), [], lambda _: None, apply=True, opener=book.open)
    assert done.counts == {"confirmed": 48, "contradicted": 1, "unknown": 1, "beyond": 0, "open": 1}
    assert read(db, "SELECT why, job_id_raw FROM job_aside ORDER BY 2") == [("contradicted", 7), ("unknown", 99)]
    assert read(db, "SELECT elapsed FROM job WHERE job_id_raw = 7") == [(600,)]
    assert read(db, "SELECT source FROM load WHERE kind = 'audit'") == [("rows",)]


def test_an_audit_whose_source_goes_away_sets_nothing_aside(book: Book, db: Path) -> None:
    book.rows = [Row(n, NOW - 5 * DAY + n * HOUR) for n in range(1, 50)]
    run(book, db, since=NOW - 10 * DAY)
    book.unreachable, book.rows = True, []
    with pytest.raises(SourceFailed):
        audit(Options(db, steps=False), [], lambda _: None, apply=True, opener=book.open)
    assert read(db, "SELECT count(*) FROM job_aside") == [(0,)]
