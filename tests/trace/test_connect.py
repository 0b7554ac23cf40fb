"""One writer, many readers of the group, and no way for one of them to break it for the others."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlite_utils  # noqa: F401  # loaded before any child gives up the right to read it

from adminkit.errors import AdminkitError
from adminkit.installed import helper_path
from adminkit.trace import bulk_load, connect, location
from adminkit.trace.permissions import sidecars
from adminkit.trace.schema import SCHEMA_VERSION
from tests.support.builders import job, make_trace
from tests.support.others import GROUP, OUTSIDE, OWNER, READER, Refused, as_user, kill_in_the_middle

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="not run: only root can act as the other users of a group")


def note(path: Path, key: str) -> int:
    """Write one row, as a run would, and count them."""
    with connect.writer(path) as db:
        db.execute("INSERT INTO fact VALUES ('alpha', ?, 'x', 1)", (key,))
        return count(db)


def count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM fact").fetchone()[0])


def read(path: Path) -> int:
    with connect.reader(path) as db:
        return count(db)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "trace.db"
    connect.prepare(path)
    return path


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A trace as an installation has it: its owner's, in a 2750 folder of a group."""
    top = Path(tempfile.mkdtemp(prefix="adminkit-"))
    top.chmod(0o755)
    helper = shutil.copy(helper_path(), top / "adminkit-ingest")
    monkeypatch.setattr(connect, "helper_path", lambda: str(helper))
    connect.prepare(top / "warm-up.db")  # loads what a child could not
    folder = top / "trace"
    folder.mkdir()
    os.chown(folder, OWNER, GROUP)
    folder.chmod(0o2750)
    as_user(OWNER, OUTSIDE, lambda: note(folder / "trace.db", "first"))
    yield folder / "trace.db"
    shutil.rmtree(top)


# making it


def test_a_new_trace_has_its_schema_and_is_readable_by_the_group_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "trace.db"
    connect.prepare(path)
    assert mode(path) == 0o640
    assert mode(path.parent) == 0o2750
    with connect.reader(path) as db:
        assert connect.schema_version(db) == SCHEMA_VERSION
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert all(one.exists() for one in sidecars(path)), "the group could not read"


def put_in_place(path: Path) -> None:
    connect.create(bulk_load.beside(path))
    bulk_load.install(bulk_load.beside(path), path)


@pytest.mark.parametrize("make", [connect.prepare, put_in_place])
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_umask_does_not_change_who_may_read(tmp_path: Path, make: Callable[[Path], None], umask: int) -> None:
    path = tmp_path / "trace.db"
    before = os.umask(umask)
    try:
        make(path)
        note(path, "one")
    finally:
        os.umask(before)
    assert {mode(one) for one in (path, *sidecars(path))} == {0o640}


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    connect.prepare(tmp_path / "trace.db")
    assert mode(tmp_path) == 0o700


def test_the_log_and_its_index_stay_when_everybody_has_gone(trace: Path) -> None:
    note(trace, "one")
    assert read(trace) == 1
    assert all(one.exists() for one in sidecars(trace))


def test_making_it_twice_changes_nothing(trace: Path) -> None:
    before = trace.read_bytes()
    connect.prepare(trace)
    assert trace.read_bytes() == before


def test_two_that_make_it_at_once_make_one(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    children = []
    for name in ("one", "two", "three"):
        child = os.fork()
        if child == 0:
            try:
                note(path, name)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert read(path) == 3


def test_one_that_was_cut_short_while_being_made_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE _sqlite_migrations (id INTEGER PRIMARY KEY, migration_set TEXT, name TEXT, applied_at TEXT)"
        )
    assert note(path, "one") == 1


# refusing


def foreign(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)


