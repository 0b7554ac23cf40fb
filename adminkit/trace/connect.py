"""Every connection to the trace. Readers open it mode=ro; one writer at a time owns it. Root opens somebody else's as
that user (owner.py), from the first look until it is closed.

The trace is a WAL database whose -wal and -shm stay when the last connection closes. Trap: without them the next
reader has to create them, which a member of the group cannot, or, worse, can, and then owns them. Python has no
call for SQLITE_FCNTL_PERSIST_WAL, so a writer runs `adminkit-ingest --hold` beside itself: it sets the flag and
closes last.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from adminkit import files
from adminkit.errors import AdminkitError, cause
from adminkit.installed import helper_path
from adminkit.owner import as_owner, of_its_owner, of_own_child
from adminkit.sqlite import open_database, sqlite3
from adminkit.trace.columns import register
from adminkit.trace.location import refuse_network_mount
from adminkit.trace.months import door, late
from adminkit.trace.months.shown import Connection, show
from adminkit.trace.permissions import foreign_sidecar, missing_sidecar, owner_name, refuse_strange_files, remedy
from adminkit.trace.schema import SCHEMA_VERSION, migrate
from adminkit.trace.sight import sees_others, shadow
from adminkit.trace.snapshot import is_snapshot

#: Bytes. A row of the trace is wide: an upsert touches fewer of the larger pages.
PAGE_SIZE: Final = 8192
BUSY_SECONDS: Final = 30.0
#: To wait for a process that makes or migrates a trace; not for ever, as who may read the folder may lock it.
ALONE_SECONDS: Final = 600.0
FILE_MODE: Final = 0o640
FOLDER_MODE: Final = 0o2750

_OUR_MIGRATIONS: Final = "SELECT 1 FROM _sqlite_migrations WHERE migration_set = 'adminkit' LIMIT 1"


def is_there(path: Path) -> bool:
    """Whether `path` exists. AdminkitError where that cannot be seen."""
    with _permitted(path, "read"):
        return files.is_there(path)


def schema_version(db: sqlite3.Connection) -> int:
    """How many migrations the trace has seen; 0 for an empty file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def file_of(db: sqlite3.Connection) -> Path | None:
    """The file of a connection; None for a trace in memory."""
    name = db.execute("PRAGMA database_list").fetchone()[2]
    return Path(name) if name else None


@contextmanager
def reader(
    path: Path, as_of: int | None = None, of: str | None = None, *, archive: bool = True
) -> Iterator[sqlite3.Connection]:
    """A read-only connection to an existing trace of this release's schema. Never leaves a file behind.

    Users who may not see others' jobs see only their own. `as_of`, epoch seconds: the trace as it was then. `of`: only
    the jobs of this user, for who acts for them. `archive`: with archived months.
    """
    with as_owner(path):
        if not is_there(path):
            raise AdminkitError(
                f"no trace database at {path}", "run `adminkit sync`, `adminkit import` or `adminkit demo`"
            )
        snapshot = is_snapshot(path)
        if not snapshot:
            refuse_network_mount(path)
            _refuse_to_own_sidecars(path)
        register()
        with closing(_open(path, "ro", immutable=snapshot)) as db:
            with _explained(path):
                version = _version_of_ours(db, path)
            if version < SCHEMA_VERSION:
                raise AdminkitError(
                    f"{path} has schema {version}, this release reads {SCHEMA_VERSION}",
                    f"run `adminkit trace upgrade` as {owner_name(path)}, who owns it",
                )
            own = not sees_others(path)
            shadowed = own or as_of is not None or of is not None
            if archive:
                show(db, path, whole=shadowed)
            if shadowed:
                shadow(db, own=own, as_of=as_of, of=of)
                yield db
            elif snapshot or not archive:
                yield db
            else:
                with door.opened(db, path):
                    yield db


@contextmanager
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that may write, to a trace that is made or migrated first. Autocommit: say BEGIN."""
    with as_owner(path):
        prepare(path)
        register()
        with _held(path), closing(_open(path, "rw")) as db, _explained(path):
            late.settle(db, path)
            yield db
            late.settle(db, path)


@of_its_owner
def prepare(path: Path) -> None:
    """Make the trace if it is missing, migrate it if it is older; refuse it, untouched, if it is newer or no trace."""
    if is_snapshot(path):
        raise AdminkitError(
            f"{path} is a snapshot, which can only be read", "use --db to name the trace that it was made from"
        )
    refuse_network_mount(path)
    with _permitted(path, "write"):
        if not files.is_there(path.parent):
            path.parent.mkdir(parents=True)
            path.parent.chmod(FOLDER_MODE)
        if not _is_current(path):
            with _alone(path.parent):
                if not _is_current(path):
                    _migrate(path)
    for place in (path, path.parent):
        if not os.access(place, os.W_OK):
            raise AdminkitError(f"couldn't write {path}: {place} is read-only for this user", _whose(path))


@of_its_owner
def upgrade(path: Path) -> tuple[int, int]:
    """Bring an existing trace to this release's schema. Returns the versions (before, after).

    Puts back -wal and -shm if they were lost, so that the group can read again.
    """
    if not is_there(path):
        raise AdminkitError(f"no trace database at {path}", "name one with --db")
    refuse_network_mount(path)
    with closing(_open(path, "ro")) as db, _explained(path):
        before = _version_of_ours(db, path)
    with writer(path) as db:
        return before, schema_version(db)


@of_its_owner
def create(path: Path) -> None:
    """An empty trace at `path`, without WAL: a bulk load fills it beside the final place and renames it there."""
    with _permitted(path, "write"):
        path.unlink(missing_ok=True)
        _touch(path, os.O_EXCL)
    with closing(_open(path, "rw")) as db, _explained(path):
        db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        migrate(db)


def _is_current(path: Path) -> bool:
    """Whether the trace is there and of this schema. Raises for anything that must not be touched."""
    if not files.is_there(path):
        return False
    with closing(_open(path, "ro")) as db, _explained(path):
        return _version_of_ours(db, path) == SCHEMA_VERSION


def _migrate(path: Path) -> None:
    if not files.is_there(path):
        _touch(path)
    with closing(_open(path, "rw")) as db, _explained(path):
        db.execute(f"PRAGMA page_size = {PAGE_SIZE}")  # heeded only while the file is empty
        db.execute("PRAGMA journal_mode = WAL")  # before the holder looks, or it holds no log
    with _held(path), closing(_open(path, "rw")) as db, _explained(path):
        migrate(db)


def _touch(path: Path, flags: int = 0) -> None:
    """An empty file of the right mode, whatever the umask: SQLite gives -wal and -shm the mode it finds."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | flags, FILE_MODE)
    try:
        os.fchmod(handle, FILE_MODE)
    finally:
        os.close(handle)


