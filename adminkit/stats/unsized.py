"""How many jobs hours are not known of, or not as GPU-hours."""

from __future__ import annotations

from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select

_COUNTS: Final = """
SELECT count(*) FILTER (WHERE size_gpus IS NULL AND size_cpus > 0), count(*) FILTER (WHERE size_units IS NULL)
FROM run WHERE """


class Unsized(NamedTuple):
    """The jobs of unknown size that a filter takes."""

    gpus: int = 0  # of unknown GPUs and known CPUs: their hours are CPU-hours
    both: int = 0  # of unknown GPUs and CPUs: they have no hours


def unsized(db: sqlite3.Connection, chosen: Filter) -> Unsized:
    """Jobs with a finite limit, as findings about hours count them."""
    counted = select(chosen, limits=True)
    return Unsized(*db.execute(_COUNTS + counted.where, counted.params).fetchone())
