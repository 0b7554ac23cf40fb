"""GPU-, CPU- and node-hours that runs used, by the time in which they used them, beside the machine's capacity.

Hours are kept as seconds, to the millisecond: what adds up many rates is not exact beyond that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from adminkit.gres import KINDS
from adminkit.sqlite import sqlite3
from adminkit.stats.calendar import edges, label, zones
from adminkit.stats.capacity import RESOURCES, Capacity, capacity, least_cpus
from adminkit.stats.clip import Runs, use
from adminkit.stats.grid import ELAPSED, EVEN, UNITS, Grid
from adminkit.stats.select import Filter, Selection, clusters, select, snapshot, span
from adminkit.stats.taken import alike
from adminkit.stats.window import END, Known, clamped, known_times
from adminkit.trace.gpu_words import is_cut_or_untracked
from adminkit.trace.run_view import TOO_LONG

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOUR: Final = 3600
#: Lengths of the parts of the window.
PARTS: Final = ("month", "week", "day", "hour")

COLUMNS: Final = ("start_time", END, ELAPSED, "size_gpus", "size_cpus", "size_nodes", "end_time IS NULL")
_STILL: Final = "CASE WHEN end_time IS NULL THEN 1 ELSE 0 END"
_PARTIAL: Final = "CASE WHEN size_cpus < size_nodes * :least THEN 1 ELSE 0 END"


@dataclass(frozen=True, slots=True)
class Hours:
    """The use of one resource in one part, in seconds; None: unknown. `down` is contained in `capacity`."""

    used: float | None
    capacity: float | None
    down: float | None

    @property
    def share(self) -> float | None:
        return self.used / self.capacity if self.used is not None and self.capacity else None


@dataclass(frozen=True, slots=True)
class Part:
    """One stretch of the window, [begin, end) in epoch seconds; `hours` has RESOURCES, `name` is the calendar's."""

    name: str
    begin: int
    end: int
    jobs: int  # runs that ran in it, if only for a second
    hours: Mapping[str, Hours]


@dataclass(frozen=True, slots=True)
class Utilization:
    """`parts` in their order; `overall` is the whole window, None where it has no second."""

    parts: Sequence[Part]
    overall: Part | None
    jobs: int
    open: int  # of these, still running
    partial: bool  # whether one of them had fewer CPUs than its nodes have at least
    until: int | None  # nothing is known after it
    unknown: Mapping[str, int]  # resource -> runs of which the number is unknown
    capacity: Capacity
    zone: str
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]
    kinds: Mapping[str, float] = field(default_factory=dict)  # gpu_kind -> GPU-seconds; none where all are whole

    @property
    def nodes_shared(self) -> bool:
        """Whether runs may have shared nodes: each then has the whole node in its node-hours."""
        return self.partial or any((part.hours["node"].share or 0) > 1 for part in self.parts)


@dataclass(frozen=True, slots=True)
class Frame:
    """What the hours are put into: the parts of the window, and the machine in them."""

    part: str
    times: Sequence[int]  # edges
    zone: tzinfo | None
    clusters: Sequence[str]
    least_cpus: int | None  # of a node
    until: int | None
    machine: Capacity
    span: tuple[int | None, int | None]


def utilization(db: sqlite3.Connection, chosen: Filter, part: str, now: int, tz: tzinfo | None = None) -> Utilization:
    """Add up the runs that ran in the window of `chosen`, which ends now at the latest, for each `part` of it. Where
    the window is open it begins with the hour of the first start.

    ValueError where the window has too many parts.
    """
    with snapshot(db):
        frame = framed(db, chosen, known_times(db, chosen, now), part, now, tz)
        selection = running(chosen, now)
        tally = Tally(frame.times, frame.least_cpus)
        excluded = tally.count(db, selection)
        kinds = _kinds(db, selection, frame.times)
    return replace(summed(frame, tally, excluded), kinds=kinds)


def _kinds(db: sqlite3.Connection, selection: Selection, times: Sequence[int]) -> dict[str, float]:
    """GPU-seconds in the window of each kind that runs had; none where no run had a part of a GPU."""
    found = {}
    if times and is_cut_or_untracked(db):
        for kind in KINDS:
            its = {"kind": f"gpu_kind = '{kind}' AND size_gpus IS NOT NULL"}
            tally = Tally((times[0], times[-1]), None)
            tally.count(db, replace(selection, rules={**selection.rules, **its}))
            if tally.jobs:
                found[kind] = tally.seconds("gpu", 0)
    return found if found.keys() - {"whole"} else {}


def framed(db: sqlite3.Connection, chosen: Filter, there: Known, part: str, now: int, tz: tzinfo | None) -> Frame:
    """The Frame of `chosen` in a trace that has what `there` says. ValueError as utilization()."""
    if chosen.since is None and there.first is not None:
        there = replace(there, first=there.first - there.first % HOUR)
    within = clamped(chosen, there, now)
    times = edges(*within, part, tz) if within else []
    names = tuple(chosen.clusters) or tuple(clusters(db))
    machine = capacity(db, names, chosen.queues, times)
    return Frame(part, times, tz, names, least_cpus(db, names), there.until, machine, span(db))


def summed(frame: Frame, tally: Tally, excluded: Mapping[str, int]) -> Utilization:
    """What `tally` has added up for the parts of the frame."""
    parts = [
        Part(label(begin, frame.part, frame.zone), begin, end, *tally.of(place, frame.machine))
        for place, (begin, end) in enumerate(pairwise(frame.times))
    ]
    return Utilization(
        parts, _overall(parts, tally.jobs), tally.jobs, tally.open, tally.partial, frame.until, tally.unknown,
        frame.machine, zones(frame.times, frame.zone), excluded, frame.clusters, frame.span,
    )  # fmt: skip


