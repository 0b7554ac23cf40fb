"""Sections of the settings (config.py) that one room reads, by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le


@dataclass(frozen=True, slots=True)
class Elastic:
    """Jobs that continue with another number of GPUs. Seconds."""

    restart: Annotated[int, Ge(1)] = 300  # what a change costs the job
    between: Annotated[int, Ge(0)] = 3600  # a job has one change in that time at most
    patience: Annotated[int, Ge(1)] = 900  # how long an order holds
    efficiency: Annotated[float, Gt(0), Le(1)] = 0.5  # the least speed for each GPU, of that on its fewest


@dataclass(frozen=True, slots=True)
class Months:
    """Copies of months that are over, in Parquet, which reports read."""

    keep: bool = True  # sync and import write them; without DuckDB there are none
    quiet: Annotated[int, Ge(3600)] = 3 * 86_400  # seconds between the end of a month and its file
    least: Annotated[int, Ge(0)] = 100_000  # a trace of fewer runs has no files
    memory: Annotated[int, Ge(1 << 27)] = 1 << 30  # bytes that DuckDB may hold; the rest goes to disk
    threads: Annotated[int, Ge(1)] = 2
