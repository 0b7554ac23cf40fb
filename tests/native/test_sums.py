"""adminkit-ingest adds up what a SELECT gives, by groups, and puts the sums away through statements from outside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.native import helper

NUMBER = (
    *("--number", "SELECT id FROM k WHERE a IS ?1 AND b IS ?2"),
    *("--number-new", "INSERT INTO k (a, b) VALUES (?1, ?2)"),
)
PUT = "INSERT INTO s VALUES (?1, ?2, ?3, ?4)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "CREATE TABLE k (id INTEGER PRIMARY KEY, a, b); CREATE INDEX k_all ON k (a, b);"
            "CREATE TABLE s (key, bin, n, total); CREATE TABLE r (a, b, bin, total)"
        )
    return path


def summed(path: Path, rows: str, *sums: str, number: tuple[str, ...] = NUMBER) -> helper.Ran:
    words = [word for one in sums for word in ("--sum", one)]
    return helper.run(b"", "--db", path, "--columns", "skip", *number, "--sum-rows", rows, *words)


def stored(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def test_rows_are_added_up_by_group_where_null_and_text_and_numbers_differ(path: Path) -> None:
    values = [
        *(("a", "b", 1, 5), ("a", "b", 1, 7), ("a", "b", None, 1), (None, "b", 0, 1), ("", "b", 0, 1)),
        *(("1", "b", 0, 1), (1, "b", 0, 1), ("a\x1fb", "", 0, -3), ("x'; DROP TABLE s; --", "é", -(1 << 63), 2)),
    ]
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO k VALUES (7, 'a', 'b')")
        db.executemany("INSERT INTO r VALUES (?, ?, ?, ?)", values)
    summed(path, "SELECT numbered(a, b), bin, 1, total FROM r", f"0,2,2:{PUT}")
    expected = "SELECT a, b, bin, count(*), sum(total) FROM r GROUP BY a, b, bin, typeof(a) ORDER BY a, b, bin"
    assert stored(path, "SELECT a, b, bin, n, total FROM s JOIN k ON id = key ORDER BY a, b, bin") == stored(
        path, expected
    )
    assert stored(path, "SELECT bin FROM s WHERE key = 7 ORDER BY bin") == [(None,), (1,)]


def test_one_row_may_be_in_several_sums_and_in_none(path: Path) -> None:
    rows = "SELECT 1, 2, 3, 4, NULL, 5, 6, 7"
    summed(path, rows, f"0,2,2:{PUT}", f"4,2,2:{PUT}", number=())
    assert stored(path, "SELECT * FROM s") == [(1, 2, 3, 4)]


def test_more_groups_than_are_held_at_once_are_put_away_in_between(path: Path) -> None:
    count = "WITH c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 139999) SELECT"
    summed(path, f"{count} numbered(i % 135000, 'x'), i % 2, 1, i FROM c", f"0,2,2:{PUT}")
    assert stored(path, "SELECT count(DISTINCT key), sum(n), sum(total) FROM s") == [(135000, 140000, 9799930000)]
    assert stored(path, "SELECT count(*), count(DISTINCT a) FROM k") == [(135000, 135000)]


@pytest.mark.parametrize(
    ("rows", "sum_", "why"),
    [
        ("SELECT 1, 2, 3, 'x'", f"0,2,2:{PUT}", "a sum is no whole number of 64 bits"),
        ("SELECT 1, 2, 3, 0.5", f"0,2,2:{PUT}", "a sum is no whole number of 64 bits"),
        ("SELECT 1, 2.5, 3, 4", f"0,2,2:{PUT}", "a column is no whole number"),
        ("VALUES (1, 2, 3, 9223372036854775807), (1, 2, 3, 1)", f"0,2,2:{PUT}", "a sum is no whole number of 64 bits"),
        ("SELECT 1, 2, 3, 4", f"1,2,2:{PUT}", "--sum: invalid columns"),
        ("SELECT 1, 2, 3, 4", f"0,0,4:{PUT}", "--sum: invalid columns"),
        ("SELECT 1, 2, 3, 4", f"0,2147483647,1:{PUT}", "--sum: invalid columns"),
        ("SELECT 1, 2, 3, 4", PUT, "--sum: invalid columns"),
        ("SELECT 1, 2, 3, 4", "0,2,2:INSERT INTO s VALUES (?1, 0, 0, 0)", "a parameter for each column"),
        ("SELECT 1, 2, 3, 4", "0,2,2:INSERT INTO nowhere VALUES (?1, ?2, ?3, ?4)", "no such table: nowhere"),
        ("SELECT numbered(0.5, 1), 2, 3, 4", f"0,2,2:{PUT}", "numbered() takes whole numbers, text and NULL"),
        ("SELECT absent", f"0,2,2:{PUT}", "no such column: absent"),
    ],
)
def test_what_cannot_be_added_up_ends_the_load_with_nothing_written(path: Path, rows: str, sum_: str, why: str) -> None:
    ran = helper.run(
        b"1\n", "--db", path, "--columns", "int", "--sql", "INSERT INTO r (a) VALUES (?1)",
        *NUMBER, "--sum-rows", rows, "--sum", sum_,
    )  # fmt: skip
    assert ran.code == 1 and why in ran.error
    assert stored(path, "SELECT (SELECT count(*) FROM r), (SELECT count(*) FROM s), (SELECT count(*) FROM k)") == [
        (0, 0, 0)
    ]
