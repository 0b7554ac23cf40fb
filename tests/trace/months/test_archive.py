"""Months that are archived are read as if they were not, and nothing that happens to a trace loses a row of them."""

from __future__ import annotations

import errno
import os
import random
import secrets
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.doctor.archive import archived as archived_check
from adminkit.trace import connect, sight
from adminkit.trace.load import JobLoad, StepLoad
from adminkit.trace.months import archived, door, duck, late, manifest, move, place
from adminkit.trace.transaction import transaction
from tests.support import archive
from tests.support.builders import MONDAY, job, make_trace
from tests.support.months import DAY, SETTINGS, keep, rows_of
from tests.support.others import OWNER, gives_files_away

pytest.importorskip("duckdb")


@pytest.fixture
def ids(monkeypatch: pytest.MonkeyPatch) -> random.Random:
    """Random ids are the same ones for two traces to which the same happens."""
    pick = random.Random()
    monkeypatch.setattr(secrets, "token_hex", lambda size=8: f"{pick.getrandbits(8 * size):0{2 * size}x}")
    return pick


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 30))])
def test_whatever_happens_readers_see_what_they_see_without_an_archive(
    tmp_path: Path, ids: random.Random, seed: int
) -> None:
    """Two traces, to which the same happens; months of one of them are archived, come back, and have files."""
    plain, moved = make_trace(tmp_path / "plain.db"), make_trace(tmp_path / "moved.db")
    pick, months = random.Random(seed), 0
    for number in range(10):
        for path in (plain, moved):
            act = random.Random(f"{seed} {number}")
            with connect.writer(path) as db:
                for turn in range(3):
                    ids.seed(f"{seed} {number} {turn}")  # writing a month takes ids too
                    archive.act(db, path, act)
        what = pick.choice(("archive", "archive", "some", "restore", "keep", ""))
        if what in ("archive", "some"):
            done = archive.archive(moved, None if what == "archive" else 2)
            assert [one.why for one in done if one.why] == []
        elif what == "restore":
            archive.restore(moved, pick.choice((None, 1, 2)))
        elif what == "keep":
            keep(moved, archive.END)
        months += archive.is_archived(moved)
        assert archive.rows(moved) == archive.rows(plain), (seed, number, what)
        assert rows_of(moved, files=True) == rows_of(plain, files=False), (seed, number, what)
    assert months, "no month was archived"
    assert archive.reports(moved) == archive.reports(plain)
    archive.restore(moved)
    assert archive.rows(moved, ("main.job", "main.step")) == archive.rows(plain, ("main.job", "main.step"))


# what is lost, late, old or killed

