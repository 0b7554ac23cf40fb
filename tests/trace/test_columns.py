"""Columns of a SELECT: the functions in C answer what reading row by row answers."""

from __future__ import annotations

import platform
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from adminkit.trace import columns as module
from adminkit.trace.columns import columns, register
from adminkit.trace.connect import reader
from adminkit.trace.sight import shadow
from tests.support.builders import job, make_trace


@pytest.fixture(params=["in C", "by row"])
def db(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    if not register():
        pytest.skip("this Python's SQLite cannot be called from outside")
    if request.param == "by row":
        monkeypatch.setattr(module, "_FUNCTIONS", "SELECT 1 WHERE FALSE")
    with closing(sqlite3.connect(":memory:")) as db:
        yield db


@pytest.mark.parametrize(
    ("values", "kind", "why"),
    [
        ([], "i", "no row"),
        ([1, 2, -3], "i", "small numbers"),
        ([1, 300, 70_000, 2**40, -(2**62)], "i", "each wider than the one before"),
        ([-128, 127, 128, -32768, 2**31], "i", "the edges of widths"),
        ([None, 5, None, 300], "f", "an unknown number makes doubles"),
        ([None, None], "f", "nothing is known"),
        ([1, 0.5, None, 2**40], "f", "whole and broken numbers"),
        ([0.25, 7], "f", "the other way round"),
    ],
)
def test_numbers_come_as_columns(db: sqlite3.Connection, values: list[float | None], kind: str, why: str) -> None:
    db.execute("CREATE TABLE t (x)")
    db.executemany("INSERT INTO t VALUES (?)", [(one,) for one in values])
    _, (found,) = columns(db, (), ("x",), "FROM t")
    assert found.dtype.kind == kind, why
    assert np.array_equal(found, np.array([np.nan if one is None else one for one in values]), equal_nan=True), why


def test_texts_come_as_codes_in_the_order_in_which_they_come_first(db: sqlite3.Connection) -> None:
    values = ["gq", None, "", "gq", "長い", None, "a\x00b", "x" * 5000, "gq"]
    db.execute("CREATE TABLE t (x)")
    db.executemany("INSERT INTO t VALUES (?)", [(one,) for one in values])
    ((codes, names),), (numbers,) = columns(db, ("x",), ("length(x)",), "FROM t WHERE x IS NOT :not", {"not": "?"})
    assert (codes.tolist(), list(names)) == (
        [0, 1, 2, 0, 3, 1, 4, 5, 0],
        ["gq", None, "", "長い", "a\x00b", "x" * 5000],
    )
    assert len(numbers) == len(values)


def test_many_texts_have_each_their_code(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE t AS WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) SELECT i FROM n")
    ((codes, names), (_, none)), () = columns(db, ("'job' || (i % 4000)", "NULL"), (), "FROM t")
    assert [names[code] for code in codes.tolist()] == [f"job{i % 4000}" for i in range(10_000)]
    assert none == [None]


def test_an_empty_text_is_none_of_the_unknown_ones_however_many_texts_came_before(db: sqlite3.Connection) -> None:
    values = [None, *(f"job{i}" for i in range(1000)), "", None]
    db.execute("CREATE TABLE t (x)")
    db.executemany("INSERT INTO t VALUES (?)", [(one,) for one in values])
    ((codes, names),), () = columns(db, ("x",), (), "FROM t")
    assert [names[code] for code in codes.tolist()] == values


def test_nothing_of_the_columns_stays_with_the_connection(db: sqlite3.Connection) -> None:
    columns(db, ("'gq'",), ("7",), "")
    assert db.execute("SELECT adminkit_column(0), adminkit_column(1)").fetchone() == (None, None)


def test_an_error_of_the_select_is_sqlites(db: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="overflow"):
        columns(db, (), ("abs(-9223372036854775808)",), "")


def test_a_library_of_an_older_release_is_named_with_what_to_do() -> None:
    older = (
        "import sqlite3; from adminkit.trace.columns import columns; db = sqlite3.connect(':memory:');"
        " db.create_function('adminkit_columns', -1, lambda *_: 1); columns(db, (), ('1',), '')"
    )
    done = subprocess.run([sys.executable, "-c", older], capture_output=True, text=True)
    said = done.stderr.splitlines()[-1]
    assert "AdminkitError" in said and "adminkit-columns.so is of another release" in said


def test_a_library_that_is_missing_is_done_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "columns_library", lambda: tmp_path / "none.so")
    assert register.__wrapped__() is False


def test_columns_show_what_the_reader_may_see(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "trace.db", [job(1, user="ada", uid=11), job(2, user="bob", uid=12)])
    with reader(path) as db:
        ((_, names),), _ = columns(db, ("user",), (), "FROM run")
        assert sorted(map(str, names)) == ["ada", "bob"]
        shadow(db, own=True, as_of=None)
        ((codes, _),), _ = columns(db, ("user",), (), "FROM run")
        assert len(codes) == 0, "another user's jobs, all of them"


#: What a process has (RssAnon, MB) that let go of 160 MB of columns and keeps a small one that came after them.
_LETS_GO = """
import sys
from pathlib import Path
import numpy as np
from adminkit.trace.columns import register
register()
np.ones(20 << 20, np.int8)
columns = [np.ones(20 << 20, np.int8) for _ in range(8)]
last = [np.ones(1 << 14, np.int8) for _ in range(64)]
del columns
print(int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0]) // 1024)
"""


def test_columns_that_are_done_with_go_back_to_the_system() -> None:
    if not sys.platform.startswith("linux") or "glibc" not in platform.libc_ver():
        pytest.skip("another libc gives back as it likes")
    done = subprocess.run([sys.executable, "-c", _LETS_GO], check=True, capture_output=True)
    assert int(done.stdout) < 80  # 190 without
