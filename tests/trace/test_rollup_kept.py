"""The rollups of a real file: adminkit-ingest, import and the command keep them, and a crash leaves what was."""

from __future__ import annotations

import errno
import io
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

import pytest

from adminkit.errors import AdminkitError
from adminkit.ingest import rollups
from adminkit.ingest.files import Import, import_file, import_stream
from adminkit.trace import connect, rollup
from adminkit.trace.load import JobLoad
from adminkit.trace.transaction import transaction
from tests.bench import sample
from tests.support.builders import MONDAY, job, make_trace
from tests.support.rollups import COLUMNS, act, some_job, values


def checked(path: Path) -> tuple[int, int, int]:
    """(runs in the rollups, rows wrong, rows missing)."""
    with connect.reader(path) as db:
        return (rollup.size(db).runs, *rollup.check(db))


def test_an_import_by_the_helper_keeps_the_rollups_and_counts_as_without(tmp_path: Path) -> None:
    text, path = sample.write(tmp_path / "sacct.txt", 300), make_trace(tmp_path / "trace.db")
    with connect.writer(path) as db:
        rollup.rebuild(db, MONDAY)
    counts, _ = import_file(Import(text, path), MONDAY)
    assert (counts.new, counts.changed, checked(path)) == (300, 0, (300, 0, 0))
    changed = tmp_path / "later.txt"
    changed.write_text(text.read_text().replace("COMPLETED", "TIMEOUT"))
    states = text.read_text().count("COMPLETED")
    counts, _ = import_file(Import(changed, path), MONDAY)
    assert (counts.new, counts.changed, counts.unchanged) == (0, states, 300 - states)
    assert checked(path) == (300, 0, 0)


def test_a_writer_that_dies_leaves_rows_and_rollups_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    with connect.writer(path) as db:
        rollup.rebuild(db, MONDAY)
    text = sample.write(tmp_path / "sacct.txt", 50)
    import_file(Import(text, path), MONDAY)
    child = os.fork()
    if not child:
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA cache_size = 1")  # so that pages are in the log before the end
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE job SET state = 'FAILED'")
        os._exit(9)
    os.waitpid(child, 0)
    assert checked(path) == (50, 0, 0)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM job WHERE state = 'FAILED'").fetchone()[0] < 50


def test_rollups_of_another_version_are_not_read_and_are_made_anew(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "trace.db", [job(1), job(2)])
    with closing(sqlite3.connect(path)) as db:
        for name in (*rollup.NAMES, *FORMER):
            db.execute(f"DROP TABLE IF EXISTS {name}")
            db.execute(f"CREATE TABLE {name} (version, since)")
        db.execute("INSERT INTO rollup_kept VALUES (1, 0)")
        db.execute("CREATE TRIGGER rollup_update AFTER UPDATE ON job BEGIN INSERT INTO ended_day VALUES (1, 2); END")
        db.execute("UPDATE job SET state = 'FAILED'")
        assert not rollup.is_kept(db)
        db.commit()
    import_file(Import(sample.write(tmp_path / "sacct.txt", 20), path), MONDAY)
    rollups.rebuild(path, MONDAY)
    assert checked(path) == (22, 0, 0)
    with closing(sqlite3.connect(path)) as db:
        left = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        assert not left & set(FORMER) and left >= set(rollup.NAMES)


#: Tables of version 1 alone.
FORMER = ("ended_day", "rollup_queue")


class Broken(io.RawIOBase):
    """A text of which the end cannot be read. From Python 3.14 on what came before it waits in a buffer then."""

    def __init__(self, text: bytes) -> None:
        self.rest = text

    def read(self, size: int = -1) -> bytes:
        given, self.rest = self.rest[:size], self.rest[size:]
        if not given:
            raise OSError(errno.EIO, "a bad disk")
        return given


def test_an_import_that_dies_leaves_rows_sums_and_triggers_as_they_were(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "trace.db", [job(1), job(2)])
    rollups.rebuild(path, MONDAY)
    text = sample.write(tmp_path / "sacct.txt", 3000).read_bytes()
    with pytest.raises(AdminkitError, match=r"couldn't read the input: .*a bad disk"):
        import_stream(Import(None, path), cast(IO[bytes], Broken(text)), MONDAY)
    assert checked(path) == (2, 0, 0)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM rollup_kept").fetchone() == (1,)
        assert db.execute(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'job'"
        ).fetchone() == (3,)


def test_a_run_that_comes_and_changes_in_one_import_is_in_the_sums_once(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "trace.db", [job(1), job(2)])
    rollups.rebuild(path, MONDAY)
    text = sample.write(tmp_path / "sacct.txt", 200).read_text()
    head, *rows = text.splitlines(keepends=True)
    later = [row.replace("COMPLETED", "TIMEOUT").replace("account0", "x'; DROP TABLE job; --\u00e9") for row in rows]
    for number, given in enumerate(([*rows[:100], *later[50:150]], [*later, *rows, *rows])):
        twice = tmp_path / f"{number}.txt"
        twice.write_text(head + "".join(given))
        import_file(Import(twice, path), MONDAY)
        assert checked(path) == (2 + (150, 200)[number], 0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_the_sums_of_the_helper_are_those_of_sql(tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    path = make_trace(tmp_path / "trace.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rows = [some_job(pick) for _ in range(300)]
        for source in ("slurmdbd", "text"):
            with transaction(db):
                given = [values(replace(one, job_id_raw=n)) for n, one in enumerate(rows) if one.source == source]
                JobLoad(db, COLUMNS, source).put(given)
        rollups.rebuild(path, MONDAY)
        assert rollup.check(db) == (0, 0)
        kept = [db.execute(sql).fetchall() for sql in rollup.KEPT]
        rollup.rebuild(db, MONDAY)
        assert rollup.check(db) == (0, 0)
        again = [db.execute(sql).fetchall() for sql in rollup.KEPT]
        assert [set(rows) for rows in kept] == [set(rows) for rows in again]
        for _ in range(10):
            act(db, pick)
            assert rollup.check(db) == (0, 0)


def test_the_command_builds_checks_and_drops(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "trace.db")
    import_file(Import(sample.write(tmp_path / "sacct.txt", 20), path), MONDAY)

    def said(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "adminkit.cli.main", "trace", "rollups", "--db", str(path), *words],
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    assert said() == (0, f"{path}: no rollups\n")
    code, words = said("--rebuild")
    assert code == 0 and "20 runs that ended" in words
    assert said() == (0, words)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM ended_month WHERE (month, key) IN (SELECT month, key FROM ended_month LIMIT 1)")
    code, words = said()
    assert code == 1 and "0 rows wrong, 1 missing" in words
    assert said("--drop") == (0, f"{path}: no rollups\n")