#: The months of the trace of these tests.
MONTHS = ("2025-12", "2026-01", "2026-02")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A trace with ten runs in each of MONTHS, two of which are archived."""
    days = (-20, 5, 40)
    runs = [
        job(number, submit_time=MONDAY + days[number % 3] * DAY, start_time=None, user=f"user{number}", elapsed=60,
            end_time=MONDAY + days[number % 3] * DAY + 60, gpus=0, qos="normal") for number in range(30)
    ]  # fmt: skip
    made = make_trace(tmp_path / "trace.db", runs)
    assert [(one.month, one.runs, one.why) for one in archive.archive(made, 2)] == [(m, 10, None) for m in MONTHS[:2]]
    return made


def file_of(path: Path, month: str = MONTHS[0], name: str = archived.RUNS) -> Path:
    return place.folder_of(path).joinpath(*place.file_of("aaic", month, name))


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (damage, "does not hold what was written"),
        (lambda file: os.truncate(file, file.stat().st_size - 9), "bytes, and"),
        (lambda file: shutil.copy(file.parent.parent / f"month={MONTHS[1]}" / file.name, file), "written"),
        (lambda file: (file.unlink(), os.mkfifo(file)), "not a plain file"),
        (lambda file: (file.rename(file.with_name("x")), file.symlink_to("x")), "a link stands in its place"),
        (lambda file: file.unlink(), "it is missing"),
        pytest.param(lambda file: os.chown(file, OWNER, -1), "belongs to uid", marks=gives_files_away),
    ],
)
def test_a_file_that_is_not_what_was_written_is_refused_by_name_and_later_periods_are_read(
    path: Path, harm: Callable[[Path], object], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    later, usual = ["--since", "2026-02-01"], ["report", "users", "--db", str(path), "--format", "json"]
    assert main([*usual, *later]) == 0
    right = capsys.readouterr().out
    harm(file_of(path))
    assert main(usual) == 1
    said = capsys.readouterr().err
    assert why in said and str(file_of(path)) in said and "restore the file from a backup" in said
    assert main([*usual, *later]) == 0
    assert capsys.readouterr().out == right
    assert main(["trace", "months", "--db", str(path)]) == 0
    assert why in capsys.readouterr().out
    assert [one for one in archived_check(path) if one.status == "missing" and why in one.found]
    assert main(["trace", "unarchive", "--db", str(path), "--apply"]) == 1
    with connect.reader(path, archive=False) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (10,)


def test_where_the_folder_of_the_months_is_missing_the_months_are_named(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An export is refused and leaves nothing; an import works, and says which rows it could not merge."""
    place.folder_of(path).rename(tmp_path / "elsewhere")
    target = tmp_path / "export"
    assert main(["export", str(target), "--db", str(path)]) == 1
    said = capsys.readouterr().err
    assert f"{place.folder_of(path)} is missing" in said and f"aaic {', '.join(MONTHS[:2])}" in said
    assert "restore the folder from a backup" in said and not target.exists()
    for number, submit in ((100, MONDAY + 60 * DAY), (0, MONDAY - 20 * DAY)):
        text = tmp_path / f"{number}.txt"
        text.write_text(
            "JobID|JobIDRaw|Cluster|Submit|Start|End|State|ElapsedRaw\n"
            f"{number or 1000}|{number or 1000}|aaic|{submit}|{submit}|{submit + 90}|FAILED|90\n"
        )
        assert main(["import", str(text), "--db", str(path), "--timezone", "UTC"]) == 0
        said = capsys.readouterr().err
        assert (", ".join(MONTHS[:2]) in said and "late rows are not merged" in said) == (number == 0), said
    with connect.reader(path, archive=False) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (12,)
    (tmp_path / "elsewhere").rename(place.folder_of(path))
    with connect.writer(path):
        pass
    assert len(archive.rows(path)[0]) == 32
    assert main(["export", str(target), "--db", str(path)]) == 0


def test_without_duckdb_archived_months_are_refused_and_later_periods_are_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(duck, "is_there", lambda: False)
    usual = ["report", "users", "--db", str(path)]
    assert main(usual) == 1
    assert "DuckDB is not installed" in capsys.readouterr().err
    assert main([*usual, "--since", "2026-02-01"]) == 0


def test_a_late_row_is_merged_into_the_archived_one_and_the_others_stay(path: Path) -> None:
    """What the late row does not know is kept; a step that comes alone brings its run back."""
    run = archive.rows(path, ("job",))[0]
    with connect.writer(path) as db, transaction(db):
        late = JobLoad(db, ("cluster", "job_id_raw", "submit_time", "state", "end_time"), "slurmdbd")
        late.put([("aaic", 0, MONDAY - 20 * DAY, "FAILED", MONDAY - 20 * DAY + 90)])
        step = StepLoad(db, ("cluster", "job_id_raw", "submit_time", "step"), "slurmdbd")
        step.put([("aaic", 1, MONDAY + 5 * DAY, "batch")])
    with connect.reader(path, archive=False) as db:
        found = db.execute("SELECT job_id_raw, state, end_time - submit_time, user, qos FROM job WHERE job_id_raw < 2")
        assert found.fetchall() == [(0, "FAILED", 90, "user0", "normal"), (1, "COMPLETED", 60, "user1", "normal")]
        assert db.execute("SELECT job_id_raw, settled FROM archive_back").fetchall() == [(0, 1), (1, 1)]
    after = archive.rows(path, ("job", "step"))
    assert len(after[0]) == 30 and len(set(after[0]) - set(run)) == 1 and len(after[1]) == 1
    archive.archive(path, 2)
    assert archive.rows(path, ("job", "step")) == after
    with connect.reader(path, archive=False) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (10,)


def test_what_another_release_archived_is_read_and_archived_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files lack a column of today's, and what it derived is not believed."""
    right = archive.rows(path)
    with connect.writer(path) as db:
        db.execute("ALTER TABLE job ADD COLUMN later INTEGER NOT NULL DEFAULT 7")
        db.execute("UPDATE archived SET shape = 'another'")
    assert [len(one) for one in archive.rows(path)] == [len(one) for one in right]
    with connect.reader(path) as db:
        assert set(db.execute("SELECT later, count(*) FROM job GROUP BY 1")) == {(7, 30)}
        assert not door.reads_files(db, [], "FROM run", {})
        assert archived.stale(db) == [("aaic", month) for month in MONTHS[:2]]
    with connect.writer(path) as db:
        assert [one.why for one in move.archive(db, path, SETTINGS, archived.stale(db))] == [None, None]
    with connect.reader(path) as db:
        assert archived.stale(db) == [] and door.reads_files(db, [], "FROM run", {})
        assert set(db.execute("SELECT later, count(*) FROM job GROUP BY 1")) == {(7, 30)}