BAD = {
    "a newer schema": (
        lambda path: (connect.prepare(path), foreign(path, "PRAGMA user_version = 99")),
        "schema 99, made by a newer adminkit",
        "upgrade adminkit",
    ),
    "another program's database": (
        lambda path: foreign(path, "CREATE TABLE moz_places (id INTEGER)"),
        "another program",
        "--db",
    ),
    "another program's, with our version": (
        lambda path: foreign(path, "CREATE TABLE job (id INTEGER)", f"PRAGMA user_version = {SCHEMA_VERSION}"),
        "another program",
        "--db",
    ),
    "another program's, migrated the same way": (
        lambda path: foreign(
            path,
            "CREATE TABLE log (id INTEGER)",
            "CREATE TABLE _sqlite_migrations (migration_set TEXT, name TEXT, applied_at TEXT)",
            "INSERT INTO _sqlite_migrations VALUES ('other', 'm001', '')",
        ),
        "another program",
        "--db",
    ),
    "no database": (lambda path: path.write_text("JobID|State\n1|COMPLETED\n" * 99), "not a database", "--db"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("act", [read, connect.prepare, connect.upgrade, lambda path: note(path, "x")])
def test_what_is_no_trace_of_ours_is_refused_and_not_touched(
    tmp_path: Path, what: str, act: Callable[[Path], Any]
) -> None:
    make, message, hint = BAD[what]
    path = tmp_path / "trace.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(AdminkitError) as caught:
        act(path)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize("act", [read, connect.upgrade])
def test_a_trace_that_is_not_there_is_not_made_by_looking(tmp_path: Path, act: Callable[[Path], Any]) -> None:
    with pytest.raises(AdminkitError, match="no trace database at"):
        act(tmp_path / "trace.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("act", [read, connect.prepare])
def test_a_folder_is_no_trace(tmp_path: Path, act: Callable[[Path], Any]) -> None:
    with pytest.raises(AdminkitError, match=str(tmp_path)):
        act(tmp_path)


@pytest.mark.parametrize("act", [read, connect.prepare, connect.upgrade])
def test_a_network_mount_is_refused_before_anything_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Path], Any]
) -> None:
    path = tmp_path / "trace.db"
    path.write_bytes(b"")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / {tmp_path} rw - nfs4 nas:/ rw\n")
    monkeypatch.setattr(location, "MOUNTINFO", mounts)
    with pytest.raises(AdminkitError, match="is on nfs4"):
        act(path)
    assert path.read_bytes() == b""


def test_a_reader_cannot_write(trace: Path) -> None:
    with connect.reader(trace) as db, pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM fact")


# two at once


def test_a_second_writer_waits_and_then_says_who_is_in_the_way(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "BUSY_SECONDS", 0.05)
    with connect.writer(trace) as first:
        first.execute("BEGIN IMMEDIATE")
        with pytest.raises(AdminkitError) as caught:
            note(trace, "second")
        assert "locked" in caught.value.message
        assert "another adminkit is writing" in caught.value.hint
        assert read(trace) == 0, "readers are not in the way of a writer, nor it in theirs"
        first.execute("COMMIT")
    assert note(trace, "second") == 1


def test_a_writer_killed_in_the_middle_leaves_the_rows_before_it(trace: Path) -> None:
    note(trace, "before")

    def write(middle: Callable[[], None]) -> None:
        with connect.writer(trace) as db:
            db.execute("BEGIN")
            db.execute("INSERT INTO fact VALUES ('alpha', 'half', 'x', 1)")
            middle()

    kill_in_the_middle(os.geteuid(), os.getegid(), write)
    assert read(trace) == 1
    assert note(trace, "after") == 2


def test_a_full_disk_is_said_and_leaves_the_trace_whole(trace: Path) -> None:
    note(trace, "before")

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        with connect.writer(trace) as db:
            db.execute("BEGIN")
            for number in range(500):
                db.execute("INSERT INTO fact VALUES ('alpha', ?, ?, 1)", (f"row {number}", "x" * 2000))
            db.execute("COMMIT")

    refused = as_user(os.geteuid(), os.getegid(), fill)
    assert isinstance(refused, Refused)
    assert "space" in refused.hint
    with connect.reader(trace) as db:
        assert count(db) == 1
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert note(trace, "after") == 2


# the group


@as_root
def test_a_member_of_the_group_reads_and_leaves_nothing_behind(shared: Path) -> None:
    before = {one.name: one.stat().st_uid for one in shared.parent.iterdir()}
    assert as_user(READER, GROUP, lambda: read(shared)) == 1
    assert {one.name: one.stat().st_uid for one in shared.parent.iterdir()} == before
    assert set(before.values()) == {OWNER}
    assert len(before) == 3


@as_root
def test_a_reader_killed_in_the_middle_does_not_stop_the_writer(shared: Path) -> None:
    def look(middle: Callable[[], None]) -> None:
        with connect.reader(shared) as db:
            db.execute("BEGIN")
            count(db)
            middle()

    kill_in_the_middle(READER, GROUP, look)
    assert as_user(OWNER, OUTSIDE, lambda: note(shared, "second")) == 2
    assert as_user(READER, GROUP, lambda: read(shared)) == 2
    with connect.writer(shared) as db:
        assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0, "the dead reader still holds the log"


@as_root
def test_root_may_look_without_taking_the_files_over(shared: Path) -> None:
    for one in sidecars(shared):
        one.unlink()
    assert read(shared) == 1
    assert {one.stat().st_uid for one in shared.parent.iterdir()} == {OWNER}
    assert as_user(OWNER, OUTSIDE, lambda: note(shared, "second")) == 2


