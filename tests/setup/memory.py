"""A folder in memory for what tests write, so that none waits for the disk: they call fsync tens of thousands of times,
and an fsync on a busy disk waits for what all others have written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SHM: Final = Path("/dev/shm")
#: Bytes that have to be free there: six private Slurms and the unit tests take half of it.
ROOM: Final = 6 << 30
_PREFIX: Final = "ak-"


@contextlib.contextmanager
def temporary(shm: Path = SHM, room: int = ROOM) -> Iterator[Path | None]:
    """Name a new folder in memory as this process's TMPDIR, and remove it at the end; None where there is no room.

    It goes at the end of the block whatever the tests left in it, also those of an earlier run that was killed.
    """
    if not fits(shm, room):
        yield None
        return
    _clear_abandoned(shm)
    # Short, because sockets are in it; every user may enter it, because jobs run there.
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=shm))
    folder.chmod(0o755)
    before = os.environ.get("TMPDIR"), tempfile.tempdir
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    try:
        yield folder
    finally:
        os.environ.pop("TMPDIR")
        if before[0] is not None:
            os.environ["TMPDIR"] = before[0]
        tempfile.tempdir = before[1]
        shutil.rmtree(folder, ignore_errors=True)


def fits(shm: Path, room: int) -> bool:
    """Whether programs can be run from there, and there is room in it and in memory."""
    try:
        status = os.statvfs(shm)
    except OSError:
        return False
    if status.f_flag & os.ST_NOEXEC or not os.access(shm, os.W_OK):
        return False
    return min(status.f_bavail * status.f_frsize, _available()) >= room


def _available() -> int:
    """Bytes of memory that can be had without swapping."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10
    return 0


def _clear_abandoned(shm: Path) -> None:
    """Remove the folders of runs whose process is gone."""
    for folder in shm.glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists() and folder.stat().st_uid == os.geteuid():
            shutil.rmtree(folder, ignore_errors=True)
