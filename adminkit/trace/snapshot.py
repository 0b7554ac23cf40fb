"""A copy of the trace to be read elsewhere: one file without a log, replaced as a whole.

A trace in WAL mode cannot be shared over a network file system, as its readers share memory
(https://sqlite.org/wal.html). A snapshot can: nobody writes it, and a reader keeps the file that it opened.
"""

from __future__ import annotations

import os
import secrets
from contextlib import closing
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, cause
from adminkit.files import kind, written_at
from adminkit.owner import as_caller, as_owner
from adminkit.sqlite import open_database, sqlite3
from adminkit.trace.months.move import bring_all_back

#: The application id of a snapshot; a trace has none.
_SNAPSHOT: Final = 0x616B736E  # aksn


def is_snapshot(path: Path) -> bool:
    """Whether publish() made the file.

    Traps: it is asked without locks, which a network file system may lack; and through SQLite, because closing a file
    that was opened beside it would drop the locks that SQLite has on it in this process.
    """
    try:
        if kind(path.stat().st_mode):
            return False
        with closing(open_database(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            return bool(db.execute("PRAGMA application_id").fetchone() == (_SNAPSHOT,))
    except (OSError, sqlite3.Error):
        return False


def publish(trace: Path, target: Path) -> None:
    """Copy `trace`, which connect.reader() has open, to `target`, with the trace's mode, in the place of an older
    snapshot. What is archived is in the copy's SQLite.

    AdminkitError where anything else stands there.
    """
    with as_caller():
        written_at(target, os.geteuid())
    with as_caller(), as_owner(target):
        if os.path.lexists(target) and (target.is_symlink() or not is_snapshot(target)):
            raise AdminkitError(f"{target} exists and is not a snapshot", "choose another path, or move it away")
    mode = trace.stat().st_mode & 0o777
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with as_caller(), as_owner(target):
            _copy(trace, target, aside, mode)
    finally:
        with as_caller(), as_owner(target):
            aside.unlink(missing_ok=True)


def _copy(trace: Path, target: Path, aside: Path, mode: int) -> None:
    try:
        handle = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise AdminkitError(f"couldn't write {target}: {cause(error)}", "choose another path") from error
    try:
        # Trap: VACUUM makes indexes by the names of tables, and a reader may have views of these names.
        how = f"mode=ro{'&immutable=1' if is_snapshot(trace) else ''}"
        with closing(open_database(f"{trace.absolute().as_uri()}?{how}", uri=True)) as db:
            db.execute("VACUUM main INTO ?", (str(aside),))  # which takes an empty file for one that is not there
        with closing(open_database(aside)) as copy:
            bring_all_back(copy, trace)
            copy.execute(f"PRAGMA application_id = {_SNAPSHOT}")
        os.fchmod(handle, mode)
        os.fsync(handle)
    finally:
        os.close(handle)
    aside.replace(target)
