"""One user's own runs: a small trace in their cache folder, for users who may read no other.

Home folders are on network mounts, where SQLite's locks cannot be trusted. So nobody opens this file in place: it is
read whole into memory and replaced whole, and it has no log beside it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

from adminkit.errors import AdminkitError, cause
from adminkit.files import NotPlain, open_folder, read_plain, replace_file
from adminkit.owner import of_somebody_else
from adminkit.sqlite import loaded, open_database, sqlite3
from adminkit.trace.location import home
from adminkit.trace.schema import lay_out
from adminkit.trace.sight import shadow
from adminkit.trace.transaction import transaction

NAME: Final = "jobs.db"
FOLDER_MODE: Final = 0o700
MODE: Final = 0o600
#: Bytes of a copy: it is held in memory.
MOST: Final = 1 << 28
#: The fact that says how many days were wanted, and when all of them were asked for.
DAYS_FACT: Final = "own days"
#: The fact that says that queues were asked for.
QUEUES_FACT: Final = "own queues"
#: What a copy lacks.
Missing = Literal["all", "newer", "rest"]

_SCHEMA: Final = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
_STEPLESS: Final = """
SELECT DISTINCT job_id_raw FROM (
    SELECT * FROM job WHERE cluster = ?1 AND elapsed > 0 AND end_time IS NOT NULL ORDER BY end_time DESC LIMIT ?2
) AS last WHERE end_time >= ?3 AND NOT EXISTS (SELECT 1 FROM step WHERE step.cluster = last.cluster
    AND step.job_id_raw = last.job_id_raw AND step.submit_time = last.submit_time)
"""
_OLDEST: Final = """
SELECT end_time FROM job WHERE cluster = ?1 AND end_time IS NOT NULL ORDER BY end_time DESC LIMIT 1 OFFSET ?2
"""
_DROP_STEPS: Final = """
DELETE FROM step WHERE cluster = ?1 AND (job_id_raw, submit_time) IN (
    SELECT job_id_raw, submit_time FROM job WHERE cluster = ?1 AND end_time <= ?2)
"""
_DROP: Final = "DELETE FROM job WHERE cluster = ?1 AND end_time <= ?2"


def cache_home(environ: Mapping[str, str] | None = None) -> Path:
    """The user's own folder for what adminkit can make again ($XDG_CACHE_HOME/adminkit)."""
    environ = os.environ if environ is None else environ
    named = environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if named.startswith("/") else home(environ) / ".cache") / "adminkit"


def read(folder: Path) -> bytes | None:
    """The copy; None where there is none, or one that another release made.

    AdminkitError where what is there is not this user's own plain file.
    """
    path = folder / NAME
    try:
        with _own(folder) as handle:
            data = read_plain(path, MOST, folder=handle)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AdminkitError(
            f"couldn't read {path}: {cause(error)}", f"look at it; to start afresh: mv {path} {path}.old"
        ) from error
    return data if _is_of_this_release(data) else None


def keep(folder: Path, data: bytes) -> Path:
    """Put the copy into its place, readable only by its owner. AdminkitError where that cannot be."""
    path = folder / NAME
    if len(data) > MOST:
        raise AdminkitError(f"{path} would be too large", "ask for fewer days")
    try:
        _make(folder)
        with _own(folder) as handle:
            replace_file(handle, NAME, data, mode=MODE)
    except OSError as error:
        raise AdminkitError(f"couldn't write {path}: {cause(error)}", "choose another path: XDG_CACHE_HOME") from error
    return path


@contextmanager
def opened(data: bytes, as_of: int | None = None) -> Iterator[sqlite3.Connection]:
    """A connection to a copy in memory, for readers. With `as_of`, epoch seconds, it is the trace of then."""
    with closing(loaded(data)) as db:
        db.execute("PRAGMA query_only = 1")
        shadow(db, own=False, as_of=as_of, copied=True)
        yield db


@contextmanager
def changed(path: Path, data: bytes | None) -> Iterator[sqlite3.Connection]:
    """A connection that may write to a copy at `path`, a new file in a private folder; an empty one for None."""
    path.touch(0o600, exist_ok=False)
    if data is not None:
        path.write_bytes(data)
    with closing(open_database(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        if data is None:
            with transaction(db):
                lay_out(db)
        yield db


def stepless(db: sqlite3.Connection, cluster: str, most: int, since: int) -> list[int]:
    """JobIDRaw of the last `most` runs, as far as they ended at or after `since` and none of their steps is known."""
    return [row[0] for row in db.execute(_STEPLESS, (cluster, most, since))]


def forget(db: sqlite3.Connection, cluster: str) -> None:
    """Drop all that the copy has of a cluster; those of others stay."""
    with transaction(db):
        for table in ("job", "step", "window", "fact", "queue"):
            db.execute(f"DELETE FROM {table} WHERE cluster = ?", (cluster,))


def trim(db: sqlite3.Connection, cluster: str, most: int) -> int | None:
    """Keep the last `most` runs that ended. The end of the first that was dropped; None where there were no more."""
    row = db.execute(_OLDEST, (cluster, most)).fetchone()
    if row is None:
        return None
    with transaction(db):
        db.execute(_DROP_STEPS, (cluster, row[0]))
        db.execute(_DROP, (cluster, row[0]))
    db.execute("VACUUM")
    return int(row[0])


def _make(folder: Path) -> None:
    """Root makes nothing in a folder of somebody else's: its own jobs would be left there."""
    if os.geteuid() == 0 and (facts := of_somebody_else(folder)) is not None:
        raise AdminkitError(
            f"{folder} is in a folder of uid {facts.st_uid}", "set HOME or XDG_CACHE_HOME to root's own"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(FOLDER_MODE)


@contextmanager
def _own(folder: Path) -> Iterator[int]:
    """A descriptor of the folder, which only this user may enter. FileNotFoundError where it is missing.

    AdminkitError where it belongs to somebody else, or is a link.
    """
    if not os.path.lexists(folder):
        raise FileNotFoundError(folder)
    try:
        handle = open_folder(folder)
    except NotPlain:
        raise
    except AdminkitError as error:
        raise AdminkitError(error.message, "choose another path: XDG_CACHE_HOME") from error
    try:
        facts = os.fstat(handle)
        if facts.st_uid != os.geteuid():
            raise AdminkitError(f"{folder} belongs to uid {facts.st_uid}", "choose another path: XDG_CACHE_HOME")
        if stat.S_IMODE(facts.st_mode) != FOLDER_MODE:
            os.fchmod(handle, FOLDER_MODE)
        yield handle
    finally:
        os.close(handle)


def _is_of_this_release(data: bytes) -> bool:
    """Whether it is whole, and its tables are those of this release."""
    # Bytes 16 and 28 of an SQLite file: the size of a page (1 for 65536), and how many there are.
    size, pages = int.from_bytes(data[16:18], "big"), int.from_bytes(data[28:32], "big")
    if not data or len(data) != pages * (65_536 if size == 1 else size):
        return False
    with closing(open_database(":memory:")) as ours:
        lay_out(ours)
        expected = ours.execute(_SCHEMA).fetchall()
    try:
        with opened(data) as db:
            if db.execute(_SCHEMA).fetchall() != expected:
                return False
            return bool(db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False
