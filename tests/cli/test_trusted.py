"""`adminkit import --trusted`: shown first, done when told to, and in the trace's records ever after."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.test_import import HEADER, jobs, line, run

TWO = "\n".join([HEADER, line(1), line(2), "x|no|row"]) + "\n"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "trace.db"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "old.txt"
    path.write_text(TWO)
    return path


def test_it_is_shown_first_and_nothing_is_written(db: Path, text: Path) -> None:
    done = run(db, text, "--trusted", "--max-rejected", "1")
    assert done.stdout == "read 3, new 2, changed 0, unchanged 0, rejected 1\n"
    assert "nothing was written; --apply vouches for 2 runs of 0 users on alpha" in done.stderr
    assert "points, letters and hints then follow from them" in done.stderr
    assert not db.exists()


def test_with_apply_the_rows_are_trusted_and_it_is_written_down_by_whom(db: Path, text: Path) -> None:
    run(db, text, "--max-rejected", "1")
    assert jobs(db, "DISTINCT source, audited") == [("text", None)]
    done = run(db, text, "--trusted", "--apply", "--max-rejected", "1")
    assert done.stdout.startswith("read 3, new 0, changed 2,"), "an import without the word made them before"
    assert jobs(db, "DISTINCT source") == [("trusted",)]
    with closing(sqlite3.connect(db)) as trace:
        kinds = trace.execute("SELECT kind, source, rows FROM load ORDER BY id").fetchall()
        what, act = trace.execute("SELECT what, line FROM action").fetchone()
    assert kinds == [("import", str(text), 3), ("import --trusted", str(text), 3)]
    assert what == "import trusted" and json.loads(act)["source"] == str(text) and json.loads(act)["changed"] == 2


def test_an_import_afterwards_takes_nothing_back(db: Path, text: Path) -> None:
    run(db, text, "--trusted", "--apply", "--max-rejected", "1")
    text.write_text(f"{HEADER}\n{line(1, State='TIMEOUT')}\n")
    assert run(db, text).stdout == "read 1, new 0, changed 0, unchanged 1, rejected 0\n"
    assert jobs(db, "state, source")[0] == ("COMPLETED", "trusted")


@pytest.mark.parametrize("words", [(), ("--apply",)])
def test_from_a_pipe_as_json(db: Path, words: tuple[str, ...]) -> None:
    done = run(db, "-", "--trusted", *words, "--max-rejected", "1", "--format", "json", stdin=TWO.encode())
    assert json.loads(done.stdout)["meta"]["applied"] is bool(words)
    assert db.exists() is bool(words)


def test_apply_alone_is_answered(db: Path, text: Path) -> None:
    assert "--apply needs --trusted" in run(db, text, "--apply", code=2).stderr


def test_swf_is_vouched_for_too(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.swf"
    path.write_text("; Version: 2.2\n; UnixStartTime: 1500000000\n1 0 5 600 4 -1 -1 4 900 -1 1 3 1 1 1 1 -1 -1\n")
    run(db, path, "--cluster", "kth")
    assert jobs(db, "source") == [("swf",)]
    run(db, path, "--cluster", "kth", "--trusted", "--apply")
    assert jobs(db, "source") == [("trusted",)]
