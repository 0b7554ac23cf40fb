"""Sections of the settings (config.py) that one room reads, by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge


@dataclass(frozen=True, slots=True)
class Months:
    """Copies of months that are over, in Parquet, which reports read."""

    keep: bool = True  # sync and import write them; without DuckDB there are none
    quiet: Annotated[int, Ge(3600)] = 3 * 86_400  # seconds: a month that has been over for so long is written
    least: Annotated[int, Ge(0)] = 100_000  # runs: a smaller trace is read as fast without
    memory: Annotated[int, Ge(1 << 27)] = 1 << 30  # bytes that DuckDB may hold; the rest goes to disk
    threads: Annotated[int, Ge(1)] = 2
