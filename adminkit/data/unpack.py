"""Unpacks a data set: every file under its name, as it was packed. What does not have its SHA-256 ends it.

Links are made last, and after every folder, so nothing is written through one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import IO, Final

from adminkit.data.index import Entry, Index, opened_in
from adminkit.data.order import refuse_others
from adminkit.errors import AdminkitError, cause
from adminkit.files import remove_folder
from adminkit.quote import quote

_CHUNK: Final = 1 << 20
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_VERIFY: Final = "`adminkit data verify` lists what is wrong; get the folder again"


def unpack(index: Index, out: Path, tick: Callable[[int, int], None]) -> int:
    """Write every file below the new folder `out`, which gets its name at the end; a failure leaves nothing there.

    Returns the number of files and links. `tick` gets those that are done, and their number.
    """
    refuse_others(out)
    if os.path.lexists(out):
        raise AdminkitError(f"{out} already exists", "choose another path, or move it away")
    for _ in index.entries():
        pass  # an index that is wrong ends it before anything is written
    building = out.with_name(f".{out.name}.{secrets.token_hex(4)}.part")
    try:
        building.mkdir()
        done = _files(index, building, tick)
        building.rename(out)
    except OSError as error:
        remove_folder(building)
        raise AdminkitError(
            f"couldn't write {out}: {cause(error)}",
            "free some space, then run it again" if error.errno in (errno.ENOSPC, errno.EDQUOT) else _VERIFY,
        ) from error
    except BaseException:
        remove_folder(building)
        raise
    return done


def _files(index: Index, building: Path, tick: Callable[[int, int], None]) -> int:
    top = os.open(building, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    total, done, links = sum(shard.files for shard in index.head.shards), 0, False
    try:
        for name, entries in groupby(index.entries(), lambda entry: entry.shard):
            with _shard(index, name) as shard:
                for entry in entries:
                    if entry.target is None:
                        _write(shard, entry, top, index)
                    else:
                        links = True
                        _folder_of(entry.name, top)
                    done += 1
                    tick(done, total)
        for entry in index.entries() if links else ():
            if entry.target is not None:
                os.symlink(entry.target, entry.name, dir_fd=top)
    finally:
        os.close(top)
    return done


def _shard(index: Index, name: str) -> IO[bytes]:
    try:
        return opened_in(index.folder, name, index.path / name)
    except OSError as error:
        raise AdminkitError(f"couldn't read {index.path / name}: {cause(error)}", _VERIFY) from error


def _write(shard: IO[bytes], entry: Entry, top: int, index: Index) -> None:
    digest, left = hashlib.sha256(), entry.length
    shard.seek(entry.offset)
    with os.fdopen(_new(entry.name, top), "wb", buffering=0) as file:
        while left:
            data = shard.read(min(left, _CHUNK))
            if not data:
                break
            digest.update(data)
            file.write(data)
            left -= len(data)
    if left or digest.hexdigest() != entry.sha256:
        raise AdminkitError(
            f"{quote(entry.name)} in {index.path / entry.shard} has other bytes than when it was packed", _VERIFY
        )


def _new(name: str, top: int) -> int:
    try:
        return os.open(name, _NEW, 0o666, dir_fd=top)
    except FileNotFoundError:
        _folder_of(name, top)
        return os.open(name, _NEW, 0o666, dir_fd=top)


def _folder_of(name: str, top: int) -> None:
    """Make the folders that a name is in. No link is there yet."""
    parts = name.split("/")[:-1]
    for many in range(1, len(parts) + 1):
        try:
            os.mkdir("/".join(parts[:many]), dir_fd=top)
        except FileExistsError:
            continue
