"""Who may change a row: sources have ranks, and nothing of a lower one lives on under a higher one's name."""

from __future__ import annotations

import sqlite3
from dataclasses import fields

import pytest

from adminkit.job import KEY, SOURCES, Job, Step
from adminkit.trace.schema import migrate
from adminkit.trace.upsert import insert_job, same_job, upsert_job, upsert_step

COLUMNS = ("cluster", "job_id_raw", "submit_time", "uid", "state", "end_time", "time_limit", "limit_kind", "gpus")
FIRST = ("alpha", 7, 100, 1001, "COMPLETED", 900, 3600, "finite", 8)
SECOND = (1002, "TIMEOUT", 800, 7200, "finite", None)


@pytest.fixture
def db() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    return connection


def put(db: sqlite3.Connection, source: str, *values: object, columns: tuple[str, ...] = COLUMNS) -> int:
    return db.execute(upsert_job({c: f"?{n}" for n, c in enumerate(columns, 1)}, source), values).rowcount


def row(db: sqlite3.Connection) -> tuple[object, ...]:
    return tuple(db.execute(f"SELECT {', '.join(COLUMNS[3:])}, source FROM job").fetchone())


@pytest.mark.parametrize(
    ("first", "second", "becomes", "why"),
    [
        ("slurmdbd", "trusted", (*FIRST[3:], "slurmdbd"), "an operator's word is below slurmdbd's"),
        ("slurmdbd", "text", (*FIRST[3:], "slurmdbd"), "a file changes nothing of it"),
        ("slurmdbd", "demo", (*FIRST[3:], "slurmdbd"), "nor what was never run"),
        ("trusted", "swf", (*FIRST[3:], "trusted"), "nor of what was vouched for"),
        ("text", "demo", (*FIRST[3:], "text"), "the demo is below everything"),
        ("text", "swf", (1002, "TIMEOUT", 800, 7200, "finite", 8, "text"), "equal ranks add to each other, as ever"),
        ("slurmdbd", "slurmdbd", (1002, "TIMEOUT", 800, 7200, "finite", 8, "slurmdbd"), "and so does slurmdbd itself"),
        ("text", "slurmdbd", (*SECOND, "slurmdbd"), "a higher one takes over, with what it does not know unknown"),
        ("text", "trusted", (*SECOND, "trusted"), "so does an operator who vouches for a file"),
        ("demo", "text", (*SECOND, "text"), "and a file over the demo"),
    ],
)
def test_a_second_row_of_another_source(
    db: sqlite3.Connection, first: str, second: str, becomes: tuple[object, ...], why: str
) -> None:
    put(db, first, *FIRST)
    changed = put(db, second, *FIRST[:3], *SECOND)
    assert row(db) == becomes, why
    assert changed == (row(db)[:-1] != FIRST[3:]), why


@pytest.mark.parametrize("higher", ["trusted", "slurmdbd"])
def test_no_column_of_a_lower_source_outlives_a_take_over(db: sqlite3.Connection, higher: str) -> None:
    """Each column there is, filled by a file, then the key alone from above: all of it is unknown."""
    every = [f.name for f in fields(Job) if f.name not in ("source", "audited")]
    values = {"cluster": "alpha", "limit_kind": "finite", "limit_source": "explicit"}
    named = tuple(f'"{c}"' if c == "group" else c for c in every)
    filled = [values.get(c, 5) for c in every]
    db.execute(f"INSERT INTO job ({', '.join(named)}, source) VALUES ({', '.join('?' * len(every))}, 'text')", filled)
    put(db, higher, "alpha", 5, 5, 1000, columns=(*KEY, "uid"))
    cursor = db.execute("SELECT * FROM job")
    found = dict(zip([c[0] for c in cursor.description], cursor.fetchone(), strict=True))
    known = {name: value for name, value in found.items() if value is not None}
    assert known == {
        "cluster": "alpha", "job_id_raw": 5, "submit_time": 5, "source": higher, "uid": 1000,
        "limit_kind": "unknown", "limit_source": "unknown",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "state", "why"),
    [
        ("text", "slurmdbd", "RUNNING", "slurmdbd knows that it still runs: the file's end was invented"),
        ("slurmdbd", "slurmdbd", "COMPLETED", "an older snapshot read after the end"),
        ("slurmdbd", "text", "COMPLETED", "a file says nothing about it"),
    ],
)
def test_an_end_is_taken_back_by_a_higher_source_alone(
    db: sqlite3.Connection, first: str, second: str, state: str, why: str
) -> None:
    put(db, first, *FIRST)
    put(db, second, *FIRST[:3], 1001, "RUNNING", None, 3600, "finite", 8)
    assert row(db)[1] == state, why


def test_a_higher_source_never_makes_a_shell_of_a_run() -> None:
    """26.05 tells a new accounting database of runs it has forgotten: of these slurmdbd knows nothing but the end."""
    names = (*KEY, "qos", "job_name", "end_time")
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    put(db, "text", "alpha", 7, 100, "normal", "train", 900, columns=names)
    assert put(db, "slurmdbd", "alpha", 7, 100, "Unknown", "allocation", 900, columns=names) == 0
    assert db.execute("SELECT source FROM job").fetchone() == ("text",)


def test_the_same_again_changes_nothing(db: sqlite3.Connection) -> None:
    for source in SOURCES:
        db.execute("DELETE FROM job")
        assert [put(db, source, *FIRST) for _ in range(3)] == [1, 0, 0], source


def test_what_an_audit_could_not_confirm_is_looked_at_again_when_slurmdbd_tells_of_it(db: sqlite3.Connection) -> None:
    put(db, "slurmdbd", *FIRST)
    db.execute("UPDATE job SET audited = 'beyond', fingerprint = 5")
    same = same_job({**{c: f"?{n}" for n, c in enumerate(COLUMNS, 1)}, "fingerprint": "5"})
    assert db.execute(same, FIRST[:3]).fetchone() is None, "it is not passed over unseen"
    assert put(db, "slurmdbd", *FIRST) == 1
    assert db.execute("SELECT audited FROM job").fetchone() == (None,)
    db.execute("UPDATE job SET audited = 'confirmed'")
    assert put(db, "slurmdbd", *FIRST) == 0
    assert db.execute(same, FIRST[:3]).fetchone() is not None


def test_a_step_is_taken_over_as_a_job_is(db: sqlite3.Connection) -> None:
    names = ("cluster", "job_id_raw", "submit_time", "step", "cpu_time", "end_time")
    sql = {source: upsert_step({c: f"?{n}" for n, c in enumerate(names, 1)}, source) for source in SOURCES}
    db.execute(sql["text"], ("alpha", 7, 100, "batch", 5000.0, 900))
    db.execute(sql["slurmdbd"], ("alpha", 7, 100, "batch", None, 900))
    assert db.execute("SELECT source, cpu_time FROM step").fetchall() == [("slurmdbd", None)]
    assert db.execute(sql["text"], ("alpha", 7, 100, "batch", 5000.0, 900)).rowcount == 0
    assert {f.name for f in fields(Step)} >= {*names, "source"}


def test_a_first_row_names_its_source(db: sqlite3.Connection) -> None:
    sql = insert_job({c: f"?{n}" for n, c in enumerate(COLUMNS, 1)}, "swf")
    db.execute(sql, FIRST)
    assert row(db)[-1] == "swf"
