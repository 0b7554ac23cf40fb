"""Reads many small files ahead, in order, with several readers at a time; long ones are left open for the writer.

Each file is opened below the folder's descriptor, and no link is followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from adminkit.data.index import MOST_BYTES
from adminkit.data.names import NAME
from adminkit.data.order import Sources, shown
from adminkit.errors import AdminkitError, cause
from adminkit.files import kind

#: Files of at most this number of bytes are read as a whole.
SMALL: Final = 1 << 20
#: Files that a reader takes at a time, and how many readers' files are in memory beside those that are being read.
_TAKEN: Final = 4
_AHEAD: Final = 4
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_AGAIN: Final = "wait until nothing writes there, then run the same command again: it continues"


@dataclass(frozen=True, slots=True)
class Piece:
    """A file that was read, that is open (`handle`, which `stream` closes), or a link with its target."""

    name: bytes
    length: int
    data: bytes = b""
    sha256: str = ""
    handle: int | None = None
    target: bytes | None = None


@contextmanager
def pieces(sources: Sources, first: int, readers: int) -> Iterator[Iterator[Piece]]:
    """The files from the `first`, in their order. AdminkitError for one that cannot be read or changes meanwhile."""
    folder = os.open(sources.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    pool = ThreadPoolExecutor(readers, "read")
    found = _ahead(sources, first, folder, pool, readers)
    try:
        yield found
    finally:
        found.close()
        pool.shutdown(wait=True, cancel_futures=True)
        os.close(folder)


def _ahead(
    sources: Sources, first: int, folder: int, pool: ThreadPoolExecutor, readers: int
) -> Generator[Piece, None, None]:
    names = sources.names(first)
    found: list[Piece] = []
    waiting: deque[Future[list[Piece]]] = deque()

    def some(taken: list[bytes]) -> list[Piece]:
        found: list[Piece] = []
        try:
            for name in taken:
                found.append(_read(sources, folder, name))
        except BaseException:
            _close(found)
            raise
        return found

    try:
        while True:
            while len(waiting) < readers + _AHEAD and (taken := list(islice(names, _TAKEN))):
                waiting.append(pool.submit(some, taken))
            if not waiting:
                return
            found = waiting.popleft().result()
            found.reverse()
            while found:
                yield found.pop()
    finally:
        _close(found)
        for one in waiting:
            if not one.cancel():
                with suppress(AdminkitError, OSError):
                    _close(one.result())


def _close(found: list[Piece]) -> None:
    for piece in found:
        if piece.handle is not None:
            os.close(piece.handle)


def _read(sources: Sources, folder: int, name: bytes) -> Piece:
    try:
        return _opened(sources, folder, name)
    except FileNotFoundError as error:
        raise _changed(sources, name, "is gone") from error
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise AdminkitError(
                f"couldn't read {shown(sources.folder, name)}: {cause(error)}", "pack as a user who may read all of it"
            ) from error
    return _link(sources, folder, name)


def _opened(sources: Sources, folder: int, name: bytes) -> Piece:
    handle = os.open(name, _FLAGS, dir_fd=folder)
    try:
        facts = os.fstat(handle)
        if words := kind(facts.st_mode):
            raise _changed(sources, name, f"is {words}")
        length = facts.st_size
        if length >= MOST_BYTES:
            raise AdminkitError(
                f"{shown(sources.folder, name)} has {length} bytes, and USTAR has room for {MOST_BYTES - 1}",
                "divide it, or move it away: one file of that size is read as fast without being packed",
            )
        if length > SMALL:
            kept, handle = handle, -1
            return Piece(name, length, handle=kept)
        data = _whole(handle, length + 1)
    finally:
        if handle >= 0:
            os.close(handle)
    if len(data) != length:
        raise _changed(sources, name, "changed while it was read")
    return Piece(name, length, data, hashlib.sha256(data).hexdigest())


def _whole(handle: int, most: int) -> bytes:
    """What is in the file, `most` bytes at most."""
    data = os.read(handle, most)
    while 0 < len(data) < most - 1:
        more = os.read(handle, most - len(data))
        if not more:
            break
        data += more
    return data


def _link(sources: Sources, folder: int, name: bytes) -> Piece:
    try:
        target = os.readlink(name, dir_fd=folder)
    except OSError as error:
        raise _changed(sources, name, "changed while it was read") from error
    try:
        target.decode()
    except UnicodeDecodeError as error:
        raise AdminkitError(f"the target of {shown(sources.folder, name)} is not UTF-8", "move it away") from error
    if len(target) > NAME or b"\n" in target:
        raise AdminkitError(
            f"the target of {shown(sources.folder, name)} has more than {NAME} bytes, or a newline",
            "replace the link by what it leads to, or move it away",
        )
    return Piece(name, 0, target=target)


def stream(sources: Sources, piece: Piece) -> Iterator[bytes]:
    """The content of a long file, block by block; closes it. AdminkitError where it is not as long as it was."""
    assert piece.handle is not None
    try:
        before, left = os.fstat(piece.handle), piece.length
        while left:
            block = os.read(piece.handle, min(left, SMALL))
            if not block:
                raise _changed(sources, piece.name, "changed while it was read")
            yield block
            left -= len(block)
        after = os.fstat(piece.handle)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or after.st_size != piece.length:
            raise _changed(sources, piece.name, "changed while it was read")
    except OSError as error:
        raise AdminkitError(
            f"couldn't read {shown(sources.folder, piece.name)}: {cause(error)}", "run the same command again"
        ) from error
    finally:
        os.close(piece.handle)


def _changed(sources: Sources, name: bytes, what: str) -> AdminkitError:
    return AdminkitError(f"{shown(sources.folder, name)} {what}", _AGAIN)