def test_a_month_that_changes_while_it_is_archived_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = archive.rows(path)

    def changed(*given: object) -> set[tuple[int, int]]:
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("UPDATE job SET state = 'FAILED' WHERE job_id_raw = 2")
        return set()

    monkeypatch.setattr(move, "_compare", changed)
    assert [one.why is None for one in archive.archive(path)] == [False]
    assert archive.is_archived(path) == 2 and not file_of(path, MONTHS[2]).exists()
    assert len(set(archive.rows(path)[0]) - set(right[0])) == 1


def test_texts_that_parquet_would_change_stay_in_sqlite(path: Path) -> None:
    with connect.writer(path) as db:
        db.execute("UPDATE job SET job_name = CAST(x'ff41' AS TEXT) WHERE job_id_raw = 2")
        db.execute("UPDATE job SET job_name = 'a' || char(0) || '日本' WHERE job_id_raw = 5")
    assert [(one.runs, one.stay, one.why) for one in archive.archive(path)] == [(9, 1, None)]
    with connect.reader(path) as db:
        assert db.execute("SELECT count(*) FROM job WHERE CAST(job_name AS BLOB) = x'ff41'").fetchone() == (1,)
        assert db.execute("SELECT length(CAST(job_name AS BLOB)) FROM job WHERE job_id_raw = 5").fetchone() == (8,)


