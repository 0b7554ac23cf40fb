"""A new trace, built beside its final place and put there whole: a crash on the way leaves no half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from adminkit.errors import AdminkitError
from adminkit.owner import as_owner
from adminkit.sqlite import open_database, sqlite3
from adminkit.trace import connect


def beside(path: Path) -> Path:
    """Where the trace is built: the same folder, so that the rename is atomic. Leftovers of dead builds are removed."""
    if not connect.is_there(path.parent):
        path.parent.mkdir(parents=True)
        path.parent.chmod(connect.FOLDER_MODE)
    for old in path.parent.glob(f".{path.name}.*.new*"):
        pid = old.name.removeprefix(f".{path.name}.").split(".")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            old.unlink(missing_ok=True)
    return path.with_name(f".{path.name}.{os.getpid()}.new")


@contextmanager
def made(path: Path) -> Iterator[Path]:
    """An empty trace to be filled, which gets the name `path` at the end of the block; a failure leaves nothing."""
    with as_owner(path):
        target = beside(path)
        try:
            connect.create(target)
            yield target
            install(target, path)
        finally:
            target.unlink(missing_ok=True)


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a trace under construction, which no other process uses: no WAL, no holder."""
    with closing(open_database(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        yield db


def later_indexes(db: sqlite3.Connection, key_too: bool) -> tuple[list[str], list[str]]:
    """Statements (before, after) a bulk load that make the job table's indexes at its end: sorting beats inserting.

    `key_too`: the unique key as well, for a load that only inserts. CREATE then fails where a run came twice.
    Each sort keeps what the cache may hold in memory and the rest in a file: with temp_store = MEMORY, as for the rows
    before, it would ask for memory once for every row, and for all of it.
    """
    found = db.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'job' AND (name <> 'job_key' OR ?)",
        (key_too,),
    )
    names, creates = zip(*found.fetchall(), strict=True)
    return [f"DROP INDEX {name}" for name in names], ["PRAGMA temp_store = FILE", *creates]


def install(built: Path, path: Path) -> None:
    """Give the finished trace its name. It is on disk before it is seen under it.

    Raises AdminkitError where another run has made a trace of that name meanwhile: that one stays.
    """
    with closing(open_database(built)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    _sync(built)
    # Trap: SQLite would replay the log that a removed trace has left beside it onto the new one.
    for leftover in ("-wal", "-shm"):
        if not connect.is_there(path):
            path.with_name(path.name + leftover).unlink(missing_ok=True)
    try:
        os.link(built, path)
    except FileExistsError as error:
        raise AdminkitError(
            f"another run made {path} meanwhile", "run the same command again: it adds to it"
        ) from error
    built.unlink()
    _sync(path.parent)
    with connect.writer(path):
        pass  # leaves -wal and -shm in place, so that the group can read from the first moment on


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
