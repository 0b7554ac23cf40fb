"""Old traces and newer ones: what is out stays, an upgrade killed anywhere is whole, a newer trace is left alone."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from adminkit.cli.main import main
from adminkit.trace import connect, schema
from tests.support.others import GROUP, OUTSIDE, OWNER, READER, Refused, as_user
from tests.trace.test_connect import as_root, shared  # noqa: F401
from tests.trace.test_schema import columns, rows, shape
from tools import old_traces
from tools.docs import ROOT

# what is out


def test_no_schema_that_is_out_was_edited() -> None:
    assert old_traces.edited() == []


def test_every_release_of_the_changelog_has_its_schema_frozen() -> None:
    """A release without the last step of CONTRIBUTING.md fails here."""
    released = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert not released or old_traces.frozen(), f"{released[0]} is out: python -m tools.old_traces release"


@pytest.mark.parametrize("version", old_traces.kept())
def test_its_migrations_still_make_each_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """A migration that is edited makes another one, even if all later ones hide it."""
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:version])
    connect.create(tmp_path / "made.db")
    old_traces.build(version, tmp_path / "kept.db")
    assert statements(tmp_path / "made.db") == statements(tmp_path / "kept.db")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of old traces in which nothing is out yet."""
    (tmp_path / old_traces.RELEASED).write_text("# nothing yet\n")
    old_traces.write(tmp_path)
    return tmp_path


def test_a_release_freezes_its_schema_and_a_later_one_with_the_same_does_nothing(folder: Path) -> None:
    assert "goes out with" in old_traces.release(folder)
    assert "already" in old_traces.release(folder)
    assert list(old_traces.frozen(folder)) == [schema.SCHEMA_VERSION]
    assert old_traces.edited(folder) == []


def test_what_is_frozen_cannot_be_written_anew_and_an_edit_is_told(folder: Path) -> None:
    old_traces.release(folder)
    with pytest.raises(SystemExit, match="add a migration"):
        old_traces.write(folder)
    file = folder / f"schema-{schema.SCHEMA_VERSION}.sql"
    file.write_text(file.read_text().replace("job_name TEXT", "name TEXT"))
    assert len(old_traces.edited(folder)) == 1


# a trace that kept rollups


#: What such a trace had, as the checkouts before the first release made it: tables, and what kept them.
_ROLLUPS = (
    *(
        f"CREATE TABLE {name} (month INTEGER, user TEXT) STRICT"
        for name in (
            "rollup_kept", "rollup_key", "ended_month", "ended_month_user", "occupied_hour", "occupied_key",
            "started_month", "started_key",
        )
    ),
    "INSERT INTO rollup_key VALUES (0, 'user1')",
    "CREATE UNIQUE INDEX rollup_key_all ON rollup_key (user)",
    "CREATE INDEX rollup_odd ON job (start_time) WHERE end_time IS NOT NULL",
    "CREATE VIEW rollup_change AS SELECT 0 AS sign, user FROM job WHERE FALSE",
    "CREATE TRIGGER rollup_put INSTEAD OF INSERT ON rollup_change BEGIN"
    " UPDATE ended_month SET month = month + NEW.sign; END",
    *(
        f"CREATE TRIGGER rollup_{event.lower()} AFTER {event} ON job BEGIN"
        f" INSERT INTO rollup_change SELECT 1, {row}.user; END"
        for event, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
    ),
)  # fmt: skip


def test_a_trace_that_kept_rollups_loses_them_and_no_run(tmp_path: Path) -> None:
    path, fresh = tmp_path / "kept.db", tmp_path / "fresh.db"
    old_traces.build(2, path)
    with sqlite3.connect(path) as db:
        for one in _ROLLUPS:
            db.execute(one)
        before = db.execute("SELECT * FROM job").fetchall()
    connect.prepare(path)
    connect.create(fresh)
    assert statements(path) == statements(fresh)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT * FROM job").fetchall() == before != []
        db.execute("UPDATE job SET user = 'user2'")
        db.execute("DELETE FROM job")


