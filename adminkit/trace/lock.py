"""One sync at a time per trace: a lock file beside it, held by the kernel, so that a dead run holds nothing.

Only its owner may open it: whoever can read a file can lock it, so a member of the group could stop every sync.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, cause
from adminkit.files import refuse_strange
from adminkit.owner import as_owner

MODE: Final = 0o600


@contextmanager
def only_one(trace: Path, what: str) -> Iterator[None]:
    """Hold the lock of `trace` while the block runs. Raises AdminkitError, naming the holder, if it is taken."""
    with as_owner(trace), _held(trace.with_name(f".{trace.name}.lock"), trace, what):
        yield


@contextmanager
def _held(path: Path, trace: Path, what: str) -> Iterator[None]:
    try:
        with suppress(FileNotFoundError):
            refuse_strange(path, path.lstat().st_mode)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, MODE)
    except OSError as error:
        raise AdminkitError(f"couldn't open {path}: {cause(error)}", "run it as the user who owns the trace") from error
    try:
        facts = os.fstat(handle)
        refuse_strange(path, facts.st_mode)
        if stat.S_IMODE(facts.st_mode) != MODE and facts.st_uid == os.geteuid():
            os.fchmod(handle, MODE)
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
