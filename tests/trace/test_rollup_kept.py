"""The rollups of a real file: adminkit-ingest, import and the command keep them, and a crash leaves what was."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from adminkit.ingest.files import Import, import_file
from adminkit.trace import connect, rollup
from tests.bench import sample
from tests.support.builders import MONDAY, make_trace


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
        db.execute("DELETE FROM occupied_hour WHERE rowid = 1")
    code, words = said()
    assert code == 1 and "0 rows wrong, 1 missing" in words
    assert said("--drop") == (0, f"{path}: no rollups\n")
