"""adminkit sql: what is answered, what is refused, and whose jobs an answer has."""

from __future__ import annotations

import json
import os
import pwd
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from adminkit.cli import sql as command
from adminkit.cli.main import main
from adminkit.stats.jobs import COLUMNS
from adminkit.trace.exposed import READABLE
from adminkit.trace.typed import Answer, TooLong, answer, typed
from tests.support.builders import HOUR, MONDAY, add_letters, job, letter, make_trace
from tests.support.others import OUTSIDE, OWNER, READER, as_user

HOSTILE = "\x1b[2J\u202e<script>|=cmd()"
ENDLESS = "WITH RECURSIVE c AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM c) SELECT {} FROM c"

becomes_others = pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")

Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    jobs = [job(1), job(2, elapsed=2 * HOUR), job(3, queue=HOSTILE), job(4, queue=None, user="bob")]
    return add_letters(make_trace(tmp_path / "trace.db", jobs), [letter(1)])


@pytest.fixture
def told(trace: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """told(*words): the exit code of `adminkit sql`, and what it wrote to stdout and stderr."""

    def ask(*words: str) -> tuple[int, str, str]:
        code = main(["sql", *words, "--db", str(trace)])
        return code, *capsys.readouterr()

    return ask


def rows(told: Told, *words: str) -> Any:
    code, out, err = told(*words, "-f", "json")
    assert (code, err) == (0, "")
    return json.loads(out)["rows"]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT count(*) AS jobs FROM run", [{"jobs": 4}]),
        ("select user, sum(elapsed) from run where req_limit > 0 group by 1 order by 1",
         [{"user": "ada", "sum(elapsed)": 4 * HOUR}, {"user": "bob", "sum(elapsed)": HOUR}]),
        ("WITH some AS (SELECT * FROM run WHERE user = 'bob') SELECT count(*) AS n FROM some", [{"n": 1}]),
        ("VALUES (1, NULL)", [{"column1": 1, "column2": None}]),
        ("SELECT class FROM main.run LIMIT 1", [{"class": "single-gpu"}]),
        ("SELECT 1 AS a, 2 AS a, 'x' AS b", [{"a": 1, "a:2": 2, "b": "x"}]),
        ("SELECT x'00ff' AS b, 9e999 AS i, -9e999 AS j", [{"b": "x'00ff'", "i": "Inf", "j": "-Inf"}]),
        ("SELECT CAST(x'ff' AS TEXT) AS t", [{"t": "\ufffd"}]),
        ("SELECT 9223372036854775807 AS big, 0.1 AS small", [{"big": 2**63 - 1, "small": 0.1}]),
        ("SELECT count(*) AS n FROM step", [{"n": 0}]),
        ("SELECT 1 AS a WHERE FALSE", []),
        ("SELECT 1 AS a; -- and no more", [{"a": 1}]),
    ],
)  # fmt: skip
def test_a_select_is_answered(told: Told, statement: str, expected: list[dict[str, Any]]) -> None:
    assert rows(told, statement) == expected


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("INSERT INTO job SELECT * FROM job", "a write"),
        ("WITH x AS (SELECT 1) DELETE FROM job", "a write in disguise"),
        ("UPDATE job SET user = 'me'", "a write"),
        ("REPLACE INTO job SELECT * FROM job", "a write"),
        ("DROP TABLE job", "a write"),
        ("CREATE TEMP TABLE x (a)", "a table of its own"),
        ("CREATE TEMP VIEW run AS SELECT 1", "what stands before a table"),
        ("CREATE TABLE x (a)", "a table"),
        ("ALTER TABLE job RENAME TO x", "the schema"),
        ("VACUUM INTO '/tmp/x'", "a copy of everything"),
        ("VACUUM", "a rewrite"),
        ("REINDEX", "a rewrite"),
        ("ANALYZE", "a write"),
        ("ATTACH '/etc/passwd' AS x", "another file"),
        ("ATTACH ':memory:' AS x", "a place to write"),
        ("DETACH main", "the trace"),
        ("BEGIN", "a transaction that would stay open"),
        ("SAVEPOINT x", "another"),
        ("ROLLBACK", "the end of one"),
        ("PRAGMA query_only = 0", "what keeps it read-only"),
        ("PRAGMA table_info(run)", "any PRAGMA"),
        ("PRAGMA writable_schema = 1", "the schema"),
        ("PRAGMA temp_store_directory = '/etc'", "where files go"),
        ("SELECT * FROM pragma_database_list", "a PRAGMA as a table"),
        ("SELECT count(*) FROM pragma_table_list", "how many it has"),
        ("SELECT * FROM dbstat", "pages"),
        ("SELECT count(*) FROM dbstat", "how many pages"),
        ("SELECT * FROM sqlite_dbpage", "pages as bytes"),
        ("SELECT load_extension('/tmp/x.so')", "code"),
        ("SELECT readfile('/etc/passwd')", "a file"),
        ("SELECT writefile('/tmp/x', 'y')", "a file"),
        ("SELECT fts3_tokenizer('simple', x'00')", "a pointer"),
        ("SELECT adminkit_columns('t', user) FROM run", "what adminkit reads columns with"),
        ("SELECT * FROM read_csv('/etc/passwd')", "another engine's"),
        ("COPY job TO '/tmp/x'", "another engine's"),
        ("INSTALL httpfs", "another engine's"),
        ("SELECT * FROM '/etc/passwd'", "another engine's"),
        ("SELECT address FROM outbox", "letters"),
        ("SELECT count(*) FROM main.OUTBOX", "how many letters"),
        ("SELECT count(*) FROM \"outbox\"", "the same, quoted"),
        ("WITH outbox AS (SELECT 1 AS x) SELECT address FROM main.outbox", "the same, behind a name"),
        ("WITH job AS (SELECT * FROM outbox) SELECT * FROM job", "under another name"),
        ("SELECT (SELECT raw FROM rejected)", "lines that could not be read"),
        ("SELECT line FROM action", "who did what"),
        ("SELECT value FROM fact", "adminkit's own notes"),
        ("SELECT * FROM job_aside", "what an audit took out"),
        ("SELECT * FROM ledger", "charges"),
        ("SELECT * FROM all_outbox", "a view that other connections have"),
        ("EXPLAIN SELECT * FROM outbox", "its plan"),
        ("SELECT 1; SELECT 2", "two statements"),
        ("SELECT 1; DROP TABLE job", "two statements"),
        ("SELECT :user", "a value that nobody gives"),
        ("SELECT hex(zeroblob(100000000))", "more memory than a value may have"),
        ("SELECT randomblob(100000000)", "more memory than a value may have"),
        ("SELECT", "half a statement"),
        ("", "no statement"),
        ("-- nothing", "no statement"),
        ("\x1b[2J", "what steers a terminal"),
    ],
)  # fmt: skip
def test_what_is_refused(told: Told, trace: Path, statement: str, why: str) -> None:
    before = trace.read_bytes()
    code, out, err = told(statement)
    assert (code, out) == (2, ""), why
    assert err.startswith("error: ") and "\nhint: " in err and "\x1b" not in err
    assert trace.read_bytes() == before
    with typed(trace) as db, pytest.raises((sqlite3.Error, sqlite3.Warning, AssertionError)):
        assert answer(db, statement, 10, 60).columns, "an empty statement has no answer"


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("SELECT usr FROM run", "did you mean user?"),
        ("SELECT r.elapsd FROM run AS r", "did you mean elapsed?"),
        ("SELECT * FROM runs", "did you mean run?"),
        ("SELECT qqqqqqqq FROM run", "known: cluster, job_id_raw"),
        ("SELECT 1 FROM outbox", "it may read only"),
        ("SELEC 1", "write one SELECT"),
    ],
)
def test_a_mistake_has_a_hint(told: Told, statement: str, hint: str) -> None:
    code, _, err = told(statement)
    assert code == 2 and hint in err


