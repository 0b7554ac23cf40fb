"""Who owns the trace and the two files beside it."""

from __future__ import annotations

import grp
import os
from contextlib import suppress
from pathlib import Path

from adminkit.files import kind, refuse_strange
from adminkit.users import shown


def sidecars(path: Path) -> tuple[Path, Path]:
    """SQLite's write-ahead log and its shared index."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def missing_sidecar(path: Path) -> Path | None:
    """The first of -wal and -shm that a WAL database lacks; None for a database without WAL.

    Trap: opening the file here would drop this process's SQLite locks on it, so call it only where there are none.
    """
    lost = next((one for one in sidecars(path) if not os.path.lexists(one)), None)
    if lost is None or not _is_wal(path):
        return None
    return lost


def foreign_sidecar(path: Path) -> Path | None:
    """The first of -wal and -shm that belongs to somebody else than the trace does, or that is not a plain file."""
    try:
        owner = path.lstat().st_uid
        for one in sidecars(path):
            with suppress(FileNotFoundError):
                facts = one.lstat()
                if facts.st_uid != owner or kind(facts.st_mode):
                    return one
    except OSError:
        pass
    return None


def remedy(path: Path, strange: Path) -> str:
    """What to do about that file beside the trace. A link is given to nobody: it may lead to any file of root's."""
    try:
        found = kind(strange.lstat().st_mode)
    except OSError:
        found = None
    if found:
        return f"{strange} is {found}, not a plain file: look at it, then move it away"
    return f"{strange} belongs to {owner_name(strange)}: as root, chown -h {owner_name(path)}: {strange}"


def refuse_strange_files(path: Path) -> None:
    """NotPlain where a link, a pipe or a folder stands in the place of the trace or beside it.

    Trap: SQLite waits for ever at a pipe, and root follows what a link says. A trace that is a link itself is for its
    folder's owner to judge.
    """
    for one in (path, *sidecars(path), path.with_name(path.name + "-journal")):
        with suppress(FileNotFoundError):
            refuse_strange(one, (one.stat() if one == path else one.lstat()).st_mode)


def owner_name(path: Path) -> str:
    """The name of the user who owns the file, its number where it has none; "its owner" where that is hidden."""
    try:
        uid = path.lstat().st_uid
    except OSError:
        return "its owner"
    return shown(uid)


def group_name(path: Path) -> str:
    """Like owner_name, for its group."""
    gid = path.stat().st_gid
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _is_wal(path: Path) -> bool:
    """Bytes 18 and 19 of an SQLite file are 2 where it is written through a log."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.pread(handle, 2, 18) == b"\x02\x02"
    except OSError:
        return False
    finally:
        os.close(handle)
