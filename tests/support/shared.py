"""What several processes of tests use at a time, made once."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def shared(folder: Path, make: Callable[[Path], object]) -> Iterator[Path]:
    """A folder that the first of several processes makes and fills, and the last one that is in the block removes."""
    with _alone(folder):
        if not (folder / "made").exists():
            try:
                make(folder)
            except BaseException:
                shutil.rmtree(folder)
                raise
            (folder / "made").touch()
        used = (folder / "used").open("w")
        fcntl.flock(used, fcntl.LOCK_SH)
    try:
        yield folder
    finally:
        with used, _alone(folder), suppress(BlockingIOError):
            fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time is in the block; the folder is there."""
    while True:
        folder.mkdir(mode=0o755, exist_ok=True)
        if folder.stat().st_uid != os.geteuid():
            raise PermissionError(f"{folder} belongs to somebody else")
        try:
            lock = (folder / "lock").open("w")
        except FileNotFoundError:
            continue
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Trap: who had it may have removed the folder.
            if os.fstat(lock.fileno()).st_nlink:
                yield
                return
