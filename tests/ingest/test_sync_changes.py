"""What a source that can tell adds to sync's windows: runs that were changed later, runs that cannot be spelt yet, and
what was purged."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adminkit import journal
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
    journal.close()
    yield Book(tells_changes=True)
    journal.close()


def run(book: Book, db: Path, since: int | None = None, said: list[str] | None = None, **options: object) -> Summary:
    book.asked.clear()
    chosen = {"steps": False, "steps_pause": 0.0, **options}
    talk = (said if said is not None else []).append
    return sync(Options(db, since=since, **chosen), [], talk, opener=book.open)[0]  # type: ignore[arg-type]


def asked(book: Book, how: str, part: str = "job") -> list[tuple[int, int]]:
    return [(since, until) for name, which, since, until, _ in book.asked if name == how and part in (which, "any")]


def test_a_run_that_is_changed_long_after_its_window_was_read_comes_with_the_next_sync(book: Book, db: Path) -> None:
    book.rows = [Row(1, NOW - 40 * DAY), Row(2, NOW - 20 * DAY), Row(3, NOW - HOUR)]
    run(book, db, since=NOW - 60 * DAY)
    assert not asked(book, "changed", ""), "the first sync has just read everything"
    book.rows[0] = replace(book.rows[0], state="FAILED", changed_at=int(time.time()))
    assert run(book, db).closed.changed == 1
    assert read(db, "SELECT state FROM job WHERE job_id_raw = 1") == [("FAILED",)]
    hour = (NOW - 40 * DAY) // HOUR * HOUR
    old = [window for window in asked(book, "closed") if window[0] < NOW - 3 * HOUR]
    assert old == [(hour, hour + HOUR)], "besides the last two hours, nothing but its hour"
    assert run(book, db).closed.changed == 0


def test_a_step_that_comes_late_is_stored_when_its_run_was_changed(book: Book, db: Path) -> None:
    book.rows = [Row(1, NOW - 40 * DAY)]
    run(book, db, since=NOW - 60 * DAY, steps=True)
    book.rows = [replace(book.rows[0], changed_at=int(time.time())), Row(1, NOW - 40 * DAY, step="0", worked="00:07")]
    run(book, db, steps=True)
    assert read(db, "SELECT step FROM step") == [("0",)]
    assert read(db, "SELECT cpu_time FROM job") == [(7.0,)]


def test_a_step_that_comes_late_is_found_by_the_daily_comparison(book: Book, db: Path) -> None:
    end = NOW - 30 * HOUR
    book.rows = [Row(1, end), Row(1, end, step="batch")]
    run(book, db, since=NOW - 3 * DAY, steps=True)
    change(db, "UPDATE fact SET at = at - 90000 WHERE key = 'reconciled_daily'")
    run(book, db, steps=True)
    assert read(db, "SELECT step FROM step") == [("batch",)]
    book.rows.append(Row(1, end, step="0", worked="00:07"))
    run(book, db, steps=True)
    assert read(db, "SELECT step FROM step") == [("batch",)], "not within the day"
    change(db, "UPDATE fact SET at = at - 90000 WHERE key = 'reconciled_daily'")
    run(book, db, steps=True)
    assert read(db, "SELECT step FROM step ORDER BY 1") == [("0",), ("batch",)]
    assert read(db, "SELECT count(*) FROM fact WHERE key LIKE 'steps differ%'") == [(0,)]


def test_runs_that_the_windows_have_just_read_are_not_asked_for_again(book: Book, db: Path) -> None:
    book.rows = [Row(n, NOW - 2 * DAY + n * HOUR, changed_at=NOW - 2 * DAY + n * HOUR) for n in range(48)]
    run(book, db, since=NOW - 5 * DAY)
    change(
        db, "UPDATE window SET until = until - 90000, since = min(since, until - 90001), asked_at = asked_at - 90000"
    )
    change(db, f"UPDATE fact SET at = at - 90000, value = '0' WHERE key = 'changed runs' AND {NOW}")
    run(book, db)
    spans = asked(book, "closed")
    assert all(later[0] >= earlier[1] for earlier, later in zip(sorted(spans), sorted(spans)[1:], strict=False))


def test_the_question_rests_for_a_hundred_times_as_long_as_it_took(book: Book, db: Path) -> None:
    book.rows = [Row(1, NOW - 40 * DAY)]
    run(book, db, since=NOW - 60 * DAY)
    run(book, db)
    assert asked(book, "changed", "")
    now = int(time.time())
    change(db, f"UPDATE fact SET value = '60', at = {now - 3000} WHERE key = 'changed runs'")
    run(book, db)
    assert not asked(book, "changed", "")
    change(db, f"UPDATE fact SET at = {now - 6001} WHERE key = 'changed runs'")
    run(book, db)
    [(since, _)] = asked(book, "changed", "")
    assert since == now - 6001 - 2 * HOUR, "what the last one may have missed: clocks, a replica that is behind"


def test_changes_of_many_hours_are_read_by_days(book: Book, db: Path) -> None:
    book.rows = [Row(n, NOW - 40 * DAY + n * 2 * HOUR) for n in range(240)]
    run(book, db, since=NOW - 60 * DAY)
    book.rows = [replace(row, state="FAILED", changed_at=int(time.time())) for row in book.rows]
    assert run(book, db).closed.changed == 240
    assert len(asked(book, "closed")) < 60


def test_a_question_that_fails_is_asked_again(book: Book, db: Path) -> None:
    book.rows = [Row(1, NOW - 40 * DAY)]
    run(book, db, since=NOW - 60 * DAY)
    book.rows[0] = replace(book.rows[0], state="FAILED", changed_at=int(time.time()))
    said: list[str] = []
    book.fails = lambda window: any(how == "changed" for how, *_ in book.asked)
    assert run(book, db, said=said).closed.changed == 0
    assert any("changed later" in line for line in said)
    book.fails = lambda window: False
    assert run(book, db).closed.changed == 1


def test_a_window_with_a_run_that_cannot_be_spelt_yet_stays_open(book: Book, db: Path) -> None:
    book.rows, book.unspelt = [Row(1, NOW - 2 * DAY), Row(2, NOW - 2 * DAY)], {2}
    said: list[str] = []
    done = run(book, db, since=NOW - 3 * DAY, said=said)
    assert (done.closed.new, done.provisional) == (1, 1)
    assert any("no word yet" in line for line in said)
    book.unspelt = set()
    assert run(book, db).closed.new == 1
    assert read(db, "SELECT count(*) FROM window WHERE provisional") == [(0,)]


@pytest.mark.parametrize(
    ("kept", "said", "why"),
    [
        ((NOW - 30 * DAY, NOW - 30 * DAY), ["no runs that ended before"], "runs are missing"),
        ((NOW - 90 * DAY, NOW - 10 * DAY), ["no steps of runs"], "steps are kept for a shorter time"),
        ((NOW - 30 * DAY, NOW - 10 * DAY), ["no runs that ended before", "no steps of runs"], "both"),
        ((NOW - 90 * DAY, NOW - 90 * DAY), [], "it has more than the trace"),
        (None, [], "it has no runs, or cannot tell"),
    ],
)
def test_what_was_purged_is_said_once(
    kept: tuple[int, int] | None, said: list[str], why: str, book: Book, db: Path
) -> None:
    book.kept_since, heard = kept, list[str]()
    run(book, db, since=NOW - 60 * DAY, said=heard, steps=True)
    lines = [line for line in heard if "slurmdbd has no" in line]
    assert len(lines) == len(said), why
    assert all(words in line for words, line in zip(said, lines, strict=True)), why
    heard.clear()
    run(book, db, said=heard, steps=True)
    assert not [line for line in heard if "slurmdbd has no" in line]
