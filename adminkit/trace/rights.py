"""Who owns the trace and the two files beside it."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path


def sidecars(path: Path) -> tuple[Path, Path]:
    """SQLite's write-ahead log and its shared index."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def missing_sidecar(path: Path) -> Path | None:
    """The first of -wal and -shm that a WAL database lacks; None for a database without WAL.

    Trap: opening the file here would drop this process's SQLite locks on it, so call it only where there are none.
    """
    lost = next((one for one in sidecars(path) if not one.exists()), None)
    if lost is None or not _is_wal(path):
        return None
    return lost


def foreign_sidecar(path: Path) -> Path | None:
    """The first of -wal and -shm that belongs to somebody else than the trace does."""
    try:
        owner = path.stat().st_uid
        return next((one for one in sidecars(path) if one.exists() and one.stat().st_uid != owner), None)
    except OSError:
        return None


def owner_name(path: Path) -> str:
    """The name of the user who owns the file, its number where it has none; "its owner" where that is hidden."""
    try:
        uid = path.stat().st_uid
    except OSError:
        return "its owner"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(path: Path) -> str:
    """As owner_name, for its group."""
    gid = path.stat().st_gid
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _is_wal(path: Path) -> bool:
    """Bytes 18 and 19 of an SQLite file are 2 where it is written through a log."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.pread(handle, 2, 18) == b"\x02\x02"
    finally:
        os.close(handle)
