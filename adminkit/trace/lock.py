"""One sync at a time per trace: a lock file beside it, held by the kernel, so that a dead run holds nothing."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adminkit.errors import AdminkitError


@contextmanager
def only_one(trace: Path, what: str) -> Iterator[None]:
    """Hold the lock of `trace` while the block runs. Raises AdminkitError, naming the holder, if it is taken."""
    path = trace.with_name(f".{trace.name}.lock")
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except OSError as error:
        raise AdminkitError(
            f"couldn't open {path}: {(error.strerror or '').lower()}", "run it as the user who owns the trace"
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(handle, 100, 0).decode(errors="replace").strip()
            raise AdminkitError(f"another run is at work on {trace}: {holder}", "wait for it to end") from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{what}, pid {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
