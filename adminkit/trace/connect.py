"""Every connection to the trace. Readers open it mode=ro; one writer at a time owns it.

The trace is a WAL database whose -wal and -shm stay when the last connection closes. Trap: without them the next
reader has to create them, which a member of the group cannot, or, worse, can, and then owns them. Python has no
call for SQLITE_FCNTL_PERSIST_WAL, so a writer runs `adminkit-ingest --hold` beside itself: it sets the flag and
closes last.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.helper import helper_path
from adminkit.trace.place import refuse_network_mount
from adminkit.trace.schema import SCHEMA_VERSION

BUSY_SECONDS: Final = 30.0
FILE_MODE: Final = 0o640
FOLDER_MODE: Final = 0o2750


def schema_version(db: sqlite3.Connection) -> int:
    """How many migrations the trace has seen; 0 for an empty file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def reader(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection to an existing trace of this release's schema."""
    if not path.exists():
        raise AdminkitError(f"no trace database at {path}", "run `adminkit sync`, `adminkit import` or `adminkit demo`")
    refuse_network_mount(path)
    with closing(_open(path, "ro")) as db:
        with _explained(path):
            version = schema_version(db)
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        _refuse_newer(path, version)
        if version < SCHEMA_VERSION:
            raise AdminkitError(
                f"{path} has schema {version}, this release reads {SCHEMA_VERSION}",
                "run `adminkit trace upgrade` as the user who owns it",
            )
        yield db


@contextmanager
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that may write, to a trace that is made or migrated first. Autocommit: say BEGIN."""
    prepare(path)
    with _held(path), closing(_open(path, "rw")) as db, _explained(path):
        yield db


def prepare(path: Path) -> None:
    """Make the trace if it is missing, migrate it if it is older; refuse it, untouched, if it is newer."""
    refuse_network_mount(path)
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
        path.parent.chmod(FOLDER_MODE)
    if path.exists():
        if not stat.S_ISREG(path.stat().st_mode):
            raise AdminkitError(f"{path} is not a file", "name the trace database with --db")
        with closing(_open(path, "ro")) as db, _explained(path):
            version = schema_version(db)
            tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        _refuse_newer(path, version)
        if version == 0 and tables:
            raise AdminkitError(f"{path} is an SQLite file of some other program", "name another one with --db")
        if version == SCHEMA_VERSION:
            return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE))
        with _held(path), closing(_open(path, "rw")) as db, _explained(path):
            db.execute("PRAGMA journal_mode = WAL")
            from sqlite_utils import Database

            from adminkit.trace.schema import migrate

            migrate(Database(db))
        path.chmod(FILE_MODE)
    except OSError as error:
        raise AdminkitError(f"couldn't write {path}: {error.strerror}", "name another place with --db") from error


def create(path: Path) -> None:
    """An empty trace at `path`, without WAL: a bulk load fills it beside the final place and renames it there."""
    from sqlite_utils import Database

    from adminkit.trace.schema import migrate

    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
    with closing(_open(path, "rw")) as db:
        db.execute("PRAGMA page_size = 8192")
        migrate(Database(db))


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep -wal and -shm in place: the holder opened the trace before us and closes it after us."""
    holder = subprocess.Popen(
        [helper_path(), "--hold", "--db", path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert holder.stdin and holder.stdout
    try:
        holder.stdout.readline()  # "held", or nothing where it could not: then SQLite tells us why, in a moment
        yield
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()


def _open(path: Path, mode: str) -> sqlite3.Connection:
    with _explained(path):
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
        )
    if mode == "rw":
        db.execute("PRAGMA synchronous = NORMAL")
    else:
        db.execute("PRAGMA query_only = 1")
    return db


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors in the operator's words."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        hint = "run with --debug for the details"
        if isinstance(error, sqlite3.DatabaseError) and "not a database" in text:
            hint = "the file is no SQLite database; name another one with --db"
        elif "readonly" in text or "unable to open" in text:
            hint = f"reading needs the group of {path.parent}, writing its owner; or name another trace with --db"
        elif "full" in text:
            hint = "free some space and run the same command again: what was committed is whole"
        elif "locked" in text:
            hint = "another adminkit is writing; wait for it, or look with `adminkit trace status`"
        raise AdminkitError(f"{path}: {text}", hint) from error


def _refuse_newer(path: Path, version: int) -> None:
    if version > SCHEMA_VERSION:
        raise AdminkitError(
            f"{path} has schema {version}, made by a newer adminkit; this one knows {SCHEMA_VERSION}",
            "upgrade adminkit on this host; the trace was not touched",
        )