def running(chosen: Filter, now: int) -> Selection:
    """The runs that ran in the window. What never started is left out by name, not by the window."""
    selection = select(replace(chosen, since=None, until=None, min_elapsed=None), limits=False)
    inside, params = [], {"now": now}
    if chosen.since is not None:
        inside.append(f"({END} > :since OR start_time >= :since)")
        params["since"] = chosen.since
    if chosen.until is not None:
        inside.append("start_time < :until")
        params["until"] = chosen.until
    within = f"(start_time IS NULL OR {' AND '.join(inside)})" if inside else "TRUE"
    rules = {
        "not_started": "start_time > 0",
        **selection.rules,
        "no_end": f"{END} IS NOT NULL",
        "elapsed_unknown": f"({ELAPSED}) >= 0 AND ({ELAPSED}) < {TOO_LONG}",
    }
    return Selection(within, rules, {**selection.params, **params})


@dataclass(slots=True)
class Tally:
    """Sums for each part of the window."""

    times: Sequence[int]  # edges
    least_cpus: int | None  # of a node
    jobs: int = 0
    open: int = 0
    partial: bool = False
    unknown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RESOURCES, 0))
    used: dict[str, NDArray[Any]] = field(default_factory=dict)  # by runs that were suspended, or ran for no second
    whole: dict[str, NDArray[Any]] = field(default_factory=dict)  # by the others: Python's whole numbers, in UNITS
    ran: NDArray[Any] | None = None  # runs for each part

    def count(self, db: sqlite3.Connection, selection: Selection) -> Mapping[str, int]:
        """Add the runs that it takes, and return how many each rule left out."""
        import numpy as np

        grid = Grid.of(self.times)
        numbers, sums = grid.numbers, (_STILL, _PARTIAL, *(one for name in RESOURCES for one in grid.sums(name)))
        given = {**grid.given, "least": self.least_cpus or 0}
        runs = alike(db, selection, (), numbers, sums=sums, given=given)
        self.jobs += runs.jobs
        still, partial, *sizes = runs.sums
        self.open += int(still.sum())
        self.partial = self.partial or (self.least_cpus is not None and bool(partial.any()))
        starts, ends, elapsed = (one.astype(np.int64) for one in runs.numbers)
        even = elapsed == EVEN
        for place, name in enumerate(RESOURCES):
            known, size, *away = sizes[4 * place : 4 * place + 4]
            self.unknown[name] += runs.jobs - int(known.sum())
            if self.times:
                later = grid.used(*(one[even] for one in (starts, ends, size, *away)))
                self.whole[name] = self.whole.get(name, 0) + later
                odd = grid.odd(*(one[~even & (known > 0)] for one in (starts, ends, elapsed, size)))
                self.used[name] = self.used.get(name, 0) + use(odd, self.times) / UNITS[name]
        if self.times:
            last = np.where(even, np.maximum(ends, self.times[0]), np.maximum(ends - 1, starts))
            self.ran = grid.ran(starts, last, runs.many) + (0 if self.ran is None else self.ran)
        return runs.excluded

    def add(self, columns: Sequence[NDArray[Any]]) -> None:
        """Runs as COLUMNS has them."""
        import numpy as np

        start, end, elapsed, *sizes, still = (column.astype(np.float64) for column in columns)
        self.jobs += len(start)
        self.open += int(still.sum())
        if self.least_cpus is not None:
            _, cpus, nodes = sizes
            self.partial = self.partial or bool((cpus < nodes * self.least_cpus).any())
        for name, size in zip(RESOURCES, sizes, strict=True):
            known = ~np.isnan(size)
            self.unknown[name] += int(len(start) - known.sum())
            if self.times:
                runs = Runs(start[known], end[known], elapsed[known], size[known])
                self.used[name] = self.used.get(name, 0) + use(runs, self.times)
        if self.times:
            begins, ends = self.times[:-1], self.times[1:]
            started = np.searchsorted(np.sort(start), ends, "left")
            over = np.searchsorted(np.sort(np.maximum(end, start + 1)), begins, "right")
            self.ran = started - over if self.ran is None else self.ran + started - over

    def seconds(self, name: str, place: int) -> float:
        """The use of a resource in a part, to the millisecond."""
        whole = int(self.whole[name][place]) / UNITS[name] if name in self.whole else 0.0
        odd = float(self.used[name][place]) if name in self.used else 0.0
        # Trap: what adds up to nothing may be -0.0.
        return round(whole + odd, 3) + 0.0

    def of(self, place: int, machine: Capacity) -> tuple[int, dict[str, Hours]]:
        """The runs of a part, and its hours."""
        hours = {}
        for name in RESOURCES:
            nothing = self.jobs and self.unknown[name] == self.jobs  # is known of what they used
            hours[name] = Hours(None if nothing else self.seconds(name, place), *machine.of(name, place))
        return 0 if self.ran is None else int(self.ran[place]), hours


def _overall(parts: Sequence[Part], jobs: int) -> Part | None:
    if not parts:
        return None
    sums = {}
    for name in RESOURCES:
        hours = [part.hours[name] for part in parts]
        sums[name] = Hours(
            *(_sum(column) for column in zip(*((h.used, h.capacity, h.down) for h in hours), strict=True))
        )
    return Part("", parts[0].begin, parts[-1].end, jobs, sums)


def _sum(values: Iterable[float | None]) -> float | None:
    """None where one of them is unknown."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)