def test_a_full_disk_leaves_the_month_in_sqlite(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = archive.rows(path)

    def full(*given: object) -> object:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(move, "put", full)
    assert [one.why for one in archive.archive(path)] == ["no space left on device"]
    assert archive.rows(path) == right
    assert not file_of(path, MONTHS[2]).exists() and list(place.folder_of(path).glob(".scratch/*")) == []


def test_a_snapshot_has_what_is_archived_and_needs_no_other_file(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "copy.db"
    copy.parent.mkdir()
    assert main(["trace", "snapshot", str(copy), "--db", str(path)]) == 0
    assert archive.rows(copy) == archive.rows(path)
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (30,)


def test_nothing_is_readable_of_whom_was_forgotten(path: Path) -> None:
    old = {file: file.read_bytes() for file in place.folder_of(path).rglob("*.parquet")}
    assert main(["trace", "forget", "user3", "--db", str(path), "--apply"]) == 0
    assert "user3" not in "".join(archive.rows(path)[0]) and archive.is_archived(path) == 2
    assert len(archive.rows(path)[0]) == 30
    here = [file.read_bytes() for file in path.parent.rglob("*") if file.is_file()]
    assert not any(data in here for file, data in old.items() if MONTHS[0] in str(file) and file.stat().st_size > 900)


def test_users_see_their_own_archived_jobs_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect.reader(path, of="user3") as db:
        assert db.execute("SELECT user FROM job").fetchall() == db.execute("SELECT user FROM run").fetchall()
        assert db.execute("SELECT user FROM run").fetchall() == [("user3",)]
    monkeypatch.setattr(connect, "sees_others", lambda path: False)
    monkeypatch.setattr(sight, "name_of", lambda uid: "user3")
    with connect.reader(path) as db:
        assert db.execute("SELECT user FROM trace").fetchall() == [("user3",)]
        assert db.execute(f"SELECT count(*) FROM {sight.everybodys(db, 'job')}").fetchone() == (30,)
        assert db.execute("SELECT count(*) FROM archived").fetchone() == (0,)


def test_an_archived_month_is_shown_as_of_another_day(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert main(["trace", "snapshot", str(copy), "--db", str(path)]) == 0
    for at in (MONDAY - 20 * DAY + 30, MONDAY, MONDAY + 40 * DAY + 30):
        with connect.reader(path, at) as ours, connect.reader(copy, at) as plain:
            for table in ("job", "run", "step"):
                found = [sorted(map(repr, db.execute(f"SELECT * FROM {table}"))) for db in (ours, plain)]
                assert found[0] == found[1], (at, table)


def test_a_typed_select_reads_both_sides_and_no_table_of_the_archive(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["sql", "--db", str(path), "--format", "json"]
    assert main([*typed, "SELECT count(*) AS n FROM run"]) == 0
    assert '"n": 30' in capsys.readouterr().out
    assert main([*typed, "SELECT * FROM archived"]) == 2


def test_a_filter_is_pushed_down_to_both_sides(path: Path) -> None:
    """EXPLAIN says how: by the index of ends on each side, and by the key of the step's run."""
    with connect.reader(path) as db:
        ends = db.execute("EXPLAIN QUERY PLAN SELECT user FROM job WHERE end_time >= 5 AND end_time < 9").fetchall()
        lines = " ".join(row[3] for row in ends)
        assert "USING INDEX job_end (end_time>? AND end_time<?)" in lines
        assert "USING INDEX archived_job_end (end_time>? AND end_time<?)" in lines
        assert "SCAN job" not in lines and "SCAN a " not in lines
        runs = db.execute("EXPLAIN QUERY PLAN SELECT req_limit FROM run WHERE end_time >= 5").fetchall()
        lines = " ".join(row[3] for row in runs)
        assert "USING INDEX job_end (end_time>?)" in lines and "USING INDEX archived_job_end (end_time>?)" in lines


def test_only_the_months_of_a_window_are_read(path: Path) -> None:
    with connect.reader(path) as db:
        for since, months in ((MONDAY + 30 * DAY, []), (MONDAY, [MONTHS[1]]), (0, [*MONTHS[:2]])):
            db.execute("SELECT user FROM job WHERE end_time >= :since", {"since": since}).fetchall()
            assert [m for (m,) in db.execute("SELECT month FROM temp.archive_read ORDER BY 1")] == months


# killed at any statement


def _archived(path: Path) -> None:
    with connect.writer(path) as db:
        move.archive(db, path, SETTINGS, [manifest.Month("aaic", month) for month in MONTHS])


def _restored(path: Path) -> None:
    with connect.writer(path) as db:
        move.restore(db, path, move.overlapping(db, None, None))


def _forgotten(path: Path) -> None:
    assert main(["trace", "forget", "user3", "--db", str(path), "--apply"]) == 0


def killed(path: Path, do: Callable[[Path], None], pick: random.Random) -> bool:
    """Do it in a child, which dies at a random statement. Whether it did."""
    statements = iter(range(1 << 30))
    last = int(10 ** pick.uniform(0, 2.6))

    def watched(db: sqlite3.Connection, *given: Any) -> None:
        db.set_trace_callback(lambda _: next(statements) < last or os.kill(os.getpid(), signal.SIGKILL))

    child = os.fork()
    if child == 0:
        try:
            settle = late.settle
            late.settle = lambda db, trace: (watched(db), settle(db, trace))[1]  # a writer's first act
            with Path(os.devnull).open("w") as quiet:
                os.dup2(quiet.fileno(), 1)
                os.dup2(quiet.fileno(), 2)
            do(path)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize(
    "kills", [pytest.param(4, id="a few"), pytest.param(100, id="a hundred", marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("do", [_archived, _restored, _forgotten])
def test_a_kill_at_any_statement_loses_and_doubles_nothing(
    path: Path, tmp_path: Path, do: Callable[[Path], None], kills: int
) -> None:
    """The same command again completes it, and no file is left that the trace has no row for."""
    right, pick, died = archive.rows(path, ("job", "step", "run")), random.Random(kills), 0
    folder = tmp_path / "again"
    for _ in range(kills):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        copy = Path(shutil.copy(path, folder))
        shutil.copytree(place.folder_of(path), place.folder_of(copy))
        died += killed(copy, do, pick)
        if do is not _forgotten:
            assert archive.rows(copy, ("job", "step", "run")) == right
        assert len(archive.rows(copy, ("job",))[0]) == 30
        do(copy)
        after = archive.rows(copy, ("job", "step", "run"))
        if do is _forgotten:
            assert len(after[0]) == 30 and "user3'" not in "".join(after[0])
        else:
            assert after == right
        there = set(place.folder_of(copy).rglob("*.parquet"))
        with connect.reader(copy, archive=False) as db:
            files = {place.folder_of(copy).joinpath(*place.file_of(*one)) for one in archived.kept(db)}
            whole = [*manifest.files(db), *manifest.files(db, "step"), *archived.files(db)]
        assert there <= files
        assert {place.folder_of(copy).joinpath(*place.file_of(*one[:3])) for one in whole} <= there
    assert died, "it was never killed"
