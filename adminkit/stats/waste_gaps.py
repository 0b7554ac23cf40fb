"""Gaps that a waiting job would have filled by its run time, and not by its limit: the study's Figure 4 as a number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.stats.waste_room import Held, Room

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Shorter runs, waits and gaps are not looked at, seconds.
SHORTEST: Final = 60
#: Gaps that are looked at for one job.
LOOKS: Final = 100
#: Runs that look at a time.
BLOCK: Final = 10_000


class Fit(NamedTuple):
    """A run that would have fitted into a gap: its place among the runs, that of the gap, and when it would begin."""

    run: int
    place: int
    begin: float


@dataclass(frozen=True, slots=True)
class _Gaps:
    """Gaps for one size, ordered by their end and place; `kept` is since when the run that ended it had waited."""

    place: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]
    kept: NDArray[Any]


def gaps(
    runs: Held, pairs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], room: Room, of_queue: Sequence[NDArray[Any]]
) -> list[Fit]:
    """The waiting runs that would have fitted, the first to be eligible first. `of_queue` has, for each queue of the
    runs, whether a place is one of it. Pairs of several nodes are of no run that is looked at, but may end a gap.
    """
    import numpy as np

    some = _waiting(runs)
    if not len(some) or not len(room.place):
        return []
    gpus = np.nan_to_num(runs.gpu)
    sizes = np.where(gpus[some] > 0, gpus[some], runs.cpu[some])
    power = np.maximum(np.ceil(np.log2(sizes)), 0).astype(np.int64)
    kept = _kept(runs, pairs, room)
    tried: list[tuple[NDArray[Any], ...]] = []
    keys = np.stack((runs.queue[some], gpus[some] > 0, power), axis=1)
    for key in np.unique(keys, axis=0):
        mine = np.flatnonzero((keys == key).all(axis=1))
        table = _gaps(room, kept, "gpu" if key[1] else "cpu", 2 ** int(key[2]), of_queue[key[0]])
        tried += [(mine[which], *found) for which, *found in _tries(runs, some[mine], table)]
    nth, place, begin = (np.concatenate(one) for one in zip(*tried, strict=True))
    if not len(nth):
        return []
    order = np.argsort(nth, kind="stable")
    run, place, begin = some[nth[order]], place[order], begin[order]
    end = begin + runs.elapsed[run]
    free = _free(room, place, begin, end)
    fits = (free["gpu"] >= gpus[run]) & (free["cpu"] >= runs.cpu[run])
    columns = (run, place, begin, end, runs.eligible_time[run], gpus[run], runs.cpu[run], free["gpu"], free["cpu"])
    return _filled(zip(*(column[fits].tolist() for column in columns), strict=True))


def _filled(tries: Iterable[tuple[int, int, float, float, float, float, float, float, float]]) -> list[Fit]:
    """The first gap of each run that has room beside the runs before it, which got theirs; they come by the moment in
    which they were eligible."""
    found: list[Fit] = []
    given: dict[int, list[tuple[float, float, float, float]]] = {}
    last = -1
    for run, place, begin, end, eligible, gpus, cpus, gpus_free, cpus_free in tries:
        if run == last:
            continue
        # Nobody asks for earlier times any more.
        its = given[place] = [one for one in given.get(place, ()) if one[1] > eligible]
        gpus_given = cpus_given = 0.0
        for since, until, gpus_of, cpus_of in its:
            if since < end and until > begin:
                gpus_given += gpus_of
                cpus_given += cpus_of
        if (gpus and gpus_free < gpus + gpus_given) or cpus_free < cpus + cpus_given:
            continue
        its.append((begin, end, gpus, cpus))
        found.append(Fit(run, place, begin))
        last = run
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


def _kept(runs: Held, pairs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], room: Room) -> NDArray[Any]:
    """For each piece of the room, since when the first of those that started at its end was eligible; else infinite."""
    import numpy as np

    run, place, _ = pairs
    eligible = np.where(np.isnan(runs.eligible_time[run]), np.inf, runs.eligible_time[run])
    order = np.lexsort((eligible, runs.start_time[run], place))
    place, start, eligible = place[order], runs.start_time[run][order], eligible[order]
    starts, ends = _times((place, start), (room.place, room.end))
    at = np.minimum(np.searchsorted(starts, ends), len(starts) - 1)
    return np.where(starts[at] == ends, eligible[at], np.inf)


def _times(*of: tuple[NDArray[Any], NDArray[Any]]) -> list[NDArray[Any]]:
    """Whole numbers that are ordered as places and times on them are."""
    import numpy as np

    first = min(float(time.min()) for _, time in of)
    span = int(max(float(time.max()) for _, time in of) - first) + 1
    return [place.astype(np.int64) * span + (time - first).astype(np.int64) for place, time in of]


def _free(room: Room, place: NDArray[Any], begin: NDArray[Any], end: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """The GPUs and CPUs that are free all the time on a place, for each of these stretches of time."""
    import numpy as np

    begins, ends, since, until = _times((room.place, room.begin), (room.place, room.end), (place, begin), (place, end))
    low, high = np.searchsorted(ends, since, "right"), np.searchsorted(begins, until, "left")
    free = {name: np.zeros(len(place)) for name in ("gpu", "cpu")}
    for block in (slice(first, first + BLOCK) for first in range(0, len(place), BLOCK)):
        many = high[block] - low[block]
        first = np.cumsum(many) - many
        pieces = np.arange(many.sum()) + np.repeat(low[block] - first, many)
        for name, least in free.items():
            least[block] = np.minimum.reduceat(getattr(room, name)[pieces], first)
    return free


def _gaps(room: Room, kept: NDArray[Any], name: str, size: int, mine: NDArray[Any]) -> _Gaps:
    """Each longest stretch of time in which `size` were free on a place of `mine`, if somebody waited for its end."""
    import numpy as np

    known = room.cpu_known & room.gpu_known if name == "gpu" else room.cpu_known
    open_ = known & (getattr(room, name) >= size) & mine[room.place]
    joined = np.zeros(len(open_) + 1, np.bool_)  # whether the piece goes on from the one before it
    joined[1:-1] = open_[1:] & open_[:-1] & (room.place[1:] == room.place[:-1]) & (room.begin[1:] == room.end[:-1])
    first, last = np.flatnonzero(open_ & ~joined[:-1]), np.flatnonzero(open_ & ~joined[1:])
    place, begin, end, since = room.place[first], room.begin[first], room.end[last], kept[last]
    some = np.flatnonzero((end - begin >= SHORTEST) & (end - since >= SHORTEST))
    some = some[np.lexsort((place[some], end[some]))]
    return _Gaps(place[some], begin[some], end[some], since[some])


def _tries(runs: Held, some: NDArray[Any], gaps: _Gaps) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """The gaps into which each run would have fitted by its run time alone, in their order: the run's place in `some`,
    the gap's, and when it would begin. A run looks at LOOKS gaps that end when it could have ended, or later.
    """
    import numpy as np

    for block in range(0, len(some), BLOCK):
        mine = some[block : block + BLOCK]
        first = np.searchsorted(gaps.end, runs.eligible_time[mine] + runs.elapsed[mine])
        after = np.searchsorted(gaps.end, runs.start_time[mine] + runs.req_limit[mine])
        many = np.clip(after - first, 0, LOOKS)
        which = np.repeat(np.arange(len(mine)), many)
        nth = np.arange(len(which)) - np.repeat(np.cumsum(many) - many, many) + first[which]
        run, end = mine[which], gaps.end[nth]
        begin = np.maximum(gaps.begin[nth], runs.eligible_time[run])
        start, long = runs.start_time[run], end - begin
        fits = (begin < start) & (end != start) & (runs.elapsed[run] <= long) & (long < runs.req_limit[run])
        fits &= gaps.kept[nth] <= begin
        yield block + which[fits], gaps.place[nth][fits], begin[fits]
