"""GPUs that were free and that nobody could use, because memory or CPUs were reserved: how many other sizes of the same
runs would have left usable.

Each run stays where and when it was; only what it held is smaller. So nothing is said of the jobs that would then have
started. The interval is a circular block bootstrap over days (bootstrap.py), by the day on which a stretch began.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.bootstrap import ratio_interval
from adminkit.stats.select import Filter
from adminkit.stats.waste_room import Room, known_nodes, room
from adminkit.stats.waste_runs import BLOCK, Held, Reader
from adminkit.stats.waste_shapes import LITTLE
from adminkit.stats.window import clamped, known_times

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY: Final = 86_400
#: Days with stranded GPUs without which there is no interval.
LEAST_DAYS: Final = 10
#: A run is found by JobIDRaw and Submit in one whole number.
_SHIFT: Final = 1 << 32

#: (JobIDRaw, Submit) -> what the run would have held in all: bytes, or CPUs.
Sizes = Mapping[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class Freed:
    """GPU-seconds that were stranded, and of these, those that would not have been; `low` and `high` bound the share
    of these at 95 %, None where too few days show it, or where draws of days have none. `days` had stranded GPUs."""

    stranded: float
    freed: float
    days: int
    low: float | None = None
    high: float | None = None


def freed(
    db: sqlite3.Connection, cluster: str, now: int, what: str, sizes: Sizes, *, checkpoint_code: int, rows: int = BLOCK
) -> Freed | None:
    """What `sizes` of `what` (mem, cpu) would have done on a cluster; None where the trace does not show what was free.

    A run without one keeps what it had.
    """
    import numpy as np

    chosen = Filter([cluster], states=(), min_elapsed=-1, checkpoint_code=checkpoint_code)
    window = clamped(chosen, known_times(db, chosen, now), now)
    nodes = known_nodes(db, cluster)
    if window is None or not any(node.times for node in nodes.values()):
        return None
    keys = np.array([number * _SHIFT + submit for number, submit in sizes], np.int64)
    order = np.argsort(keys)
    table = keys[order], np.array(list(sizes.values()), np.float64)[order]
    days = (window[1] - window[0]) // DAY + 1
    stranded, usable, known = np.zeros(days), np.zeros(days), False
    reader = Reader(db, cluster, window, now, list(nodes))
    for begin, end in reader.blocks(rows):
        runs = reader.known(begin, end)
        runs = runs.of((runs.start_time < end) & (runs.end_time > begin))
        as_it_was = room(runs, list(nodes.values()), (begin, end))
        smaller = room(_resized(runs, what, *table), list(nodes.values()), (begin, end))
        seconds = (as_it_was.end - as_it_was.begin) * np.floor(as_it_was.gpu)
        before = _lacks(as_it_was, what)
        day = ((as_it_was.begin - window[0]) // DAY).astype(np.int64)
        stranded += np.bincount(day[before], seconds[before], days)
        after = before & ~_lacks(smaller, what)
        usable += np.bincount(day[after], seconds[after], days)
        known = known or bool(_told(as_it_was, what).any())
    if not known or reader.homeless == reader.ran:
        return None
    many, whole = int((stranded > 0).sum()), float(stranded.sum())
    low, high = ratio_interval(usable, stranded) if many >= LEAST_DAYS else (math.inf, math.inf)
    if not math.isfinite(high):  # in some draws of days no GPU is stranded, so a share of them is not known
        return Freed(whole, float(usable.sum()), many)
    return Freed(whole, float(usable.sum()), many, low, high)


def _told(free: Room, what: str) -> NDArray[Any]:
    """Where it is known what was free."""
    known: NDArray[Any] = free.gpu_known & free.cpu_known
    return known & free.mem_known if what == "mem" else known


def _lacks(free: Room, what: str) -> NDArray[Any]:
    """Where GPUs were free without memory, or without CPUs: the shapes of waste_shapes.py."""
    lack: NDArray[Any] = _told(free, what) & (free.gpu >= 1)
    return lack & (free.cpu >= 1) & (free.mem < LITTLE) if what == "mem" else lack & (free.cpu < 1)


def _resized(runs: Held, what: str, keys: NDArray[Any], sizes: NDArray[Any]) -> Held:
    """The runs with these sizes where they are smaller."""
    import numpy as np

    had = getattr(runs, what)
    if not len(keys):
        return runs
    mine = np.nan_to_num(runs.job_id_raw, nan=-1).astype(np.int64) * _SHIFT + runs.submit_time.astype(np.int64)
    place = np.minimum(np.searchsorted(keys, mine), len(keys) - 1)
    size = np.where(keys[place] == mine, sizes[place], np.inf)
    return replace(runs, **{what: np.where(np.isnan(had), had, np.minimum(had, size))})
