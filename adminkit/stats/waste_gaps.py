"""Gaps that a waiting job would have filled by its run time, and not by its limit: the study's Figure 4 as a number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.stats.waste_room import Room
from adminkit.stats.waste_runs import Held

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Shorter runs, waits and gaps are not looked at, seconds.
SHORTEST: Final = 60
#: Gaps that are looked at for one job.
LOOKS: Final = 100
#: Runs that look at a time.
BLOCK: Final = 4000
#: Powers of two that a number of GPUs or CPUs may have.
_POWERS: Final = 64


class Fit(NamedTuple):
    """A run that would have fitted into a gap: its place among the runs, that of the gap, and when it would begin."""

    run: int
    place: int
    begin: float


@dataclass(frozen=True, slots=True)
class Given:
    """What was given away on each place: (begin, end, GPUs, CPUs); it is kept from one block of time to the next."""

    on: dict[int, list[tuple[float, float, float, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Gaps:
    """Gaps for one size, ordered by their end and place; `kept` is since when the run that ended it had waited."""

    place: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]
    kept: NDArray[Any]


def gaps(runs: Held, some: NDArray[Any], room: Room, of_queue: Sequence[NDArray[Any]], given: Given) -> list[Fit]:
    """Those `some` of waiting() that would have fitted, the first to be eligible first. `of_queue` has, for each
    queue of the runs, whether a place is one of it. Runs on several nodes are not looked at, but may end a gap.
    """
    found: list[Fit] = []
    if len(some) and len(room.place):
        order = [_key(room, room.place, one) for one in (room.begin, room.end)]
        tables = _Tables(room, of_queue, _kept(runs, room), order)
        for first in range(0, len(some), BLOCK):
            found += _filled(_room_for(runs, some[first : first + BLOCK], tables), given.on)
    return found


@dataclass(frozen=True, slots=True)
class _Tables:
    """The gaps for each size, kind and set of places, each looked for once."""

    room: Room
    of_queue: Sequence[NDArray[Any]]
    kept: NDArray[Any]
    order: Sequence[NDArray[Any]]  # _key() of the begins and ends
    known: dict[tuple[bool, int, bytes], _Gaps] = field(default_factory=dict)

    def table(self, queue: int, gpus: bool, power: int) -> _Gaps:
        places = self.of_queue[queue]
        key = (gpus, power, places.tobytes())
        if key not in self.known:
            self.known[key] = _gaps(self.room, self.kept, "gpu" if gpus else "cpu", 2**power, places)
        return self.known[key]


def _room_for(
    runs: Held, some: NDArray[Any], tables: _Tables
) -> Iterator[tuple[int, int, float, float, float, float, float, float, float]]:
    """What _filled() takes: the gaps that have room for each of these runs, one run after the other."""
    import numpy as np

    gpus = np.nan_to_num(runs.gpu[some])
    power = np.maximum(np.ceil(np.log2(np.where(gpus > 0, gpus, runs.cpu[some]))), 0).astype(np.int64)
    keys = (runs.queue[some] * 2 + (gpus > 0)) * _POWERS + power
    tried: list[tuple[NDArray[Any], ...]] = []
    for key in np.unique(keys).tolist():
        mine = np.flatnonzero(keys == key)
        of_queue, power_of = divmod(key, _POWERS)
        table = tables.table(of_queue // 2, of_queue % 2 > 0, power_of)
        which, *found = _tries(runs, some[mine], table)
        tried.append((mine[which], *found))
    nth, place, begin = (np.concatenate(one) for one in zip(*tried, strict=True))
    order = np.argsort(nth, kind="stable")
    for first in range(0, len(order), BLOCK):
        block = order[first : first + BLOCK]
        run, at, since = some[nth[block]], place[block], begin[block]
        until = since + runs.elapsed[run]
        free = _free(tables.room, tables.order, at, since, until)
        fits = (free["gpu"] >= gpus[nth[block]]) & (free["cpu"] >= runs.cpu[run])
        columns = (
            run, at, since, until, runs.eligible_time[run], gpus[nth[block]], runs.cpu[run], free["gpu"], free["cpu"],
        )  # fmt: skip
        yield from zip(*(column[fits].tolist() for column in columns), strict=True)


def _filled(
    tries: Iterable[tuple[int, int, float, float, float, float, float, float, float]],
    given: dict[int, list[tuple[float, float, float, float]]],
) -> list[Fit]:
    """The first gap of each run that has room beside the runs before it, which got theirs; they come by the moment in
    which they were eligible."""
    found: list[Fit] = []
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


def _kept(runs: Held, room: Room) -> NDArray[Any]:
    """For each piece of the room, since when the first of those that started at its end was eligible; else infinite."""
    import numpy as np

    run, place, _ = runs.on_nodes()
    start = runs.start_time[run]
    mine = (start > room.begin.min()) & (start <= room.end.max())
    run, place, start = run[mine], place[mine], start[mine]
    if not len(run):
        return np.full(len(room.place), np.inf)
    eligible = np.where(np.isnan(runs.eligible_time[run]), np.inf, runs.eligible_time[run])
    order = np.lexsort((eligible, start, place))
    starts, ends = _key(room, place[order], start[order]), _key(room, room.place, room.end)
    at = np.minimum(np.searchsorted(starts, ends), len(starts) - 1)
    return np.where(starts[at] == ends, eligible[order][at], np.inf)


def _key(room: Room, place: NDArray[Any], at: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers that are ordered as places and times on them are; times within those of the room."""
    import numpy as np

    first = float(room.begin.min())
    span = int(float(room.end.max()) - first) + 1
    key: NDArray[Any] = place.astype(np.int64) * span + (at - first).astype(np.int64)
    return key


