"""What takes seconds to make and is only read: one process of a run makes it, and all others find it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The file that make() wrote."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    done, part = folder / name, folder / f"{name}.part"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part / "trace.db")
            part.rename(done)
    return done / "trace.db"
