"""A file for each user with what adminkit has of them, written by the trace's owner and readable only by that user.

The trace's owner is not root and gives no file away: a file stays its own, of mode 0600, with an ACL that has one user
more, who may read. Whoever writes cannot be misled, as nobody else may write in the folder. Every file is written each
time, and filled up to a power of two, so that neither its time nor its size says what a user did. docs/adr/0019.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError, cause
from adminkit.files import folder_to_write, read_plain, replace_file

#: Bytes of the smallest file, and of the largest that is read.
LEAST: Final = 1 << 14
MOST: Final = 1 << 26
VERSION: Final = 1

_ACL: Final = "system.posix_acl_access"
_NAME: Final = re.compile(r"(\d+)\.json")
#: acl(5): the tags of the owner, a user, the group, the mask and others.
_OWNER, _USER, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x10, 0x20
_READ, _WRITE, _NOBODY = 4, 2, 0xFFFFFFFF


def path_of(folder: Path, uid: int) -> Path:
    """The file of that user."""
    return folder / f"{uid}.json"


def acl_of(uid: int) -> bytes:
    """The value of system.posix_acl_access: the owner reads and writes, `uid` reads, nobody else does anything."""
    entries = (
        (_OWNER, _READ | _WRITE, _NOBODY), (_USER, _READ, uid), (_GROUP, 0, _NOBODY), (_MASK, _READ, _NOBODY),
        (_OTHER, 0, _NOBODY),
    )  # fmt: skip
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def check_folder(folder: Path) -> None:
    """AdminkitError where somebody else could put something into the folder, or list it."""
    try:
        facts = folder.lstat()
    except OSError as error:
        hint = f"as root: install -d -o USER -m 0711 {folder}, where USER owns the trace; or set own in adminkit.toml"
        raise AdminkitError(f"couldn't look at {folder}: {cause(error)}", hint) from error
    mode = stat.S_IMODE(facts.st_mode)
    if not stat.S_ISDIR(facts.st_mode):
        raise AdminkitError(f"{folder} is not a folder", "name a folder with own in adminkit.toml")
    if facts.st_uid != os.geteuid():
        raise AdminkitError(f"{folder} belongs to uid {facts.st_uid}", "give it to the trace's owner, who writes here")
    if mode & 0o066:
        raise AdminkitError(
            f"{folder} has mode {mode:04o}: other users could write in it, or list it", f"chmod 0711 {folder}"
        )


def write(folder: Path, uid: int, what: Mapping[str, Any]) -> None:
    """Put the file of that user in its place, whole. `check_folder` comes before."""
    text = json.dumps({"version": VERSION, "uid": uid, **what}, ensure_ascii=False).encode("utf-8", "replace")
    size = max(LEAST, 1 << len(text).bit_length())
    if size > MOST:
        raise AdminkitError(
            f"the file of uid {uid} would have {len(text)} bytes",
            "look at the user's charges: no user should have that many",
        )
    name = path_of(folder, uid).name
    try:
        with folder_to_write(folder) as place:
            replace_file(place, name, text.ljust(size), mode=0o600)
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
            try:
                os.setxattr(handle, _ACL, acl_of(uid))
            finally:
                os.close(handle)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP):
            raise AdminkitError(
                f"{folder} is on a file system without ACLs", "name a folder on another one: own in adminkit.toml"
            ) from error
        raise AdminkitError(f"couldn't write {folder / name}: {cause(error)}", f"look at {folder}") from error


def keep_only(folder: Path, uids: set[int]) -> int:
    """Remove the files of all others, such as users who were forgotten. Returns how many."""
    gone = [one for one in folder.iterdir() if (found := _NAME.fullmatch(one.name)) and int(found[1]) not in uids]
    for path in gone:
        path.unlink(missing_ok=True)
    return len(gone)


def read(folder: Path, uid: int) -> dict[str, Any] | None:
    """What is in the file of that user; None where there is none, or this process may not read it."""
    path = path_of(folder, uid)
    try:
        with folder_to_write(folder) as place:
            found = json.loads(read_plain(path, MOST, folder=place))
    except OSError:
        return None
    except ValueError as error:
        raise AdminkitError(f"{path} is not what adminkit writes", "have an operator run adminkit trace own") from error
    if not isinstance(found, dict) or (found.get("version"), found.get("uid")) != (VERSION, uid):
        raise AdminkitError(f"{path} is of another release or user", "have an operator run adminkit trace own --apply")
    return found
