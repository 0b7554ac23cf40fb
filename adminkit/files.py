"""Files in a folder that is somebody else's: read without following links, without waiting, and never without end."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, cause

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS: Final = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotPlain(AdminkitError):
    """Something stands in the place of a file."""


def kind(mode: int) -> str | None:
    """What this mode is of, in words; None for a plain file."""
    return next((words for test, words in _KINDS if test(mode)), None)


def refuse_strange(path: Path, mode: int) -> None:
    """NotPlain for anything but a plain file."""
    if found := kind(mode):
        raise NotPlain(
            f"{path} is {found}, no plain file", f"nothing of adminkit's is one: look at it, then remove {path}"
        )


def read_plain(path: Path, most: int, *, links: bool = False, folder: int | None = None) -> bytes:
    """What a plain file of at most `most` bytes holds; `links` follows one. Errors of the system pass as they are.

    `folder` is a descriptor that `path.name` is looked up in; the file has to be its owner's then.
    """
    name = path if folder is None else path.name
    if not links:
        refuse_strange(path, os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    handle = os.open(name, _READ | (0 if links else os.O_NOFOLLOW), dir_fd=folder)
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        refuse_strange(path, facts.st_mode)
        if folder is not None and facts.st_uid != (owner := os.fstat(folder).st_uid):
            raise AdminkitError(
                f"{path} belongs to uid {facts.st_uid}, its folder to uid {owner}",
                f"have the owner of {path.parent} write it",
            )
        data = file.read(most + 1)
    if len(data) > most:
        raise AdminkitError(
            f"{path} is larger than {most} bytes", "it was not made by adminkit, or for another release"
        )
    return data


def open_folder(path: Path, links: bool = False) -> int:
    """A descriptor of a folder; the last part of its path is no link unless `links`."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW))
    except OSError as error:
        hint = "run it as root on the slurmctld host"
        with suppress(OSError):
            if path.is_symlink():
                raise NotPlain(f"{path} is a link, no folder", f"look at it, then remove {path}") from error
        raise AdminkitError(f"couldn't use {path}: {cause(error)}", hint) from error
