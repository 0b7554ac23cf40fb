"""adminkit-ingest and its database: statements, parameters, one transaction, and what it says when it cannot."""

from __future__ import annotations

import itertools
import json
import os
import select
import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adminkit
from adminkit.ingest.spec import KINDS
from tests.native import helper

UPSERT = (
    "INSERT INTO t VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE name IS NOT excluded.name"
)
REJECT = "INSERT INTO bad VALUES (?1, ?2, ?3, ?4)"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return helper.table(tmp_path / "t.db", "id INTEGER NOT NULL", "name TEXT", key="id")


def test_the_kinds_are_those_of_the_python_side() -> None:
    said = json.loads(helper.run(b"", "--kinds").out)
    assert {kind: tuple(outputs) for kind, outputs in said.items()} == KINDS


def test_it_says_its_version() -> None:
    out = helper.run(b"", "--version").out
    assert out.startswith("adminkit-ingest ")
    if "ADMINKIT_INGEST" not in os.environ:
        assert out.startswith(f"adminkit-ingest {adminkit.__version__} ")


def test_help_names_every_option_it_takes() -> None:
    text = helper.run(b"", "--help").out
    for option in (
        *(
            "--db",
            "--columns",
            "--sql",
            "--step-sql",
            "--same-sql",
            "--same-step-sql",
            "--insert-sql",
            "--insert-step-sql",
            "--reject-sql",
            "--bind",
            "--before",
            "--after",
            "--delimiter",
        ),
        *("--ends", "--comment", "--surplus", "--timezone", "--first-line", "--fresh", "--progress", "--parse-only"),
        *("--dump", "--packed", "--hold", "--kinds", "--version", "--gentle"),
    ):
        assert option in text


def test_rows_are_new_changed_or_unchanged(db: Path) -> None:
    args = ("--db", db, "--columns", "int!,text", "--sql", UPSERT)
    first = helper.run(b"1|a\n2|b\n", *args)
    again = helper.run(b"1|a\n2|c\n3|d\n3|d\n", *args)
    assert helper.rows(db) == [(1, "a"), (2, "c"), (3, "d")]
    assert {k: first.counts[k] for k in ("rows", "new", "changed", "unchanged")} == {
        "rows": 2, "new": 2, "changed": 0, "unchanged": 0,
    }  # fmt: skip
    assert {k: again.counts[k] for k in ("rows", "new", "changed", "unchanged")} == {
        "rows": 4, "new": 1, "changed": 1, "unchanged": 2,
    }  # fmt: skip


def test_bound_values_come_after_the_outputs_and_text_stays_text(tmp_path: Path) -> None:
    path = helper.table(tmp_path / "t.db", "a", "b", "c")
    ran = helper.run(
        b"7|1.5|x\n", "--db", path, "--columns", "int,real,skip", "--sql", "INSERT INTO t VALUES (?1, ?4, ?3)",
        "--bind", "one", "--bind", "2",
    )  # fmt: skip
    assert ran.code == 0
    assert helper.rows(path) == [(7, "2", "one")]


def test_a_job_with_its_steps_in_one_pass(tmp_path: Path) -> None:
    path = helper.table(tmp_path / "t.db", "id", "step", "submit", key="id, step")
    sql = "INSERT INTO t VALUES (?1, ?6, ?8) ON CONFLICT DO UPDATE SET submit = excluded.submit WHERE 0"
    data = b"7|50\n7.batch|60\n7.0|70\n8|80\n7.1|90\n"
    args = ("--db", path, "--columns", "jobid!,time!^", "--reject-sql", REJECT, "--bind", "src")
    both = helper.run(data, *args, "--sql", sql, "--step-sql", sql)
    assert helper.rows(path) == [("7", None, 50), ("7", "batch", 50), ("7", "0", 50), ("8", None, 80)]
    assert helper.rows(path, "SELECT * FROM bad") == [
        (5, "a step that does not follow its job's row", b"7.1|90", "src")
    ]
    counts = {k: both.counts[k] for k in ("rows", "new", "steps_rows", "steps_new", "rejected", "skipped")}
    assert counts == {"rows": 5, "new": 2, "steps_rows": 2, "steps_new": 2, "rejected": 1, "skipped": 0}


