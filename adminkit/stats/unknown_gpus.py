"""How many runs are of unknown GPUs though accounting has them: what it did not track, and parts of unknown size."""

from __future__ import annotations

from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select
from adminkit.trace.gpu_words import is_cut_or_untracked

_COUNT: Final = """
SELECT count(*) FILTER (WHERE gpu_parts IS NULL AND coalesce(gpus, req_gpus) = 0),
    count(*) FILTER (WHERE coalesce(gpu_parts, req_gpu_parts, '?') <> '?'),
    count(*) FILTER (WHERE gpu_parts IS NULL AND (gpus > 0 OR gpus IS NULL AND req_gpu_parts IS NULL AND req_gpus > 0)),
    count(*) FILTER (WHERE gpu_parts = '?' OR gpu_parts IS NULL AND gpus IS NULL AND req_gpu_parts = '?')
FROM run WHERE size_gpus IS NULL AND {where}
"""


class UnknownGpus(NamedTuple):
    """Runs: of queues with GPUs that accounting did not track, with parts of unknown size, with GPUs that may
    be slices, and with words that are not to be read.
    """

    untracked: int = 0
    parts: int = 0
    untyped: int = 0
    unreadable: int = 0


def unknown_gpus(db: sqlite3.Connection, chosen: Filter) -> UnknownGpus:
    """Count the runs of unknown GPUs that `chosen` takes, whatever their time limit."""
    if not is_cut_or_untracked(db):
        return UnknownGpus()
    selection = select(chosen, limits=False)
    return UnknownGpus(*db.execute(_COUNT.format(where=selection.where), selection.params).fetchone())
