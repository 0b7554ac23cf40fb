"""Gaps that a waiting job would have filled by its run time, and not by its limit: the study's Figure 4 as a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from adminkit.stats.waste_given import Given, Tries
from adminkit.stats.waste_room import Room
from adminkit.stats.waste_runs import Held
from adminkit.stats.waste_search import Gaps, searched

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Shorter runs, waits and gaps are not looked at, seconds.
SHORTEST: Final = 60
#: Runs that look at a time.
BLOCK: Final = 1 << 13
#: Powers of two that a number of GPUs or CPUs may have.
_POWERS: Final = 64


def gaps(runs: Held, some: NDArray[Any], room: Room, of_queue: Sequence[NDArray[Any]], given: Given) -> NDArray[Any]:
    """Those `some` of waiting() that would have fitted, the first to be eligible first. `of_queue` has, for each
    queue of the runs, whether a place is one of it. Runs on several nodes are not looked at, but may end a gap.
    """
    import numpy as np

    found: list[int] = []
    if len(some) and len(room.place):
        tables = _Tables(room, of_queue)
        for first in range(0, len(some), BLOCK):
            block = some[first : first + BLOCK]
            found += given.to(_tries(runs, block, tables))
    return np.array(found, np.int64)


@dataclass(frozen=True, slots=True)
class _Tables:
    """The gaps for each size, kind and set of places, each looked for once."""

    room: Room
    of_queue: Sequence[NDArray[Any]]
    known: dict[tuple[bool, int, bytes], Gaps] = field(default_factory=dict)

    def table(self, queue: int, gpus: bool, power: int) -> Gaps:
        places = self.of_queue[queue]
        key = (gpus, power, places.tobytes())
        if key not in self.known:
            self.known[key] = _gaps(self.room, "gpu" if gpus else "cpu", 2**power, places)
        return self.known[key]


def _tries(runs: Held, some: NDArray[Any], tables: _Tables) -> Tries:
    """The gaps that have room for each of these runs, one run after the other."""
    import numpy as np

    gpus = np.nan_to_num(runs.gpu[some])
    power = np.maximum(np.ceil(np.log2(np.where(gpus > 0, gpus, runs.cpu[some]))), 0).astype(np.int64)
    keys = (runs.queue[some] * 2 + (gpus > 0)) * _POWERS + power
    found = []
    for key in np.unique(keys).tolist():
        mine = np.flatnonzero(keys == key)
        of_queue, power_of = divmod(key, _POWERS)
        table = tables.table(of_queue // 2, of_queue % 2 > 0, power_of)
        which, gap = searched(runs, some[mine], table)
        found.append((mine[which], table.place[gap], table.begin[gap]))
    columns = [np.concatenate(one) for one in zip(*found, strict=True)]
    nth, place, begin = (one[np.argsort(columns[0], kind="stable")] for one in columns)
    run = some[nth]
    eligible = runs.eligible_time[run]
    begin = np.maximum(begin, eligible)
    until = begin + runs.elapsed[run]
    free = _free(tables.room, place, begin, until)
    fits = (free[0] >= gpus[nth]) & (free[1] >= runs.cpu[run])
    columns = [run, eligible, place, begin, until, gpus[nth], runs.cpu[run], *free]
    return Tries(*(one[fits] for one in columns))


def waiting(runs: Held, since: float, until: float, *, gpus: bool) -> NDArray[Any]:
    """Runs that waited, could start from a moment in [since, until) on, and ran shorter than their limit; by that
    moment, then by number and submission. `gpus`: whether the GPUs of any run are known.
    """
    import numpy as np

    at = runs.eligible_time
    gpus_known = ~np.isnan(runs.gpu) | (not gpus)
    with np.errstate(invalid="ignore"):
        waited = (at > 0) & (at >= since) & (at < until) & (runs.start_time - at >= SHORTEST)
        ran = (runs.elapsed >= SHORTEST) & (runs.req_limit > runs.elapsed) & (runs.cpu > 0)
    some = np.flatnonzero(waited & ran & gpus_known & (runs.for_queue > 0) & (runs.size == 1) & (runs.queue >= 0))
    return some[np.lexsort((runs.submit_time[some], runs.job_id_raw[some], at[some]))]


def _free(room: Room, place: NDArray[Any], begin: NDArray[Any], end: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The GPUs and CPUs that are free all the time on a place, for each of these stretches of time."""
    import numpy as np

    low = np.searchsorted(room.ends, room.clock.key(place, begin), "right")
    high = np.searchsorted(room.begins, room.clock.key(place, end), "left")
    many = high - low
    first = np.cumsum(many) - many
    pieces = np.arange(many.sum()) + np.repeat(low - first, many)
    gpu, cpu = (np.minimum.reduceat(one[pieces], first) if len(first) else one[:0] for one in (room.gpu, room.cpu))
    return gpu, cpu


def _gaps(room: Room, name: str, size: int, mine: NDArray[Any]) -> Gaps:
    """Each longest stretch of time in which `size` were free on a place of `mine`, if somebody waited for its end."""
    import numpy as np

    known = room.cpu_known & room.gpu_known if name == "gpu" else room.cpu_known
    open_ = known & (getattr(room, name) >= size) & mine[room.place]
    joined = np.zeros(len(open_) + 1, np.bool_)  # whether the piece continues the one before it
    joined[1:-1] = open_[1:] & open_[:-1] & (room.place[1:] == room.place[:-1]) & (room.begin[1:] == room.end[:-1])
    first, last = np.flatnonzero(open_ & ~joined[:-1]), np.flatnonzero(open_ & ~joined[1:])
    place, begin, end, since = room.place[first], room.begin[first], room.end[last], room.kept[last]
    some = np.flatnonzero((end - begin >= SHORTEST) & (end - since >= SHORTEST))
    some = some[np.lexsort((place[some], end[some]))]
    return Gaps.of(*(one[some] for one in (place, begin, end, since)))
