"""Take away from the folder of users' choices what stands under a user's name and is not that user's.

Anybody may put a file of any name there, and the sticky bit then keeps the user from writing over it: only the folder's
owner may take it away. What `read` would not read goes; a user's own file with a slip in it stays.
"""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from adminkit import journal
from adminkit.errors import AdminkitError, cause
from adminkit.feedback.prefs import FILE, is_of

#: A file that was moved out of the way and could not be removed.
ASIDE: Final = re.compile(r"\.away-[0-9a-f]{16}")

_NOREPLACE: Final = 1  # of renameat2(2)


def sweep(folder: Path) -> int:
    """Remove UID.toml that is not UID's own or has a second name; how many. Says each in the journal.

    Does nothing where this process does not own the folder: nobody else may. Never follows a link. Between the look
    and the removal its user may have put a file of their own there: what was taken is looked at once more.
    """
    removed = 0
    with _opened(folder) as handle:
        if handle is None or os.fstat(handle).st_uid != os.geteuid():
            return 0
        _clear(handle)
        for uid in _uids(handle):
            try:
                removed += _look(handle, folder, uid)
            except OSError as error:  # whatever one user does, the others' names are looked at
                journal.refused("choices", folder / f"{uid}.toml", uid, f"couldn't be looked at: {cause(error)}")
    return removed


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """The folder itself, so that nobody can put another in its place; None where there is none."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        yield None
        return
    except OSError as error:
        raise AdminkitError(f"couldn't open {folder}: {cause(error)}", "name another in [feedback] prefs") from error
    try:
        yield handle
    finally:
        os.close(handle)


def _uids(handle: int) -> list[int]:
    with os.scandir(handle) as entries:
        return sorted(int(match[1]) for entry in entries if (match := FILE.fullmatch(entry.name)))


def _clear(handle: int) -> None:
    """Remove what an earlier sweep left aside: it was killed, or could not. What cannot be removed now stays."""
    with os.scandir(handle) as entries:
        names = [entry.name for entry in entries if ASIDE.fullmatch(entry.name)]
    for name in names:
        if (found := _facts(handle, name)) is not None:
            _remove(handle, name, found)


def _look(handle: int, folder: Path, uid: int) -> bool:
    """Take UID.toml away if it is somebody else's. Whether it went."""
    name = f"{uid}.toml"
    found = _facts(handle, name)
    if found is None or is_of(found, uid):
        return False
    aside = f".away-{secrets.token_hex(8)}"
    try:
        os.rename(name, aside, src_dir_fd=handle, dst_dir_fd=handle)
    except FileNotFoundError:
        return False
    except OSError as error:
        journal.refused("choices", folder / name, found.st_uid, f"{_why(found, uid)}; not removed: {cause(error)}")
        return False
    taken = _facts(handle, aside)
    if taken is not None and is_of(taken, uid):  # put there since the first look
        _put_back(handle, aside, name)
        return False
    journal.refused("choices", folder / name, found.st_uid, f"{_why(found, uid)}; {_remove(handle, aside, found)}")
    return True


def _facts(handle: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=handle, follow_symlinks=False)
    except OSError:
        return None


def _put_back(handle: int, aside: str, name: str) -> None:
    """The user's own again, unless they have put another there meanwhile.

    Trap: a link would not do, fs.protected_hardlinks keeps everybody but root from linking a file of somebody else's.
    """
    try:
        _rename_if_free(handle, aside, name)
    except FileExistsError:
        os.unlink(aside, dir_fd=handle)


def _rename_if_free(handle: int, name: str, to: str) -> None:
    """FileExistsError where `to` is there. In one step where kernel, filesystem and libc can, else look and rename."""
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2") and libc.renameat2(handle, name.encode(), handle, to.encode(), _NOREPLACE) == 0:
        return
    if _facts(handle, to) is not None:
        raise FileExistsError(to)
    os.rename(name, to, src_dir_fd=handle, dst_dir_fd=handle)


def _remove(handle: int, aside: str, found: os.stat_result) -> str:
    """What became of it. A folder with something in it is not this user's to empty: its name is free all the same."""
    try:
        if stat.S_ISDIR(found.st_mode):
            os.rmdir(aside, dir_fd=handle)
        else:
            os.unlink(aside, dir_fd=handle)
    except OSError as error:
        return f"moved to {aside}, which couldn't be removed: {cause(error)}"
    return "removed"


def _why(found: os.stat_result, uid: int) -> str:
    if found.st_uid == uid:
        return "it has a second name"
    return f"{_KINDS.get(stat.S_IFMT(found.st_mode), 'not a file')} that is not uid {uid}'s"


_KINDS: Final = {stat.S_IFREG: "a file", stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