@pytest.mark.parametrize(
    ("option", "skipped", "found", "why"),
    [
        ("--sql", 2, [("7", None, 50), ("8", None, 80)], "steps are passed over, whatever is in them"),
        ("--step-sql", 2, [("7", "batch", 50), ("7", "0", 50)], "jobs too, but their steps still inherit from them"),
    ],
)
def test_what_has_no_statement_is_skipped(
    tmp_path: Path, option: str, skipped: int, found: list[tuple[object, ...]], why: str
) -> None:
    path = helper.table(tmp_path / "t.db", "id", "step", "submit")
    data = b"7|50|1\n7.batch|60|2\n7.0|70|3\n8|80|junk\n".replace(b"junk", b"4" if option == "--sql" else b"junk")
    ran = helper.run(data, "--db", path, "--columns", "jobid!,time!^,int", option, "INSERT INTO t VALUES (?1, ?6, ?8)")
    assert (ran.code, ran.counts["skipped"], ran.counts["rejected"]) == (0, skipped, 0), why
    assert helper.rows(path) == found


def test_what_cannot_be_read_goes_to_its_own_statement_with_line_and_bytes(db: Path) -> None:
    data = b"1|a\nx|b\n\nbroken\n2|" + b"\xff" * 70000 + b"\0\n"
    ran = helper.run(
        data, "--db", db, "--columns", "int!,text", "--sql", UPSERT, "--reject-sql", REJECT, "--bind", "src",
        "--first-line", "2",
    )  # fmt: skip
    assert ran.counts["rejected"] == 3
    assert helper.rows(db, "SELECT line, reason, length(raw), source FROM bad") == [
        (3, "column 1 (int): malformed", 3, "src"),
        (5, "columns: 1, expected: 2", 6, "src"),
        (6, "NUL byte", 65536, "src"),
    ]


def test_a_row_that_breaks_a_rule_of_the_table_is_rejected_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (a INTEGER NOT NULL, b INTEGER CHECK (b < 10)) STRICT")
        db.execute("CREATE TABLE bad (line, reason, raw, source)")
    ran = helper.run(
        b"1|1\n|2\n3|x\n4|11\n5|5\n", "--db", path, "--columns", "int,text", "--sql", "INSERT INTO t VALUES (?1, ?2)",
        "--reject-sql", REJECT, "--bind", "s",
    )  # fmt: skip
    assert (ran.code, ran.counts["new"], ran.counts["rejected"]) == (0, 2, 3)
    assert helper.rows(path) == [(1, 1), (5, 5)]
    assert [reason for (reason,) in helper.rows(path, "SELECT reason FROM bad")] == [
        "database: NOT NULL constraint failed: t.a",
        "database: cannot store TEXT value in INTEGER column t.b",
        "database: CHECK constraint failed: b < 10",
    ]


def test_a_step_whose_job_the_table_refused_is_refused_too(tmp_path: Path) -> None:
    """Otherwise it would be kept under a run that is not there."""
    path = helper.table(tmp_path / "t.db", "id UNIQUE", "at")
    ran = helper.run(
        b"7|50\n7|60\n7.0|70\n", "--db", path, "--columns", "jobid!,time!^",
        "--sql", "INSERT INTO t VALUES (?1, ?8)", "--step-sql", "INSERT INTO t VALUES (?6, ?8)",
    )  # fmt: skip
    assert helper.rows(path) == [("7", 50)]
    assert (ran.counts["new"], ran.counts["steps_rows"], ran.counts["rejected"]) == (1, 0, 2)


def test_a_row_that_is_stored_just_so_is_only_looked_for(tmp_path: Path) -> None:
    """The statement would say so for every row it sees; after the first unchanged one it sees none."""
    path = helper.table(tmp_path / "t.db", "id", "name", "print", "tries DEFAULT 0", key="id")
    upsert = (
        "INSERT INTO t VALUES (?1, ?2, ?4, 0) ON CONFLICT DO UPDATE SET name = excluded.name, print = excluded.print"
        " WHERE name IS NOT excluded.name"
    )
    same = "SELECT 1 FROM t WHERE id = ?1 AND print = ?4"
    args = ("--db", path, "--columns", "int,text", "--bind", "x", "--sql", upsert, "--same-sql", same)
    data = b"1|a\n2|b\n3|c\n"
    assert helper.run(data, *args).counts["new"] == 3
    assert len({row[2] for row in helper.rows(path)}) == 3

    with closing(sqlite3.connect(path)) as db:  # from now on the upsert fails, and must not be needed
        db.execute("CREATE TRIGGER no BEFORE INSERT ON t WHEN new.id > 1 BEGIN SELECT raise(ABORT, 'upsert'); END")
    again = helper.run(data, *args)
    assert (again.counts["unchanged"], again.counts["rejected"]) == (3, 0)

    changed = helper.run(b"1|a\n2|B\n", *args)
    assert (changed.counts["unchanged"], changed.counts["rejected"]) == (1, 1), "another text is no longer the same"
    other = helper.run(b"1|a|\n2|b|\n", *args, "--ends")
    assert (other.counts["unchanged"], other.counts["rejected"]) == (1, 1), "nor the same text, read another way"


