"""A /tmp in memory for a part of its own: tests call fsync tens of thousands of times, and on a busy disk each call
waits for what all others have written.

It is a mount in a namespace of the part: nobody else sees it, and it goes with the last process of the part.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
#: Bytes of memory that have to be free, because a Slurm part runs beside; /tmp may take half of them.
ROOM: Final = 10 << 30
_SCRIPT: Final = f'mount -t tmpfs -o mode=1777,size={ROOM // 2} tests /tmp && exec "$@"'
_UNSHARE: Final = ("unshare", "--mount", "--propagation", "private", "sh", "-c", _SCRIPT, "sh")


def with_tmp(command: Sequence[str], room: int = ROOM, needed: Sequence[Path] | None = None) -> tuple[str, ...]:
    """The command with a /tmp in memory; as it is where that cannot be had, or where a `needed` path is below /tmp."""
    if needed is None:
        needed = (ROOT, Path(sys.prefix), Path(sys.base_prefix), Path.home(), _traces())
    if any(path.resolve().is_relative_to("/tmp") for path in needed) or _available() < room:
        return tuple(command)
    # Who is not root, and most containers, may mount nothing.
    if shutil.which("unshare") is None or subprocess.run([*_UNSHARE, "true"], capture_output=True).returncode:
        return tuple(command)
    return (*_UNSHARE, *command)


def _traces() -> Path:
    return Path(os.environ.get("ADMINKIT_TRACES") or "/")


def _available() -> int:
    """Bytes of memory that can be had without swapping."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10
    return 0
