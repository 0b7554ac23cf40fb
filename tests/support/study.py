"""The jobs of the look-alike, and its trace, which take seconds to make: once, for whoever reads them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from adminkit.cli import demo
from adminkit.demo import generate
from adminkit.job import Job
from tests.support.once import once


def study(seed: int = generate.SEED) -> tuple[Job, ...]:
    return _study(seed)


@cache
def _study(seed: int) -> tuple[Job, ...]:
    return tuple(generate.jobs(seed))


def made(factory: pytest.TempPathFactory) -> Path:
    """The trace that `adminkit demo` makes: once in a run, for all its processes. Nobody may change it."""
    return once(factory, "look-alike", demo.make)
