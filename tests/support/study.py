"""The jobs of the look-alike, which take seconds to make: once in a process, for whoever reads them."""

from __future__ import annotations

from functools import cache

from adminkit.demo import generate
from adminkit.job import Job


@cache
def study(seed: int = generate.SEED) -> tuple[Job, ...]:
    return tuple(generate.jobs(seed))