def _free(
    room: Room, order: Sequence[NDArray[Any]], place: NDArray[Any], begin: NDArray[Any], end: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """The GPUs and CPUs that are free all the time on a place, for each of these stretches of time. `order` has _key()
    of the begins and ends of the room.
    """
    import numpy as np

    begins, ends = order
    low = np.searchsorted(ends, _key(room, place, begin), "right")
    high = np.searchsorted(begins, _key(room, place, end), "left")
    many = high - low
    first = np.cumsum(many) - many
    pieces = np.arange(many.sum()) + np.repeat(low - first, many)
    return {name: np.minimum.reduceat(getattr(room, name)[pieces], first) for name in ("gpu", "cpu")}


def _gaps(room: Room, kept: NDArray[Any], name: str, size: int, mine: NDArray[Any]) -> _Gaps:
    """Each longest stretch of time in which `size` were free on a place of `mine`, if somebody waited for its end."""
    import numpy as np

    known = room.cpu_known & room.gpu_known if name == "gpu" else room.cpu_known
    open_ = known & (getattr(room, name) >= size) & mine[room.place]
    joined = np.zeros(len(open_) + 1, np.bool_)  # whether the piece continues the one before it
    joined[1:-1] = open_[1:] & open_[:-1] & (room.place[1:] == room.place[:-1]) & (room.begin[1:] == room.end[:-1])
    first, last = np.flatnonzero(open_ & ~joined[:-1]), np.flatnonzero(open_ & ~joined[1:])
    place, begin, end, since = room.place[first], room.begin[first], room.end[last], kept[last]
    some = np.flatnonzero((end - begin >= SHORTEST) & (end - since >= SHORTEST))
    some = some[np.lexsort((place[some], end[some]))]
    return _Gaps(place[some], begin[some], end[some], since[some])


def _tries(runs: Held, some: NDArray[Any], gaps: _Gaps) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The gaps into which each run would have fitted by its run time, in their order: the run's place in `some`,
    the gap's, and when it would begin. A run looks at LOOKS gaps that end when it could have ended, or later.
    """
    import numpy as np

    first = np.searchsorted(gaps.end, runs.eligible_time[some] + runs.elapsed[some])
    after = np.searchsorted(gaps.end, runs.start_time[some] + runs.req_limit[some])
    many = np.clip(after - first, 0, LOOKS)
    which = np.repeat(np.arange(len(some)), many)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(many) - many, many) + first[which]
    run, end = some[which], gaps.end[nth]
    begin = np.maximum(gaps.begin[nth], runs.eligible_time[run])
    start, long = runs.start_time[run], end - begin
    fits = (begin < start) & (end != start) & (runs.elapsed[run] <= long) & (long < runs.req_limit[run])
    fits &= gaps.kept[nth] <= begin
    return which[fits], gaps.place[nth][fits], begin[fits]