def _version_of_ours(db: sqlite3.Connection, path: Path) -> int:
    """The schema version; 0 for an empty file. Raises for a newer trace and for another program's database."""
    version = schema_version(db)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    ours = tables == {"_sqlite_migrations"} or (  # a first migration that was cut short
        "_sqlite_migrations" in tables and db.execute(_OUR_MIGRATIONS).fetchone() is not None
    )
    if not ours and (tables or version):
        raise AdminkitError(f"{path} is an SQLite database of another program", "name another one with --db")
    if version > SCHEMA_VERSION:
        raise AdminkitError(
            f"{path} has schema {version}, made by a newer adminkit; this one knows {SCHEMA_VERSION}",
            "upgrade adminkit on this host; the trace was not changed",
        )
    return version


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time makes or migrates a trace in this folder; the kernel frees a dead one's lock."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    until = time.monotonic() + ALONE_SECONDS
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise AdminkitError(
                    f"another process holds the lock of {folder}",
                    "lslocks -o PID,PATH names it; end it, then repeat",
                ) from error
        time.sleep(0.1)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep -wal and -shm in place: the holder opened the trace before us and closes it after us."""
    program = helper_path()
    with of_own_child(program) as start:
        holder = subprocess.Popen(
            [program, "--hold", "--db", path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **start,
        )
    assert holder.stdin and holder.stdout
    try:
        holder.stdout.readline()  # "held", or "" where it failed: then SQLite gives the reason in a moment
        yield
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()


def _open(path: Path, mode: str, immutable: bool = False) -> sqlite3.Connection:
    """`immutable`: nobody writes this file, so no lock is needed."""
    with _permitted(path, "open"):
        refuse_strange_files(path)
    how = f"mode={mode}&immutable=1" if immutable else f"mode={mode}"
    with _explained(path):
        db = open_database(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=BUSY_SECONDS, factory=Connection)
    if mode == "rw":
        db.execute("PRAGMA synchronous = NORMAL")
    else:
        db.execute("PRAGMA query_only = 1")
    return db


def _refuse_to_own_sidecars(path: Path) -> None:
    """A reader who may write the folder would create lost -wal and -shm, own them, and lock the writer out.

    Root may, where all of the path is its own.
    """
    if (
        os.geteuid() not in (0, path.stat().st_uid)
        and os.access(path.parent, os.W_OK)
        and (lost := missing_sidecar(path))
    ):
        raise AdminkitError(
            f"did not open {path}: {lost} is missing, and opening would create it as a file of this user",
            _put_back(path),
        )


@contextmanager
def _permitted(path: Path, what: str) -> Iterator[None]:
    """The kernel's refusals in the operator's words."""
    try:
        yield
    except OSError as error:
        raise AdminkitError(f"couldn't {what} {path}: {cause(error)}", _whose(path)) from error


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors in the operator's words."""
    try:
        yield
    except sqlite3.Error as error:
        raise AdminkitError(f"{path}: {error}", _hint(path, str(error))) from error


def _hint(path: Path, text: str) -> str:
    if "not a database" in text or "file is encrypted" in text:
        return "the file is not an SQLite database; name another one with --db"
    if "readonly" in text or "unable to open" in text:
        if strange := foreign_sidecar(path):
            return remedy(path, strange)
        if os.geteuid() != 0 and missing_sidecar(path):
            return _put_back(path)
        return _whose(path)
    if "full" in text or "disk I/O" in text:
        return "check space and quota (df, quota), then run the same command again: what was committed is intact"
    if "locked" in text:
        return "another adminkit is writing; wait for it, or look with `adminkit trace status`"
    if "malformed database schema" in text or "no such table: sqlite_schema" in text:
        return _newer_sqlite()
    if "malformed" in text:
        return (
            f"the file is damaged: keep it with its -wal and -shm (mv {path} {path}.damaged), then restore a backup or"
            " sync again (--since)"
        )
    return "run with --debug for the details"


def _newer_sqlite() -> str:
    """What to do where SQLite cannot read the schema: a newer one says what an older one calls malformed."""
    return (
        f"a newer SQLite than this Python's {sqlite3.sqlite_version} may have made it:"
        " keep the file, and look at it with that one (PRAGMA integrity_check)"
    )


def _put_back(path: Path) -> str:
    return f"run `adminkit trace upgrade --db {path}` as {owner_name(path)}: it puts -wal and -shm back"


def _whose(path: Path) -> str:
    """Who may read and write here; names another way out."""
    return (
        f"to read it, be in the group of {path.parent}; to write it, be its owner; or name another trace with --db;"
        " `adminkit my` shows your own jobs without a trace"
    )