def test_steps_are_looked_for_too(tmp_path: Path) -> None:
    path = helper.table(tmp_path / "t.db", "id", "step", "submit", "print", key="id, step")
    sql = "INSERT INTO t VALUES (?1, ifnull(?6, ''), ?8, ?9) ON CONFLICT DO UPDATE SET print = print WHERE 0"
    same = "SELECT 1 FROM t WHERE id = ?1 AND step = ifnull(?6, '') AND print = ?9"
    args = ("--db", path, "--columns", "jobid!,time!^", "--sql", sql, "--step-sql", sql)
    data = b"7|50\n7.batch|60\n7.0|70\n7.1|80\n"
    assert helper.run(data, *args).counts["steps_new"] == 3
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON t WHEN new.step <> '' BEGIN SELECT raise(ABORT, 'step'); END")
    again = helper.run(data, *args, "--same-sql", same, "--same-step-sql", same).counts
    assert (again["unchanged"], again["steps_rows"], again["steps_changed"], again["rejected"]) == (1, 3, 0, 0)


def test_a_run_of_new_rows_is_only_inserted(tmp_path: Path) -> None:
    """The upsert cannot even be prepared while the key is away, and is not needed; a second row 2 needs it."""
    path = helper.table(tmp_path / "t.db", "id", "name")
    upsert = "INSERT INTO t VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET name = excluded.name"
    args = ("--db", path, "--columns", "int,text", "--sql", upsert)
    insert = ("--insert-sql", "INSERT INTO t VALUES (?1, ?2) ON CONFLICT DO NOTHING")
    key = ("--after", "CREATE UNIQUE INDEX key ON t (id)")
    assert helper.run(b"1|a\n", *args).code == 1, "there is no key"

    assert helper.run(b"1|a\n2|b\n2|c\n", *args, *insert, *key).code == 1, "the key finds two of one"
    assert helper.rows(path) == [], "and nothing is committed"
    assert helper.run(b"1|a\n2|b\n", *args, *insert, *key).counts["new"] == 2

    ran = helper.run(b"3|c\n2|B\n4|d\n5|e\n1|A\n", *args, *insert)
    assert (ran.counts["new"], ran.counts["changed"], ran.counts["rejected"]) == (3, 2, 0), "with the key: either way"
    assert helper.rows(path) == [(1, "A"), (2, "B"), (3, "c"), (4, "d"), (5, "e")]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "a", "b", "x" * 32, "x" * 33]), st.booleans())))
def test_what_a_row_before_has_bound_never_shows(rows: list[tuple[int, str, bool]]) -> None:
    """Parameters keep their values between rows: any run of texts, numbers and NULLs comes out as it went in."""
    data = "".join(f"{n}|{text}|{n if known else ''}\n" for n, text, known in rows).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = helper.table(Path(folder) / "t.db", "id", "name", "maybe")
        ran = helper.run(data, "--db", path, "--columns", "int,text,int", "--sql", "INSERT INTO t VALUES (?1, ?2, ?3)")
        expected = [(n, text or None, n if known else None) for n, text, known in rows]
        assert (ran.code, helper.rows(path, "SELECT * FROM t ORDER BY rowid")) == (0, expected)


def test_before_and_after_are_part_of_the_transaction_and_know_the_counts(db: Path) -> None:
    ran = helper.run(
        b"1|a\n2|b\nx|c\n", "--db", db, "--columns", "int!,text", "--sql", UPSERT, "--bind", "one", "--bind", "two",
        "--before", "CREATE TABLE seen (rows, new, rejected, bytes, bind, quick); -- a comment\n",
        "--after", "INSERT INTO seen VALUES (:rows, :new, :rejected, :bytes, :bind2, :seconds < 60);"
        "INSERT INTO seen (bind) VALUES (:bind1)",
    )  # fmt: skip
    assert ran.code == 0, ran.error
    assert helper.rows(db, "SELECT * FROM seen") == [(3, 2, 1, 12, "two", 1), (None, None, None, None, "one", None)]


