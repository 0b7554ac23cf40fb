"""Where the files of months are, and which of them are trusted.

PATH.months/cluster=NAME/month=2026-01/run.parquet, as programs that read Parquet expect it; what a cluster's name holds
besides letters and digits is percent-encoded. Folders and files have the modes and the group of the trace's.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote as percent

from adminkit.errors import AdminkitError, cause
from adminkit.files import open_folder
from adminkit.sqlite import sqlite3
from adminkit.trace.months import archived
from adminkit.trace.months.manifest import MonthFile

FOLDER_MODE: Final = 0o2750
FILE_MODE: Final = 0o640
#: The folder in which files are made, and in which DuckDB keeps what does not fit into memory.
SCRATCH: Final = ".scratch"
_PART: Final = 1 << 20


def folder_of(trace: Path) -> Path:
    """The folder of a trace's months."""
    return trace.with_name(f"{trace.name}.months")


def file_of(cluster: str, month: str, name: str) -> tuple[str, str, str]:
    """The folders and the name of a month's file, below folder_of()."""
    return f"cluster={percent(cluster, safe='')}", f"month={month}", f"{name}.parquet"


class Refused(NamedTuple):
    """A file that is not what was written, and why."""

    file: MonthFile
    why: str


@contextmanager
def opened(trace: Path, wanted: list[MonthFile]) -> Iterator[tuple[list[tuple[MonthFile, int]], list[Refused]]]:
    """Descriptors of the files that are as they were written, and what is wrong with others. A file that is missing is
    in neither.
    """
    good: list[tuple[MonthFile, int]] = []
    bad: list[Refused] = []
    try:
        if wanted:
            owner = trace.stat().st_uid
            for one in wanted:
                try:
                    handle = _open(folder_of(trace), one)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    bad.append(Refused(one, _link(error) or cause(error)))
                    continue
                if why := _wrong(handle, one, owner):
                    os.close(handle)
                    bad.append(Refused(one, why))
                else:
                    good.append((one, handle))
        yield good, bad
    finally:
        for _, handle in good:
            os.close(handle)


def _link(error: OSError) -> str | None:
    return "a link stands in its place" if error.errno in (errno.ELOOP, errno.ENOTDIR) else None


def _open(folder: Path, one: MonthFile) -> int:
    """A descriptor of a file below the folder; no link is followed on the way. OSErrors pass."""
    *folders, name = file_of(one.cluster, one.month, one.name)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(folder, flags | os.O_DIRECTORY)
    try:
        for each in folders:
            inner = os.open(each, flags | os.O_DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = inner
        return os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=handle)
    finally:
        os.close(handle)


def _wrong(handle: int, one: MonthFile, owner: int) -> str | None:
    """What is wrong with an open file; None for one that is as it was written."""
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode):
        return "it is not a plain file"
    if facts.st_uid != owner:
        return f"it belongs to uid {facts.st_uid}, the trace to uid {owner}"
    if facts.st_size != one.size:
        return f"it has {facts.st_size} bytes, and {one.size} were written"
    # Nobody but root sets a file's time of change: the same one on the same inode means the same bytes.
    if (facts.st_ino, facts.st_ctime_ns) != (one.inode, one.changed) and digest(handle) != one.sha256:
        return "it does not hold what was written"
    return None


def digest(handle: int) -> str:
    """The SHA-256 of an open file."""
    found, at = hashlib.sha256(), 0
    while part := os.pread(handle, _PART, at):
        found.update(part)
        at += len(part)
    return found.hexdigest()


def make_folder(trace: Path) -> Path:
    """The folder of the months, made where it is missing, empty but for files of months. AdminkitError where a link or
    another user's folder stands there.
    """
    folder = folder_of(trace)
    try:
        for one in (folder, folder / SCRATCH):
            _own_folder(one, trace.stat().st_uid)
    except OSError as error:
        raise AdminkitError(
            f"couldn't write {folder}: {cause(error)}", "look at it, or set keep = false in [months]"
        ) from error
    return folder


def _own_folder(folder: Path, owner: int) -> None:
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(FOLDER_MODE)
    handle = open_folder(folder)
    try:
        found = os.fstat(handle).st_uid
    finally:
        os.close(handle)
    if found != owner:
        raise AdminkitError(
            f"{folder} belongs to uid {found}, the trace to uid {owner}", f"look at it, then move {folder} away"
        )


def put(trace: Path, aside: Path, of: tuple[str, str, str]) -> os.stat_result:
    """Give a finished file in SCRATCH its name. Returns its stat(2)."""
    folder = folder_of(trace)
    owner = trace.stat().st_uid
    for each in of[:-1]:
        folder = folder / each
        _own_folder(folder, owner)
    aside.rename(folder / of[-1])
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    return (folder / of[-1]).lstat()


def sweep(db: sqlite3.Connection, trace: Path) -> int:
    """Remove every file that the trace has no row for. Returns how many. The caller holds the lock of the months."""
    folder, gone = folder_of(trace), 0
    if not os.path.lexists(folder):
        return 0
    right = {file_of(*one) for one in archived.kept(db)}
    try:
        os.close(open_folder(folder))
        for place, inner, names in os.walk(folder, topdown=False):
            within = Path(place).relative_to(folder).parts
            for name in names:
                if (*within, name) not in right:
                    (Path(place) / name).unlink()
                    gone += 1
            for name in inner:
                with suppress(OSError):  # not empty
                    link = Path(place) / name
                    link.unlink() if link.is_symlink() else link.rmdir()
    except OSError as error:
        raise AdminkitError(
            f"couldn't remove old files of {folder}: {cause(error)}",
            f"run the same command as the trace's owner; ls -la {folder} shows whose files are there",
        ) from error
    with suppress(OSError):
        folder.rmdir()
    return gone
