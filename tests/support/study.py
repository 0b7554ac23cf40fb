"""The jobs of the look-alike, and its trace, which take seconds to make: once, for whoever reads them."""

from __future__ import annotations

import os
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
    top = factory.getbasetemp()
    path = (top.parent if "PYTEST_XDIST_WORKER" in os.environ else top) / "look-alike.db"
    if not path.exists():
        # Another process may make it at the same time: each makes a whole one, and they are the same.
        fresh = factory.mktemp("look-alike") / path.name
        demo.make(fresh)
        fresh.rename(path)
    return path
