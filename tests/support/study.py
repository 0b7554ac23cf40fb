"""The jobs of the look-alike, and its trace, which take seconds to make: once, for whoever reads them."""

from __future__ import annotations

import fcntl
import os
import shutil
from functools import cache
from pathlib import Path

import pytest

from adminkit.cli import demo
from adminkit.demo import generate
from adminkit.job import Job


def study(seed: int = generate.SEED) -> tuple[Job, ...]:
    return _study(seed)


@cache
def _study(seed: int) -> tuple[Job, ...]:
    return tuple(generate.jobs(seed))


def made(factory: pytest.TempPathFactory) -> Path:
    """The trace that `adminkit demo` makes: once in a run, for all its processes. Nobody may change it."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    done, part = folder / "look-alike", folder / "look-alike.part"
    with (folder / "look-alike.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            demo.make(part / "trace.db")
            part.rename(done)
    return done / "trace.db"
