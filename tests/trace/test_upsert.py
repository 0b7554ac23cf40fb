"""What a second row of the same run does to the first."""

from __future__ import annotations

import sqlite3

import pytest

from adminkit.trace.schema import migrate
from adminkit.trace.upsert import REJECT, upsert_job

COLUMNS = (
    "cluster",
    "job_id_raw",
    "submit_time",
    "state",
    "end_time",
    "time_limit",
    "limit_kind",
    "admin_comment",
    "group",
)
FIRST = ("alpha", 7, 100, "RUNNING", None, 3600, "finite", "ak1:x", "staff")


@pytest.fixture
def db() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    return connection


def put(db: sqlite3.Connection, *values: object, source: str = "slurmdbd") -> int:
    """Upsert one row; how many rows it made or changed."""
    return db.execute(upsert_job({c: f"?{n}" for n, c in enumerate(COLUMNS, 1)}, source), values).rowcount


def row(db: sqlite3.Connection) -> tuple[object, ...]:
    names = ", ".join(f'"{c}"' for c in COLUMNS[3:])
    return tuple(db.execute(f"SELECT {names} FROM job").fetchone())


@pytest.mark.parametrize(
    ("second", "becomes", "changed", "why"),
    [
        (FIRST[3:], FIRST[3:], 0, "the same again changes nothing"),
        (
            ("COMPLETED", 200, 3600, "finite", "ak1:x", "staff"),
            ("COMPLETED", 200, 3600, "finite", "ak1:x", "staff"),
            1,
            "it ended",
        ),
        ((None, None, None, "unknown", None, None), FIRST[3:], 0, "a poorer source erases nothing"),
        (
            ("RUNNING", None, None, "unlimited", None, None),
            ("RUNNING", None, None, "unlimited", "ak1:x", "staff"),
            1,
            "UNLIMITED keeps no old seconds",
        ),
        (
            ("RUNNING", None, 60, "finite", "JS1:y", "staff"),
            ("RUNNING", None, 60, "finite", "ak1:x", "staff"),
            1,
            "a recorded decision outlives other tools",
        ),
    ],
)
def test_the_second_row(
    db: sqlite3.Connection, second: tuple[object, ...], becomes: tuple[object, ...], changed: int, why: str
) -> None:
    assert put(db, *FIRST) == 1
    assert put(db, *FIRST[:3], *second) == changed, why
    assert row(db) == becomes, why


def test_a_run_that_ended_never_goes_on_again(db: sqlite3.Connection) -> None:
    put(db, *FIRST[:3], "COMPLETED", 200, 3600, "finite", None, "staff")
    assert put(db, *FIRST) == 0, "an older snapshot read after the end"
    assert row(db)[0] == "COMPLETED"


NAMED = ("cluster", "job_id_raw", "submit_time", "state", "end_time", "uid", "group", "qos", "job_name", "exit_code")
ENDED = ("alpha", 7, 100, "TIMEOUT", 200, 5, "games", "normal", "train", 0)


@pytest.mark.parametrize(
    ("first", "second", "changed", "why"),
    [
        (ENDED, ("TIMEOUT", 200, 0, "root", "Unknown", "allocation", 143), 0, "slurmdbd knows nothing but its end"),
        (ENDED, ("TIMEOUT", 200, 5, "games", "Unknown", "train", 1), 1, "its QOS was deleted"),
        (ENDED, ("TIMEOUT", 200, 5, "games", "normal", "allocation", 1), 1, "its name is a word of Slurm's"),
        ((*ENDED[:4], None, *ENDED[5:]), ("TIMEOUT", 200, 0, "root", "Unknown", "allocation", 143), 1, "it is its end"),
        ((*ENDED[:7], "Unknown", "allocation", 0), ("TIMEOUT", 200, 0, "root", "Unknown", "allocation", 143), 1,
         "all that was ever known"),
    ],
)  # fmt: skip
def test_a_run_that_ended_is_not_made_a_shell_of_by_a_new_accounting_database(
    db: sqlite3.Connection, first: tuple[object, ...], second: tuple[object, ...], changed: int, why: str
) -> None:
    sql = upsert_job({column: f"?{n}" for n, column in enumerate(NAMED, 1)}, "slurmdbd")
    db.execute(sql, first)
    assert db.execute(sql, (*first[:3], *second)).rowcount == changed, why
    kept = db.execute('SELECT "' + '", "'.join(NAMED) + '" FROM job').fetchone()
    assert kept == ((*first[:3], *second) if changed else first), why


def test_a_row_that_names_neither_qos_nor_job_tells_the_rest(db: sqlite3.Connection) -> None:
    sql = upsert_job({column: f"?{n}" for n, column in enumerate(NAMED, 1)}, "slurmdbd")
    db.execute(sql, ENDED)
    assert db.execute(sql, (*ENDED[:3], "FAILED", 200, 5, "games", None, None, 1)).rowcount == 1
    assert db.execute("SELECT state, qos, job_name, exit_code FROM job").fetchone() == ("FAILED", "normal", "train", 1)


def test_a_requeued_run_is_a_row_of_its_own(db: sqlite3.Connection) -> None:
    put(db, *FIRST[:3], "REQUEUED", 200, 3600, "finite", None, "staff")
    put(db, "alpha", 7, 200, "COMPLETED", 300, 3600, "finite", None, "staff")
    put(db, "beta", 7, 100, "COMPLETED", 300, 3600, "finite", None, "staff")
    assert db.execute("SELECT count(*) FROM job").fetchone() == (3,)


def test_a_rejected_line_is_kept_once_per_source(db: sqlite3.Connection) -> None:
    for source, line in (("a", 1), ("a", 9), ("b", 1)):
        db.execute(REJECT, (line, "why", b"raw", source, "5"))
    assert db.execute("SELECT source, line FROM rejected ORDER BY 1").fetchall() == [("a", 9), ("b", 1)]