@as_root
@pytest.mark.parametrize(
    ("act", "message"),
    [(read, "couldn't read"), (connect.prepare, "couldn't write"), (connect.upgrade, "couldn't read")],
)
def test_somebody_outside_the_group_is_refused_with_a_hint(
    shared: Path, act: Callable[[Path], Any], message: str
) -> None:
    refused = as_user(READER, OUTSIDE, lambda: act(shared))
    assert refused.message == f"{message} {shared}: permission denied"
    assert f"the group of {shared.parent}" in refused.hint


@as_root
def test_a_member_of_the_group_may_not_write(shared: Path) -> None:
    refused = as_user(READER, GROUP, lambda: note(shared, "second"))
    assert refused.message == f"couldn't write {shared}: {shared} is read-only for this user"
    assert "its owner" in refused.hint
    assert as_user(READER, GROUP, lambda: read(shared)) == 1


@as_root
@pytest.mark.parametrize("folder_mode", [0o2750, 0o2770])
def test_where_the_log_was_lost_a_reader_makes_none_and_says_how_to_get_it_back(shared: Path, folder_mode: int) -> None:
    shared.parent.chmod(folder_mode)
    for one in sidecars(shared):
        one.unlink()
    refused = as_user(READER, GROUP, lambda: read(shared))
    assert "adminkit trace upgrade" in refused.hint
    assert "daemon" in refused.hint
    assert [one.name for one in shared.parent.iterdir()] == [shared.name]
    assert as_user(OWNER, OUTSIDE, lambda: connect.upgrade(shared)) == (SCHEMA_VERSION, SCHEMA_VERSION)
    assert as_user(READER, GROUP, lambda: read(shared)) == 1


@as_root
def test_a_log_that_somebody_else_owns_is_named(shared: Path) -> None:
    for one in sidecars(shared):
        os.chown(one, READER, GROUP)
    refused = as_user(OWNER, OUTSIDE, lambda: note(shared, "second"))
    assert isinstance(refused, Refused)
    assert f"chown -h daemon: {shared}-" in refused.hint
    assert "belongs to nobody" in refused.hint


@as_root
def test_a_folder_the_owner_may_not_write_is_said(shared: Path) -> None:
    shared.parent.chmod(0o550)
    refused = as_user(OWNER, OUTSIDE, lambda: note(shared, "second"))
    assert refused.message == f"couldn't write {shared}: {shared.parent} is read-only for this user"
    new = shared.with_name("new.db")
    refused = as_user(OWNER, OUTSIDE, lambda: note(new, "first"))
    assert refused.message == f"couldn't write {new}: permission denied"
    assert as_user(OWNER, OUTSIDE, lambda: read(shared)) == 1


def test_who_acts_for_a_user_is_shown_that_user_s_jobs_alone(tmp_path: Path) -> None:
    """Also in what is made of jobs, and whoever has the number of a user who left."""
    games, bins = (pwd.getpwnam(name).pw_uid for name in ("games", "bin"))
    jobs = [
        job(1, user="games", uid=games), job(2, user="bin", uid=bins), job(3, user="games", uid=None),
        job(4, user="games", uid=999),
    ]  # fmt: skip
    path = make_trace(tmp_path / "t.db", jobs)
    for name, expected in (("games", [1, 3]), ("bin", [2]), ("nosuchuser", []), ("x\0", []), ("' OR '1", [])):
        with connect.reader(path, of=name) as db:
            for table in ("job", "run"):
                assert [row[0] for row in db.execute(f"SELECT job_id_raw FROM {table} ORDER BY 1")] == expected
    with connect.reader(path) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (4,)


# what SQLite cannot read


def _break_schema(path: Path) -> None:
    """A table whose words this SQLite does not know, as STRICT is to one before 3.37."""
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', 'STRICTER') WHERE name = 'job'")


def _damage(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 4000)


@pytest.mark.parametrize(
    ("harm", "version", "hint", "why"),
    [
        (_break_schema, (3, 26, 0), "pip install 'adminkit[sqlite]', which brings a newer one; no trace was touched",
         "an old SQLite calls a good trace malformed"),
        (_break_schema, (3, 99, 0), "keep the file, and look at it with that one", "a newer one may have made it"),
        (_damage, (3, 99, 0), "the file is damaged: keep it", "proven broken, and still not to be removed"),
    ],
)  # fmt: skip
def test_no_trace_is_to_be_removed_because_sqlite_cannot_read_it(
    trace: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], None], version: tuple[int, ...], hint: str,
    why: str,
) -> None:  # fmt: skip
    harm(trace)
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    for act in (read, connect.upgrade):
        with pytest.raises(AdminkitError) as caught:
            act(trace)
        assert hint in caught.value.hint, why
        assert "remove it" not in caught.value.hint, why
