"""Gaps that a waiting job would have filled by its run time, and not by its limit: the study's Figure 4 as a number."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.stats.waste_room import Held, Room

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Shorter runs, waits and gaps are not looked at, seconds.
SHORTEST: Final = 60
#: Gaps that are looked at for one job.
LOOKS: Final = 100


class Fit(NamedTuple):
    """A run that would have fitted into a gap: its place among the runs, that of the gap, and when it would begin."""

    run: int
    place: int
    begin: float


@dataclass(frozen=True, slots=True)
class _Gaps:
    """Gaps for one size, ordered by their end and place; `kept` is since when the run that ended it had waited."""

    place: list[int]
    begin: list[float]
    end: list[float]
    kept: list[float]


@dataclass(slots=True)
class _Fill:
    """Which runs were put into the gaps so far."""

    runs: Held
    room: Room
    first: NDArray[Any]  # the first piece of each place, and behind the last
    given: dict[int, list[tuple[float, float, float, float]]] = field(default_factory=dict)

    def fits(self, place: int, begin: float, end: float, gpus: float, cpus: float) -> bool:
        """Whether so much is free on the place all the time, beside whom it was given to already."""
        import numpy as np

        low, high = self.first[place], self.first[place + 1]
        i = low + np.searchsorted(self.room.end[low:high], begin, "right")
        j = low + np.searchsorted(self.room.begin[low:high], end, "left")
        beside = [one for one in self.given.get(place, ()) if one[0] < end and one[1] > begin]
        gpu_free = not gpus or self.room.gpu[i:j].min() >= gpus + sum(one[2] for one in beside)
        return bool(gpu_free and self.room.cpu[i:j].min() >= cpus + sum(one[3] for one in beside))

    def give(self, place: int, begin: float, end: float, gpus: float, cpus: float) -> None:
        self.given.setdefault(place, []).append((begin, end, gpus, cpus))


def gaps(
    runs: Held, pairs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], room: Room, of_queue: Sequence[NDArray[Any]]
) -> list[Fit]:
    """The waiting runs that would have fitted, the first to be eligible first. `of_queue` has, for each queue of the
    runs, whether a place is one of it. Pairs of several nodes are of no run that is looked at, but may end a gap.
    """
    import numpy as np

    places = len(of_queue[0]) if of_queue else 0
    fill = _Fill(runs, room, np.searchsorted(room.place, np.arange(places + 1)))
    kept = _kept(runs, pairs)
    tables: dict[tuple[int, str, int], _Gaps] = {}
    found = []
    for run in _waiting(runs):
        gpus, cpus = float(np.nan_to_num(runs.gpu[run])), float(runs.cpu[run])
        name = "gpu" if gpus else "cpu"
        key = int(runs.queue[run]), name, max(int(np.ceil(np.log2(gpus or cpus))), 0)
        if key not in tables:
            tables[key] = _gaps(room, kept, name, 2 ** key[2], of_queue[key[0]])
        if (fit := _put(fill, tables[key], int(run), gpus, cpus)) is not None:
            found.append(fit)
    return found


def _waiting(runs: Held) -> NDArray[Any]:
    """Runs that waited, and ran shorter than their limit; by the moment from which on they could start."""
    import numpy as np

    gpus_known = ~np.isnan(runs.gpu) | np.isnan(runs.gpu).all()
    with np.errstate(invalid="ignore"):
        waited = (runs.eligible_time > 0) & (runs.start_time - runs.eligible_time >= SHORTEST)
        ran = (runs.elapsed >= SHORTEST) & (runs.req_limit > runs.elapsed) & (runs.cpu > 0)
    some = np.flatnonzero(waited & ran & gpus_known & (runs.for_queue > 0) & (runs.size == 1) & (runs.queue >= 0))
    return some[np.argsort(runs.eligible_time[some], kind="stable")]


def _kept(
    runs: Held, pairs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """For each place and moment of a start, in their order, since when the first of those that started was eligible."""
    import numpy as np

    run, place, _ = pairs
    eligible = np.where(np.isnan(runs.eligible_time[run]), np.inf, runs.eligible_time[run])
    order = np.lexsort((eligible, runs.start_time[run], place))
    place, start, eligible = place[order], runs.start_time[run][order], eligible[order]
    new = np.ones(len(place), np.bool_)
    new[1:] = (place[1:] != place[:-1]) | (start[1:] != start[:-1])
    return place[new], start[new], eligible[new]


def _gaps(room: Room, kept: Any, name: str, size: int, mine: NDArray[Any]) -> _Gaps:
    """Each longest stretch of time in which `size` were free on a place of `mine`, if somebody waited for its end."""
    import numpy as np

    known = room.cpu_known & room.gpu_known if name == "gpu" else room.cpu_known
    open_ = known & (getattr(room, name) >= size) & mine[room.place]
    joined = np.zeros(len(open_) + 1, np.bool_)  # whether the piece goes on from the one before it
    joined[1:-1] = open_[1:] & open_[:-1] & (room.place[1:] == room.place[:-1]) & (room.begin[1:] == room.end[:-1])
    first, last = np.flatnonzero(open_ & ~joined[:-1]), np.flatnonzero(open_ & ~joined[1:])
    place, begin, end = room.place[first], room.begin[first], room.end[last]
    since = np.full(len(place), np.inf)
    starts = {(int(p), float(s)): float(e) for p, s, e in zip(*kept, strict=True)} if len(place) else {}
    if starts:
        since = np.array([starts.get(one, np.inf) for one in zip(place.tolist(), end.tolist(), strict=True)])
    some = np.flatnonzero((end - begin >= SHORTEST) & (end - since >= SHORTEST))
    some = some[np.lexsort((place[some], end[some]))]
    return _Gaps(place[some].tolist(), begin[some].tolist(), end[some].tolist(), since[some].tolist())


def _put(fill: _Fill, table: _Gaps, run: int, gpus: float, cpus: float) -> Fit | None:
    """The first gap into which the run would have fitted by its run time alone."""
    runs = fill.runs
    eligible, start = float(runs.eligible_time[run]), float(runs.start_time[run])
    elapsed, limit = float(runs.elapsed[run]), float(runs.req_limit[run])
    first = bisect_left(table.end, eligible + elapsed)
    for nth in range(first, min(first + LOOKS, len(table.end))):
        end, place = table.end[nth], table.place[nth]
        begin = max(table.begin[nth], eligible)
        if end >= start + limit:
            return None
        if begin >= start or end == start or not elapsed <= end - begin < limit or table.kept[nth] > begin:
            continue
        if fill.fits(place, begin, begin + elapsed, gpus, cpus):
            fill.give(place, begin, begin + elapsed, gpus, cpus)
            return Fit(run, place, begin)
    return None