@pytest.mark.parametrize(
    ("args", "error", "why"),
    [
        (["--after", "INSERT INTO nowhere VALUES (1)"], "--after: no such table: nowhere", "its own table is missing"),
        (["--after", "SELECT :colour"], "--before or --after: nothing to bind to :colour", "no such count"),
        (["--after", "SELECT :bind1"], "--before or --after: nothing to bind to :bind1", "no --bind"),
        (["--before", "SELECT :rows"], "--before or --after: nothing to bind to :rows", "nothing counted yet"),
        (["--reject-sql", "INSERT INTO bad VALUES (?1, ?2, ?3, ?4)"], "--reject-sql wants ?4, but there are 3", ""),
        (["--step-sql", "INSERT INTO t VALUES (?1, ?9)"], "--step-sql wants ?9, but there are 3", "too many"),
        (["--step-sql", "DELETE FROM t; DELETE FROM bad"], "--step-sql: not one statement", "two"),
        (["--step-sql", " "], "--step-sql: not one statement", "none"),
        (["--step-sql", "INSERT INTO nowhere VALUES (1)"], "--step-sql: no such table: nowhere", "not a table"),
        (["--reject-sql", "INSERT INTO bad SELECT abs(-9223372036854775808), 1, 1, 1"], "--reject-sql: integer", ""),
    ],
)
def test_a_failure_leaves_nothing_behind_and_says_what_it_was(db: Path, args: list[str], error: str, why: str) -> None:
    ran = helper.run(b"1|a\nbroken\n", "--db", db, "--columns", "int!,text", "--sql", UPSERT, *args)
    assert ran.code == 1, why
    assert ran.error.startswith(f"error: {error}"), why
    assert "\n" not in ran.error
    assert helper.rows(db) == []


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ([], "--columns is missing (--help explains)"),
        (["--columns", "int"], "--db is missing (--help explains)"),
        (["--hold"], "--db is missing (--help explains)"),
        (["--columns", "int,integer", "--dump"], "column 2 has an unknown kind: integer"),
        (["--columns", ",".join(["int"] * 257), "--dump"], "more than 256 columns"),
        (["--columns", ",".join(["tres"] * 150), "--dump"], "more than 1024 outputs"),
        (["--columns", "jobid,jobid", "--dump"], "columns 1 and 2 are both a jobid"),
        (["--colums", "int"], "no such option: --colums (--help lists them)"),
        (["--columns"], "--columns needs a value"),
        (["--columns", "int", "--surplus", "keep"], "--surplus: invalid value: keep"),
        (["--columns", "int", "--first-line", "-1"], "--first-line: invalid value: -1"),
        (["--columns", "int", "--delimiter", "x" * 17], f"--delimiter: invalid value: {'x' * 17}"),
        (["--columns", "int", "--dump", "--delimiter", ""], "the delimiter is empty"),
        (["--columns", "int", "--dump", "--timezone", "Mars/Olympus"], "no such time zone: Mars/Olympus"),
        (["--columns", "int", "--dump", "--timezone", "../zoneinfo/UTC"], "no such time zone: ../zoneinfo/UTC"),
        (["--columns", "int", "--db", "/nowhere/t.db"], "/nowhere/t.db: unable to open database file"),
    ],
)
def test_what_cannot_be_meant_is_one_line(args: list[str], error: str) -> None:
    ran = helper.run(b"1\n", *args)
    assert (ran.code, ran.out) == (1, "")
    assert ran.error.startswith(f"error: {error}")
    assert "\n" not in ran.error


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.db").write_bytes(b"words, many of them, more than a header has" * 30)
    ran = helper.run(b"1\n", "--db", tmp_path / "t.db", "--columns", "int", "--sql", "SELECT 1")
    assert (ran.code, ran.error) == (1, f"error: {tmp_path / 't.db'}: file is not a database")


