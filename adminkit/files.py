"""Opens every file that somebody else may have put there: a plain one, no waiting on pipes, a bound on the size.

`read_plain` is for what adminkit itself wrote, and follows no link; `read_named` and `open_named` are for what somebody
named, on the command line or in the settings. And replaces files, in the one way: written aside, synced, renamed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from adminkit.errors import AdminkitError, cause
from adminkit.owner import as_owner

#: How the name of a file begins that is not whole yet. One that a killed writer left counts for nothing.
ASIDE: Final = ".aside-"

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NULL: Final = os.makedev(1, 3)
#: Links that lead from one to the next, as the kernel has it.
_MOST_LINKS: Final = 40
_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotPlain(AdminkitError):
    """A path that is not a plain file."""


def kind(mode: int) -> str | None:
    """The kind of file that a mode has, in words; None for a plain file."""
    return next((words for test, words in _KINDS if test(mode)), None)


def refuse_strange(path: Path, mode: int) -> None:
    """NotPlain for anything but a plain file."""
    if words := kind(mode):
        raise NotPlain(
            f"{path} is {words}, not a plain file", f"adminkit makes no such file: look at it, then move {path} away"
        )


def is_there(path: Path) -> bool:
    """Whether `path` exists. PermissionError where that cannot be seen: Path.exists of Python 3.14 says no then."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def read_plain(path: Path, most: int, *, links: bool = False, folder: int | None = None) -> bytes:
    """The content of a plain file of at most `most` bytes; `links` follows one. OSErrors pass as they are.

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


def open_named(path: Path, most: int | None = None, *, links: bool = True) -> IO[bytes]:
    """A plain file, open for reading, of at most `most` bytes; an empty one for /dev/null. OSErrors pass as they are.

    Root opens what is in a folder of somebody else as that user, so a link there leads to what they may read.
    """
    with as_owner(path, itself=False):
        link = path.is_symlink()
        if link and not links:
            raise NotPlain(f"{path} is a symbolic link, not a plain file", f"look at it, then move {path} away")
        try:
            handle = os.open(path, _READ | (0 if link else os.O_NOFOLLOW))
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise NotPlain(f"{path} is a socket, not a plain file", "name a plain file") from error
            raise
    try:
        facts = os.fstat(handle)
        if (words := kind(facts.st_mode)) and not (stat.S_ISCHR(facts.st_mode) and facts.st_rdev == _NULL):
            raise NotPlain(f"{path} is {words}, not a plain file", "copy its contents into a file, and name that file")
        if most is not None and facts.st_size > most:
            raise AdminkitError(f"{path} is larger than {_size(most)}", "name another file, or split it")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_named(path: Path, most: int, hint: str = "check the path", *, links: bool = True) -> bytes:
    """The content of such a file. AdminkitError for all that is wrong; `hint` is for one that cannot be read."""
    try:
        with open_named(path, most, links=links) as file:
            data = file.read(most + 1)
    except OSError as error:
        raise AdminkitError(f"couldn't read {path}: {cause(error)}", hint) from error
    if len(data) > most:
        raise AdminkitError(f"{path} is larger than {_size(most)}", hint)
    return data


def _size(most: int) -> str:
    return f"{most >> 20} MiB" if most >= 1 << 20 else f"{most >> 10} KiB"


def open_folder(path: Path, links: bool = False) -> int:
    """Open a folder and return its descriptor; refuse a link at the end of its path unless `links`."""
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW))
    except OSError as error:
        hint = "run it as root on the slurmctld host"
        with suppress(OSError):
            if path.is_symlink():
                raise NotPlain(
                    f"{path} is a symbolic link, not a folder", f"look at it, then move {path} away"
                ) from error
        raise AdminkitError(f"couldn't use {path}: {cause(error)}", hint) from error


def remove_folder(path: Path) -> None:
    """Remove a folder with all that is in it, or what stands in its place; what cannot be removed stays.

    Trap: shutil.rmtree opens what it is given, and waits for a writer where that is a pipe.
    """
    with suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def written_at(path: Path, caller: int) -> tuple[Path, os.stat_result | None]:
    """Where a file that `caller` (a uid) named is to be written: what the links there lead to, and its stat(2).

    AdminkitError for a link, or a file, of somebody else in a folder that is open to all, such as /tmp: whoever put it
    there would choose what is written over, or get what is written. It is the kernel's rule (proc(5),
    fs.protected_symlinks and _regular), which a link that is read and a file that is renamed would pass by.
    """
    path = path.absolute()
    for _ in range(_MOST_LINKS):
        facts = None
        for place in (path, *path.parents):
            with suppress(FileNotFoundError, NotADirectoryError):
                found, above = place.lstat(), place.parent.stat()
                facts = found if place == path else facts
                ours = found.st_uid in (caller, above.st_uid) or not above.st_mode & stat.S_IWOTH
                if not ours and (place == path or stat.S_ISLNK(found.st_mode)):
                    what = f"{kind(found.st_mode) or 'a file'} of uid {found.st_uid}"
                    raise AdminkitError(
                        f"adminkit does not use {place}: it is {what} in a folder where everybody may write",
                        "choose another path",
                    )
        if facts is None or not stat.S_ISLNK(facts.st_mode):
            return path, facts
        if path.parts[1] == "proc":  # a file that is open already, such as that of /dev/stdout
            return path.resolve() if path.is_file() else path, path.stat()
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


@contextmanager
def folder_to_write(path: Path) -> Iterator[int]:
    """A descriptor of a folder to put files in, for `replace_file`; its path may lead through links.

    Of one that this user may not list, such as one of mode 1733, it can look up names only. OSErrors pass.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        handle = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def replace_file(
    folder: int,
    name: str,
    data: bytes,
    *,
    mode: int | None = None,
    group: int | None = None,
    aside: str | None = None,
    aside_folder: int | None = None,
) -> None:
    """Put a file whole into the folder of this descriptor: a reader, and a crash, finds the old one or the new one.

    1. `aside` is created (O_EXCL, O_NOFOLLOW: nothing that somebody else put there is written to). By default its name
       is ASIDE and random; one that is given is removed first, as a killed writer may have left it. `aside_folder` is
       another folder of the same file system.
    2. It gets `group` (None: the process's or the folder's, as the system has it) and exactly `mode` (None: 0666 less
       the umask, which open(2) applies), before anything is in it.
    3. The data is written and synced; then it is renamed to `name`, be there a file or a link; then the folder is
       synced, where it could be opened for reading.

    Its owner is the effective user, which `owner.as_owner` sets. OSErrors pass, and no file is left aside.
    """
    beside = folder if aside_folder is None else aside_folder
    if aside is None:
        aside = f"{ASIDE}{secrets.token_hex(8)}"
    else:
        with suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=beside)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(aside, flags, 0o666 if mode is None else 0o600, dir_fd=beside)
    try:
        with os.fdopen(handle, "wb") as file:
            if group is not None:
                os.fchown(handle, -1, group)
            if mode is not None:
                os.fchmod(handle, mode)
            file.write(data)
            file.flush()
            os.fsync(handle)
        os.rename(aside, name, src_dir_fd=beside, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(aside, dir_fd=beside)
        raise
    if not fcntl.fcntl(folder, fcntl.F_GETFL) & os.O_PATH:
        os.fsync(folder)
