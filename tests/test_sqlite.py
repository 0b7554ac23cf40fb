"""Which SQLite a process has: one copy for all of it, and a clear word where it is too old."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from adminkit import sqlite
from adminkit.cli.main import main
from adminkit.trace import columns, private_copy
from tests.support.builders import make_trace

PACKAGE = Path(sqlite.__file__).parent


def test_the_module_and_every_connection_come_from_one_place() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in path.read_text().splitlines()
        if re.search(r"^\s*(import|from) (sqlite3|_sqlite3|pysqlite3)\b|\bsqlite3\.connect\(", line)
    ]
    assert {line.partition(":")[0] for line in found} == {"sqlite.py"}, found


@pytest.mark.parametrize(
    "command",
    [
        "report accuracy", "report wait --format json", "report all --html page.html", "trace status",
        "trace rejected", "trace history", "trace upgrade", "trace forget nobody",
        "trace snapshot copy.db", "trace prune --older-than 1000d", "findings", "recommend queues",
        "export out --to csv", "simulate replay", "demo",
    ],
)  # fmt: skip
def test_an_old_sqlite_is_named_with_what_to_do_and_a_good_trace_is_never_blamed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = make_trace(tmp_path / "trace.db", [])
    before = trace.read_bytes()
    monkeypatch.setattr(sqlite.sqlite3, "sqlite_version_info", (3, 34, 1))
    monkeypatch.setattr(sqlite.sqlite3, "sqlite_version", "3.34.1")
    code = main([*command.split(), "--db", str(trace)])
    said = capsys.readouterr().err
    assert code != 0 and "a trace needs SQLite 3.37, and this Python has 3.34.1" in said, said
    assert "pip install 'adminkit[sqlite]'" in said
    assert trace.read_bytes() == before


#: A process whose pysqlite3 is what it finds first on its path.
_CHOSEN = "import sys; sys.path.insert(0, sys.argv[1]); from adminkit.sqlite import sqlite3; print(sqlite3.__name__)"


@pytest.mark.parametrize(("package", "chosen"), [("pysqlite3", "pysqlite3"), ("other", "sqlite3")])
def test_pysqlite3_is_taken_where_it_is_installed_as_sqlite_utils_does(
    package: str, chosen: str, tmp_path: Path
) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("from sqlite3 import *\n")
    done = subprocess.run([sys.executable, "-c", _CHOSEN, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [chosen]


def test_columns_are_read_through_the_same_copy() -> None:
    assert columns.register(), "the library of C has the copy that connections have"
    with closing(sqlite.open_database(":memory:")) as db:
        assert columns.columns(db, (), ("1",), "")[1][0].tolist() == [1]


@pytest.mark.parametrize("can_set", [True, False], ids=["by setlimit", "at opening"])
def test_no_statement_passes_the_limits_of_a_connection(can_set: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second as with pysqlite3, which has no setlimit."""
    if not can_set:
        monkeypatch.setattr(sqlite.sqlite3, "Connection", object)
    elsewhere: list[int] = []

    def open_another() -> None:
        with closing(sqlite.open_database(":memory:")) as db:
            elsewhere.extend(db.execute("SELECT length(zeroblob(2000))").fetchone())

    with closing(sqlite.open_limited(":memory:", {sqlite.LENGTH: 1000, sqlite.ATTACHED: 0})) as db:
        assert db.execute("SELECT length(zeroblob(1000))").fetchone() == (1000,)
        for statement, said in (("SELECT zeroblob(1001)", "too big"), ("ATTACH ':memory:' AS other", "too many")):
            with pytest.raises(sqlite.sqlite3.Error, match=said):
                db.execute(statement).fetchall()
        open_another()
        thread = Thread(target=open_another)
        thread.start()
        thread.join()
    assert elsewhere == [2000, 2000], "connections before, after and beside have none"


class _Plain(sqlite.sqlite3.Connection):
    """A connection as pysqlite3 has it."""

    @property
    def deserialize(self) -> None:  # type: ignore[override]
        raise AttributeError


@pytest.mark.parametrize("kind", [sqlite.sqlite3.Connection, _Plain])
def test_the_bytes_of_a_file_become_a_database_in_memory(
    kind: type[sqlite.sqlite3.Connection], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with private_copy.changed(tmp_path / "copy.db", None):
        pass
    data = (tmp_path / "copy.db").read_bytes()
    monkeypatch.setattr(sqlite.sqlite3, "connect", partial(sqlite.sqlite3.connect, factory=kind))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with closing(sqlite.loaded(data)) as db:
        assert isinstance(db, kind) and db.execute("SELECT count(*) FROM job").fetchone() == (0,)
    with pytest.raises(sqlite.sqlite3.Error), closing(sqlite.loaded(b"no database" * 1000)) as db:
        db.execute("SELECT * FROM sqlite_schema").fetchall()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("adminkit-")] == []