# an upgrade that is killed


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> int:
    """A release with two more migrations: one rewrites a table, one adds a column. Returns the version before."""

    def rewrite(db: Any) -> None:
        db.execute(
            "CREATE TABLE fact_new (cluster TEXT, key TEXT, value TEXT, at INTEGER, PRIMARY KEY (cluster, key)) STRICT"
        )
        db.execute("INSERT INTO fact_new SELECT * FROM fact")
        db.execute("DROP TABLE fact")
        db.execute("ALTER TABLE fact_new RENAME TO fact")

    def widen(db: Any) -> None:
        db.execute("ALTER TABLE fact ADD COLUMN said_by TEXT")
        db.execute("UPDATE fact SET said_by = 'slurmdbd'")

    before = schema.SCHEMA_VERSION
    for number, one in enumerate((rewrite, widen), start=before + 1):
        one.__name__ = f"m{number:03}_{one.__name__}"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, rewrite, widen))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", before + 2)
    monkeypatch.setattr(connect, "SCHEMA_VERSION", before + 2)
    return before


def upgrade_killed_at(path: Path, statement: int) -> bool:
    """Upgrade in a child that SIGKILL ends before that statement of the migration; False where it has fewer."""
    child = os.fork()
    if child == 0:
        migrate = schema.migrate
        left = [statement]

        def counted(text: str) -> None:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def watched(db: sqlite3.Connection) -> None:
            db.set_trace_callback(counted)
            migrate(db)

        try:
            connect.migrate = watched  # type: ignore[assignment]
            connect.upgrade(path)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_an_upgrade_killed_before_any_of_its_statements_leaves_every_row_and_is_finished_by_the_next(
    tmp_path: Path, newer: int
) -> None:
    connect.create(tmp_path / "fresh.db")
    seen = set()
    for statement in range(1000):
        path = tmp_path / f"{statement}.db"
        old_traces.build(newer, path)
        before = rows(path)
        killed = upgrade_killed_at(path, statement)
        with sqlite3.connect(path) as db:
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            version = connect.schema_version(db)
            assert ("said_by" in columns(db, "fact")) == (version == newer + 2), "a migration is whole or not there"
        seen.add(version)
        assert connect.upgrade(path) == (version, newer + 2)
        assert shape(path) == shape(tmp_path / "fresh.db")
        after = rows(path)
        assert {table: [row[: len(kept[0])] for row in after[table]] for table, kept in before.items()} == before
        if not killed:
            break
    assert seen == {newer, newer + 1, newer + 2}
    assert statement > 10


# a trace of a newer release, and one that may not be written


@pytest.mark.parametrize(
    "command",
    [
        "sync --since 2024-01-01",
        "import sacct.txt --cluster alpha",
        "trace upgrade",
        "trace status",
        "report accuracy",
        "recommend walltime --user ada",
        "feedback preview",
        "incentives compute --points-per-hour 6",
        "policy replay",
    ],
)
def test_an_older_adminkit_refuses_a_newer_trace_and_leaves_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = tmp_path / "trace.db"
    old_traces.build(schema.SCHEMA_VERSION, path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    monkeypatch.setenv("ADMINKIT_DB", str(path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADMINKIT_FEEDBACK_CLUSTERS", '["alpha"]')
    Path("sacct.txt").write_text(
        "JobID|JobIDRaw|Submit|State|Start|End\n1|1|1500000000|COMPLETED|1500000001|1500000002\n"
    )
    assert main(command.split()) == 1
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"error: {path} has schema 99, made by a newer adminkit; this one knows {schema.SCHEMA_VERSION}",
        "hint: upgrade adminkit on this host; the trace was not changed",
    ]
    assert path.read_bytes() == before


@as_root
def test_who_may_only_read_an_old_trace_is_told_who_upgrades_it_and_the_owner_does(shared: Path, newer: int) -> None:  # noqa: F811
    before = shared.read_bytes()
    looked = as_user(READER, GROUP, lambda: list(rows_of(shared)))
    assert looked == Refused(
        f"{shared} has schema {newer}, this release reads {newer + 2}",
        "run `adminkit trace upgrade` as daemon, who owns it",
    )
    tried = as_user(READER, GROUP, lambda: connect.upgrade(shared))
    assert isinstance(tried, Refused)
    assert str(shared) in tried.message
    assert "its owner" in tried.hint
    assert shared.read_bytes() == before
    assert as_user(OWNER, OUTSIDE, lambda: connect.upgrade(shared)) == (newer, newer + 2)
    assert as_user(READER, GROUP, lambda: list(rows_of(shared))) == [("alpha", "first")]


def rows_of(path: Path) -> list[tuple[str, str]]:
    with connect.reader(path) as db:
        return db.execute("SELECT cluster, key FROM fact").fetchall()


def statements(path: Path) -> list[tuple[str, str]]:
    """Every table, view and index as it is written down."""
    with sqlite3.connect(path) as db:
        return db.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