def test_rows_beyond_the_limit_are_said(told: Told) -> None:
    code, out, _ = told("SELECT job_id FROM run ORDER BY 1", "--limit", "2", "-f", "json")
    document = json.loads(out)
    assert code == 0 and [one["job_id"] for one in document["rows"]] == ["1", "2"]
    assert document["meta"]["notes"] == ["the first 2 rows; --limit shows more"]
    assert "--limit" not in told("SELECT job_id FROM run", "--limit", "4")[1]
    assert "the first 3 rows" in told("SELECT job_id FROM run", "--limit", "3", "-f", "csv")[2]


def test_a_table_has_numbers_as_sql_shows_them_and_names_that_steer_nothing(told: Told) -> None:
    _, out, _ = told(f"SELECT {MONDAY} AS at, queue FROM run WHERE job_id = '3'")
    assert f"{MONDAY}" in out and "\\x1b[2J" in out and "\x1b" not in out
    _, out, _ = told("SELECT queue FROM run", "-f", "html")
    assert "<script>|" not in out


def test_the_statement_may_come_from_standard_input(
    told: Told, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for text, code in (("SELECT count(*)\nFROM run\n", 0), ("SELECT 1" + " " * command.MOST, 2), ("SELECT 1\0", 2)):
        (tmp_path / "in").write_text(text)
        with (tmp_path / "in").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            assert told("-")[0] == code


def test_as_of_another_day(told: Told) -> None:
    moment = MONDAY + 60 + HOUR  # the first run has just ended
    found = rows(told, "SELECT count(*) AS jobs, count(end_time) AS ended FROM run", "--as-of", f"@{moment}")
    assert found == [{"jobs": 4, "ended": 1}]
    assert told("SELECT * FROM all_outbox", "--as-of", f"@{moment}")[0] == 2


@pytest.mark.parametrize("what", ["count(*)", "x"])
def test_one_without_an_end_is_stopped(told: Told, what: str) -> None:
    code, _, err = told(ENDLESS.format(what), "--limit", "2000000000", "--time-limit", "1s")
    assert code == 2 and "did not end within 1 s" in err and "--time-limit" in err


def test_a_time_that_is_none_is_refused(told: Told) -> None:
    assert told("SELECT 1", "--time-limit", "0")[0] == told("SELECT 1", "--time-limit", "soon")[0] == 2


def test_what_sqlite_cannot_stop_ends_the_process(trace: Path) -> None:
    """One function over long texts takes hours between two looks at the clock."""
    statement = (
        "SELECT instr(a, b) FROM (SELECT printf('%.*c', 16000000, 'x') a, printf('%.*c', 8000000, 'x') || 'y' b)"
    )
    child = os.fork()
    if child == 0:
        command.GRACE = 0.5  # type: ignore[misc]
        os.close(2)
        main(["sql", statement, "--db", str(trace), "--time-limit", "1s"])
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_ctrl_c_is_an_interrupt(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()

    def interrupted() -> float:
        if time.perf_counter() > 0 and interrupted.looks > 2:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        interrupted.looks += 1  # type: ignore[attr-defined]
        return began

    interrupted.looks = 0  # type: ignore[attr-defined]
    with typed(trace) as db:
        monkeypatch.setattr("adminkit.trace.typed.time.monotonic", interrupted)
        with pytest.raises(KeyboardInterrupt):
            answer(db, ENDLESS.format("count(*)"), 10, 60)


def test_too_long_is_not_an_error_of_sqlite(trace: Path) -> None:
    with typed(trace) as db:
        with pytest.raises(TooLong):
            answer(db, ENDLESS.format("count(*)"), 10, 0.1)
        assert answer(db, "SELECT 1 AS one", 10, 60) == Answer(("one",), [(1,)], False)


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    """A trace that every user of the host may read: a job of READER's, one of bob's, and one of an unknown user."""
    with TemporaryDirectory(prefix="adminkit-") as folder:
        jobs = [
            job(1, user=pwd.getpwuid(READER).pw_name, uid=READER, job_name="mine"),
            job(2, user="bob", uid=4711, job_name="secret"),
            job(3, user=None, uid=None, job_name="secret"),
        ]
        path = make_trace(Path(folder) / "trace.db", jobs, queues=[("aaic", "gq", 0, HOUR, 72 * HOUR)])
        for place in (Path(folder), path):
            os.chown(place, OWNER, OWNER)
            place.chmod(0o755)
        yield path


@becomes_others
@pytest.mark.parametrize(
    ("statement", "of_an_operator"),
    [
        ("SELECT job_name FROM run", 3),
        ("SELECT job_name FROM job", 3),
        ("SELECT job_name FROM main.job", 3),
        ("SELECT job_name FROM main.run", 3),
        ("SELECT job_name FROM temp.job", None),
        ("SELECT job_name FROM all_job", None),
        ("SELECT job_name FROM all_run", None),
        ("WITH all_job AS (SELECT * FROM main.job) SELECT job_name FROM all_job", 3),
        ("WITH job AS (SELECT * FROM main.job) SELECT job_name FROM job", 3),
    ],
)
def test_nobody_elses_row_can_be_named(shared: Path, statement: str, of_an_operator: int | None) -> None:
    def asked() -> list[Any] | str:
        with typed(shared) as db:
            try:
                return answer(db, statement, 10, 60).rows
            except sqlite3.Error as error:
                return str(error)

    of_others, of_the_owner = as_user(READER, OUTSIDE, asked), as_user(OWNER, OWNER, asked)
    if of_an_operator is None:
        assert "no such table" in of_others and "no such table" in of_the_owner
    else:
        assert of_others == [("mine",)] and len(of_the_owner) == of_an_operator


@becomes_others
def test_users_read_every_table_and_those_of_the_site_whole(shared: Path) -> None:
    def asked() -> dict[str, int]:
        with typed(shared) as db:
            return {one: answer(db, f"SELECT count(*) FROM {one}", 1, 60).rows[0][0] for one in READABLE}

    found = as_user(READER, OUTSIDE, asked)
    assert found.keys() == READABLE
    assert (found["run"], found["job"], found["trace"], found["queue"]) == (1, 1, 1, 1)


def test_every_column_of_the_view_can_be_asked_for(told: Told) -> None:
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    assert list(rows(told, f"SELECT {names} FROM run LIMIT 1")[0]) == list(COLUMNS)
