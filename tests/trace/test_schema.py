"""The schema: its words are Job's, its migrations keep every row, and a released one is never edited."""

from __future__ import annotations

import dataclasses
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from adminkit.errors import AdminkitError
from adminkit.job import KEY, STEP_KEY, Job, Step
from adminkit.trace import connect, schema
from tools import old_traces

#: The study's columns, under the names that issue and study give them.
STUDY = (
    "job_id job_type task_id user group priority queue req_nodes req_cpus req_gpus req_mem time_limit node_list "
    "exit_code submit_time start_time end_time wait_time elapsed"
).split()


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    connect.create(tmp_path / "trace.db")
    return sqlite3.connect(tmp_path / "trace.db")


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def unique(db: sqlite3.Connection, table: str) -> set[tuple[str, ...]]:
    """The columns of each unique index of a table."""
    names = [row[1] for row in db.execute(f"PRAGMA index_list({table})") if row[2]]
    return {tuple(row[2] for row in db.execute(f"PRAGMA index_info({name})")) for name in names}


@pytest.mark.parametrize(("table", "noun", "key"), [("job", Job, KEY), ("step", Step, STEP_KEY)])
def test_a_table_has_the_words_of_its_dataclass_in_its_order(
    db: sqlite3.Connection, table: str, noun: Any, key: tuple[str, ...]
) -> None:
    assert columns(db, table) == [field.name for field in dataclasses.fields(noun)]
    assert unique(db, table) == {key}


@pytest.mark.parametrize(("table", "noun"), [("job", Job), ("step", Step)])
def test_a_row_holds_what_its_dataclass_allows(db: sqlite3.Connection, table: str, noun: Any) -> None:
    sql = {"int": "INTEGER", "float": "REAL", "str": "TEXT"}
    declared = {row[1]: (row[2], bool(row[3])) for row in db.execute(f"PRAGMA table_info({table})")}
    for field in dataclasses.fields(noun):
        kind, _, maybe = str(field.type).partition(" | ")
        assert declared[field.name] == (sql[kind], maybe == ""), field.name


def test_every_table_is_strict_and_the_trace_of_the_study_has_exactly_its_columns(db: sqlite3.Connection) -> None:
    tables = db.execute("SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT GLOB '[_s]*_*'")
    assert [name for name, strict in tables if not strict] == []
    assert columns(db, "trace") == STUDY


@pytest.mark.parametrize(
    ("job", "expected", "why"),
    [
        ({}, {"job_id": 7, "job_type": "normal", "task_id": None}, "a job by itself"),
        (
            {"array_job": 5, "array_task": 2},
            {"job_id": 5, "job_type": "array", "task_id": 2},
            "a task goes by its array's number",
        ),
        ({"het_job": 6, "het_offset": 1}, {"job_id": 6, "job_type": "het", "task_id": None}, "a component likewise"),
        ({"start_time": 130, "eligible_time": 120}, {"wait_time": 30}, "the study counts from submission"),
        ({"start_time": None}, {"wait_time": None}, "not started: unknown"),
        ({"time_limit": 60, "limit_original": 3600}, {"time_limit": 3600}, "what was asked for, where it is known"),
        ({"time_limit": 60}, {"time_limit": 60}, "else the final limit"),
    ],
)
def test_the_view_trace_tells_a_run_as_the_study_does(
    db: sqlite3.Connection, job: dict[str, Any], expected: dict[str, Any], why: str
) -> None:
    row = {"cluster": "alpha", "job_id_raw": 7, "submit_time": 100, **job}
    db.execute(f"INSERT INTO job ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
    db.row_factory = sqlite3.Row
    seen = dict(db.execute("SELECT * FROM trace").fetchone())
    assert {name: seen[name] for name in expected} == expected, why


def test_the_version_is_the_number_of_migrations_and_their_names_are_numbered() -> None:
    assert len(schema.MIGRATIONS) == schema.SCHEMA_VERSION
    for number, migration in enumerate(schema.MIGRATIONS, start=1):
        assert migration.__name__.startswith(f"m{number:03}_")


# old traces


def test_there_is_one_small_database_per_schema() -> None:
    assert old_traces.kept() == list(range(1, schema.SCHEMA_VERSION + 1))


def test_the_newest_of_them_is_todays_schema() -> None:
    kept = (old_traces.FOLDER / f"schema-{schema.SCHEMA_VERSION}.sql").read_text()
    assert kept == old_traces.today(), "unreleased still? python -m tools.old_traces. Released? add a migration instead"


@pytest.mark.parametrize("version", old_traces.kept())
def test_a_trace_of_any_released_schema_is_upgraded_with_all_its_rows(tmp_path: Path, version: int) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    old_traces.build(version, old)
    connect.create(new)
    before = rows(old)
    assert connect.upgrade(old) == (version, schema.SCHEMA_VERSION)
    assert shape(old) == shape(new)
    after = rows(old)
    for table, kept in before.items():  # columns are only ever added, at the end
        assert [row[: len(kept[0])] for row in after[table]] == kept, table
    with connect.reader(old) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> int:
    """A release with one more migration."""

    def more(db: Any) -> None:
        db.execute("ALTER TABLE fact ADD COLUMN said_by TEXT")

    version = schema.SCHEMA_VERSION + 1
    more.__name__ = f"m{version:03}_more"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, more))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", version)
    monkeypatch.setattr(connect, "SCHEMA_VERSION", version)
    return version


def test_a_reader_of_an_older_trace_says_who_upgrades_it_and_the_upgrade_is_one_call(
    tmp_path: Path, newer: int
) -> None:
    path = tmp_path / "trace.db"
    old_traces.build(newer - 1, path)
    with pytest.raises(AdminkitError) as caught, connect.reader(path):
        pass
    assert f"schema {newer - 1}, this release reads {newer}" in caught.value.message
    assert "adminkit trace upgrade" in caught.value.hint
    assert connect.upgrade(path) == (newer - 1, newer)
    with connect.reader(path) as db:
        assert "said_by" in columns(db, "fact")
    assert connect.upgrade(path) == (newer, newer)


def test_a_migration_that_fails_leaves_the_trace_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newer: int
) -> None:
    def halfway(db: Any) -> None:
        db.execute("ALTER TABLE fact ADD COLUMN half TEXT")
        db.execute("ALTER TABLE nosuch ADD COLUMN x TEXT")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS[:-1], halfway))
    path = tmp_path / "trace.db"
    old_traces.build(newer - 1, path)
    with pytest.raises(AdminkitError, match="nosuch"):
        connect.upgrade(path)
    with sqlite3.connect(path) as db:
        assert connect.schema_version(db) == newer - 1
        assert "half" not in columns(db, "fact")


def shape(path: Path) -> dict[str, list[str]]:
    """Every table and view with its columns, every index."""
    with sqlite3.connect(path) as db:
        names = db.execute("SELECT name FROM sqlite_schema WHERE type <> 'trigger' ORDER BY name").fetchall()
        return {name: columns(db, name) for (name,) in names}


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with sqlite3.connect(path) as db:
        names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '_*'").fetchall()
        return {name: db.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for (name,) in names}


def test_the_views_of_a_trace_are_those_that_stand_before_it_for_whoever_sees_less(tmp_path: Path) -> None:
    connect.prepare(tmp_path / "t.db")
    with sqlite3.connect(tmp_path / "t.db") as db:
        found = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'view'").fetchall())
    assert found == {name: f"CREATE VIEW {name} AS {select}".strip() for name, select in schema.VIEWS.items()}
