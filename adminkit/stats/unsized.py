"""How many jobs hours are not known of, or not as GPU-hours."""

from __future__ import annotations

from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select
from adminkit.stats.taken import alike

_COUNTS: Final = (
    "CASE WHEN size_gpus IS NULL AND size_cpus > 0 THEN 1 ELSE 0 END",
    "CASE WHEN size_units IS NULL THEN 1 ELSE 0 END",
)


class Unsized(NamedTuple):
    """The jobs of unknown size that a filter takes."""

    gpus: int = 0  # of unknown GPUs and known CPUs: their hours are CPU-hours
    both: int = 0  # of unknown GPUs and CPUs: they have no hours


def unsized(db: sqlite3.Connection, chosen: Filter) -> Unsized:
    """Jobs with a finite limit, as findings about hours count them."""
    found = alike(db, select(chosen, limits=True), (), (), sums=_COUNTS)
    return Unsized(*(int(one.sum()) for one in found.sums))