def test_input_that_breaks_off_with_an_error_is_not_committed(db: Path) -> None:
    """A directory can be opened but not read."""
    folder = os.open(db.parent, os.O_RDONLY)
    done = subprocess.run(
        [helper.program(), "--db", db, "--columns", "int,text", "--sql", UPSERT],
        stdin=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    os.close(folder)
    assert (done.returncode, done.stderr) == (1, "error: couldn't read standard input: Is a directory\n")


def test_a_killed_run_leaves_nothing(db: Path) -> None:
    """It is fed until it says how far it is, however fast it reads; then it is in the middle."""
    with subprocess.Popen(
        [helper.program(), "--db", db, "--columns", "int,text", "--sql", UPSERT, "--progress"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdin and process.stderr
        try:
            for start in itertools.count(step=1000):
                process.stdin.write(b"".join(b"%d|x\n" % number for number in range(start, start + 1000)))
                if select.select([process.stderr], [], [], 0)[0]:
                    break
            assert json.loads(process.stderr.readline())["rows"] > 0
        finally:
            process.kill()
    assert helper.rows(db) == []
    assert helper.run(b"1|a\n", "--db", db, "--columns", "int,text", "--sql", UPSERT).counts["new"] == 1


def test_the_lock_is_taken_with_the_first_byte_not_before(db: Path) -> None:
    """sacct may think for minutes; other writers need not wait for that."""
    process = subprocess.Popen(
        [helper.program(), "--db", db, "--columns", "int,text", "--sql", UPSERT],
        stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin
    try:
        with closing(sqlite3.connect(db, isolation_level=None, timeout=0)) as other:
            for _ in range(20):
                other.execute("INSERT OR REPLACE INTO t VALUES (9, 'other')")
                time.sleep(0.01)
            process.stdin.write(b"1|a\n")
            process.stdin.flush()
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                for _ in range(500):
                    other.execute("INSERT OR REPLACE INTO t VALUES (9, 'other')")
                    time.sleep(0.01)
        process.stdin.close()
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
    assert helper.rows(db) == [(9, "other"), (1, "a")]


def test_progress_is_said_as_json_lines_and_the_last_one_is_done(db: Path) -> None:
    data = b"".join(b"%d|%s\n" % (number, b"x" * 60) for number in range(400000))
    done = subprocess.run(
        [helper.program(), "--db", db, "--columns", "int,text", "--sql", UPSERT, "--progress"],
        input=data, capture_output=True, check=True,
    )  # fmt: skip
    said = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["done"] for line in said] == [False] * (len(said) - 1) + [True]
    assert [line["rows"] for line in said] == sorted(line["rows"] for line in said)
    assert (said[-1]["rows"], said[-1]["new"], said[-1]["bytes"]) == (400000, 400000, len(data))


def test_the_wal_files_stay_for_readers_of_the_group(db: Path) -> None:
    helper.run(b"1|a\n", "--db", db, "--columns", "int,text", "--sql", UPSERT)
    assert {path.name for path in db.parent.iterdir()} == {"t.db", "t.db-wal", "t.db-shm"}


def test_hold_keeps_them_while_python_writes(db: Path) -> None:
    holder = subprocess.Popen([helper.program(), "--hold", "--db", db], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin and holder.stdout
    assert holder.stdout.readline() == b"held\n"
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("INSERT INTO t VALUES (1, 'a')")
    holder.stdin.close()
    holder.stdout.close()
    assert holder.wait() == 0
    assert {path.name for path in db.parent.iterdir()} == {"t.db", "t.db-wal", "t.db-shm"}


def test_a_fresh_database_is_built_without_journal_and_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (id INTEGER NOT NULL, name TEXT, UNIQUE (id))")
    data = b"".join(b"%d|name %d\n" % (number, number) for number in range(50000))
    ran = helper.run(data, "--fresh", "--db", path, "--columns", "int!,text", "--sql", UPSERT)
    assert (ran.code, ran.counts["new"]) == (0, 50000)
    assert {p.name for p in tmp_path.iterdir()} == {"new.db"}
    assert helper.rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert helper.rows(path, "SELECT count(*), max(name) FROM t") == [(50000, "name 9999")]


def test_a_full_disk_is_said_and_rolls_back(db: Path) -> None:
    """max_page_count stands in for a disk: SQLite answers SQLITE_FULL."""
    data = b"".join(b"%d|%s\n" % (number, b"x" * 500) for number in range(20000))
    ran = helper.run(
        data, "--db", db, "--columns", "int,text", "--sql", UPSERT, "--before", "PRAGMA max_page_count = 200"
    )
    assert (ran.code, ran.error) == (1, "error: database: database or disk is full")
    assert helper.rows(db) == []


def test_the_same_bytes_give_the_same_rows_from_a_file_and_from_a_slow_pipe(db: Path) -> None:
    data = "".join(f"{n}|{'ä' * (n % 7)}\n" for n in range(300)).encode()
    expected, _ = helper.dump(data, "int,free")
    process = subprocess.Popen(
        [helper.program(), "--dump", "--columns", "int,free"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin and process.stdout
    for at in range(0, len(data), 7):
        process.stdin.write(data[at : at + 7])
        process.stdin.flush()
    process.stdin.close()
    assert [json.loads(line) for line in process.stdout] == expected
    process.stdout.close()
    assert process.wait() == 0


def test_dump_fails_where_its_output_cannot_be_written() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [helper.program(), "--dump", "--columns", "int"], input=b"1\n" * 10, stdout=full, stderr=subprocess.PIPE,
            check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"error: couldn't write standard output\n")
