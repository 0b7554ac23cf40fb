"""Remove files from the folder of users' choices that have a user's name and are not that user's own.

Anybody may create a file of any name there. The sticky bit then keeps the named user from replacing it; only the
folder's owner can remove it. A user's own file with a mistake in it stays.
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

#: The name of a file that was moved out of the way and could not be removed.
ASIDE: Final = re.compile(r"\.away-[0-9a-f]{16}")

_NOREPLACE: Final = 1  # of renameat2(2)


def sweep(folder: Path) -> int:
    """Remove each UID.toml that is not UID's own, or has a second hard link; how many. Each is noted in the journal.

    Does nothing unless this process owns the folder. Never follows a link. The user may put a file there between the
    check and the removal, so a file is checked again after it was moved aside.
    """
    removed = 0
    with _opened(folder) as handle:
        if handle is None or os.fstat(handle).st_uid != os.geteuid():
            return 0
        _clear(handle)
        for uid in _uids(handle):
            try:
                removed += _check(handle, folder, uid)
            except OSError as error:  # one user's file must not stop the others' check
                journal.refused("choices", folder / f"{uid}.toml", uid, f"couldn't be checked: {cause(error)}")
    return removed


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """The folder as a handle, so that nobody can replace it meanwhile; None where it is missing or closed."""
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
    """Remove what an earlier sweep moved aside and did not remove. What cannot be removed now stays."""
    with os.scandir(handle) as entries:
        names = [entry.name for entry in entries if ASIDE.fullmatch(entry.name)]
    for name in names:
        if (facts := _facts(handle, name)) is not None:
            _remove(handle, name, facts)


def _check(handle: int, folder: Path, uid: int) -> bool:
    """Remove UID.toml if it is not that user's own. Whether it was removed."""
    name = f"{uid}.toml"
    facts = _facts(handle, name)
    if facts is None or is_of(facts, uid):
        return False
    aside = f".away-{secrets.token_hex(8)}"
    try:
        os.rename(name, aside, src_dir_fd=handle, dst_dir_fd=handle)
    except FileNotFoundError:
        return False
    except OSError as error:
        journal.refused("choices", folder / name, facts.st_uid, f"{_why(facts, uid)}; not removed: {cause(error)}")
        return False
    moved = _facts(handle, aside)
    if moved is not None and is_of(moved, uid):  # its user replaced it after the first check
        _put_back(handle, aside, name)
        return False
    journal.refused("choices", folder / name, facts.st_uid, f"{_why(facts, uid)}; {_remove(handle, aside, facts)}")
    return True


def _facts(handle: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=handle, follow_symlinks=False)
    except OSError:
        return None


def _put_back(handle: int, aside: str, name: str) -> None:
    """Give a user's own file its name back, unless the user has created another meanwhile.

    Trap: link(2) would not work: fs.protected_hardlinks lets only root link somebody else's file.
    """
    try:
        _rename_if_free(handle, aside, name)
    except FileExistsError:
        os.unlink(aside, dir_fd=handle)


def _rename_if_free(handle: int, name: str, to: str) -> None:
    """FileExistsError where `to` exists. Atomic where kernel, file system and libc have RENAME_NOREPLACE."""
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2") and libc.renameat2(handle, name.encode(), handle, to.encode(), _NOREPLACE) == 0:
        return
    if _facts(handle, to) is not None:
        raise FileExistsError(to)
    os.rename(name, to, src_dir_fd=handle, dst_dir_fd=handle)


def _remove(handle: int, aside: str, facts: os.stat_result) -> str:
    """What became of it, in words. A folder that is not empty stays aside; the user's name is free all the same."""
    try:
        if stat.S_ISDIR(facts.st_mode):
            os.rmdir(aside, dir_fd=handle)
        else:
            os.unlink(aside, dir_fd=handle)
    except OSError as error:
        return f"moved to {aside}, which couldn't be removed: {cause(error)}"
    return "removed"


def _why(facts: os.stat_result, uid: int) -> str:
    if facts.st_uid == uid:
        return "it has a second name"
    return f"{_KINDS.get(stat.S_IFMT(facts.st_mode), 'not a file')} that is not uid {uid}'s"


_KINDS: Final = {stat.S_IFREG: "a file", stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
