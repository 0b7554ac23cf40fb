"""What was reserved or free, and nobody could use: by limits, by the shape of what was free, in gaps before a start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.grouped import grouped
from adminkit.stats.select import Filter, Selection, clusters, select, snapshot, span
from adminkit.stats.taken import alike, total
from adminkit.stats.waste_gaps import gaps, waiting
from adminkit.stats.waste_given import Given
from adminkit.stats.waste_room import Node, Room, known_nodes, room
from adminkit.stats.waste_runs import BLOCK, Held, Reader, counted
from adminkit.stats.waste_shapes import SHAPES, Shapes
from adminkit.stats.whole import in_seconds, seconds, unknown
from adminkit.stats.window import clamped, known_times

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Kinds of waste, in the order of the report.
KINDS: Final = ("limits", *SHAPES, "gaps")
_SIZES: Final = ("size_gpus", "size_cpus", "size_nodes")
#: Seconds reserved and not used, times the size; and the jobs of unknown size.
_SUMS: Final = (*(seconds(size, "(req_limit - elapsed)") for size in _SIZES), *map(unknown, _SIZES))


@dataclass(frozen=True, slots=True)
class Waste:
    """One kind in one queue, in seconds. None: unknown, or without meaning for this kind."""

    queue: str | None
    kind: str
    jobs: int | None
    gpu: float | None
    cpu: float | None
    node: float | None


@dataclass(frozen=True, slots=True)
class Wasted:
    """`rows` by queue, `totals` of all queues: nodes of several queues count once in them."""

    rows: Sequence[Waste]
    totals: Sequence[Waste]
    jobs: int  # runs whose limit was longer than they
    unknown: Mapping[str, int]  # gpu, cpu, node -> of these, runs of an unknown number
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]
    until: int | None = None  # nothing is known after it
    nodes: int = 0  # that the trace knows, of the queues that were asked for
    homeless: int = 0  # runs in the window without a list of known nodes
    ran: int = 0  # runs in the window
    unclear: float = 0.0  # node-seconds that were up, of which nobody knows what was free
    up: float = 0.0  # node-seconds that were up
    waited: int = 0  # runs that were looked at for a gap


@dataclass(slots=True)
class _Found:
    rows: list[Waste] = field(default_factory=list)
    totals: list[Waste] = field(default_factory=list)


def waste(db: sqlite3.Connection, chosen: Filter, now: int, rows: int = BLOCK) -> Wasted:
    """Measure all kinds; `chosen` has one cluster, and its window is of ends for limits and of the time itself else.
    That time is read block by block; about `rows` runs end in each.
    """
    with snapshot(db):
        names = tuple(chosen.clusters) or tuple(clusters(db))
        limits, left_out, missing = _limits(db, chosen)
        ends = span(db)
        found = _Found(limits, [_sum("limits", limits)])
        jobs = sum(one.jobs or 0 for one in limits)
        measured = Wasted((), (), jobs, missing, left_out, names, ends)
        if names:
            there = known_times(db, replace(chosen, clusters=names[:1]), now)
            measured = replace(measured, until=there.until)
            if within := clamped(chosen, there, now):
                nodes = known_nodes(db, names[0])
                if any(node.times for node in nodes.values()):
                    reader = Reader(db, names[0], within, now, list(nodes))
                    measured = _machine(measured, found, reader, list(nodes.values()), chosen.queues, rows)
                else:
                    measured = replace(measured, ran=counted(db, names[0], within, now))
    found.rows.sort(key=lambda one: (one.queue is None, one.queue or "", KINDS.index(one.kind)))
    return replace(measured, rows=found.rows, totals=found.totals)


def _limits(db: sqlite3.Connection, chosen: Filter) -> tuple[list[Waste], Mapping[str, int], dict[str, int]]:
    """The runs that ended in the window with some of their limit left; how many of them have an unknown size."""

    plain = select(chosen, limits=True)
    rules = {"not_started": "start_time > 0", **plain.rules, "limit_reached": "req_limit > elapsed"}
    selection = Selection(plain.within, rules, plain.params)
    jobs = alike(db, selection, ("queue",), (), sums=_SUMS)
    number, keys = grouped(*jobs.texts)
    many, *sums = (total(number, len(keys), one) for one in (jobs.many, *jobs.sums))
    unused = [in_seconds(size, one).tolist() for size, one in zip(_SIZES, sums, strict=False)]
    missing = [one.tolist() for one in sums[3:]]
    rows = [
        Waste(
            name, "limits", int(many[k]), *(float(unused[n][k]) if missing[n][k] < many[k] else None for n in range(3))
        )
        for k, (name,) in enumerate(keys)
    ]
    return rows, jobs.excluded, {name: sum(one) for name, one in zip(("gpu", "cpu", "node"), missing, strict=True)}


def _sum(kind: str, rows: Sequence[Waste]) -> Waste:
    """The sum over all queues; None where no queue knows."""

    def total(name: str) -> float | None:
        values = [value for one in rows if (value := getattr(one, name)) is not None]
        return sum(values) if values else None

    return Waste(None, kind, sum(one.jobs or 0 for one in rows), total("gpu"), total("cpu"), total("node"))


def _machine(
    measured: Wasted, found: _Found, reader: Reader, nodes: Sequence[Node], queues: Sequence[str], rows: int
) -> Wasted:
    """What was free on the nodes, and what could not be used of it."""
    import numpy as np

    names = sorted({name for node in nodes for name in node.queues if not queues or name in queues})
    of_queue = {name: np.array([name in node.queues for node in nodes], np.bool_) for name in names}
    every = np.array([not queues or not node.queues.isdisjoint(queues) for node in nodes], np.bool_)
    shapes, filled = Shapes(every), _Filled(of_queue)
    for begin, end in reader.blocks(rows):
        runs, free = _block(reader, nodes, begin, end)
        shapes.add(free, end)
        filled.add(runs, _looking(reader, runs, begin, end), free, reader.queues)
    there = sum(1 for node in nodes if node.times)
    measured = replace(measured, ran=reader.ran, nodes=there)
    if reader.homeless == reader.ran:
        return measured
    for name, mine in of_queue.items():
        found.rows += _shape(name, shapes, mine)
    found.totals += _shape(None, shapes, every)
    rows_of_gaps = filled.rows(reader.queues)
    found.rows += rows_of_gaps
    found.totals.append(_sum("gaps", rows_of_gaps))
    return replace(measured, nodes=int(every.sum()), homeless=reader.homeless, up=shapes.up, unclear=shapes.unclear)


def _block(reader: Reader, nodes: Sequence[Node], begin: int, end: int) -> tuple[Held, Room]:
    """The runs that held something in [begin, end), and later as far as runs that could start in it look for a gap; the
    room of that time."""
    runs = reader.known(begin, end)
    some = _looking(reader, runs, begin, end)
    ahead = int((runs.start_time[some] + runs.req_limit[some]).max()) if len(some) else end
    until = max(end, min(ahead, reader.until))
    runs = reader.known(begin, until)
    runs = runs.of((runs.start_time < until) & (runs.end_time > begin))
    return runs, room(runs, nodes, (begin, until))


def _looking(reader: Reader, runs: Held, begin: int, end: int) -> NDArray[Any]:
    """The runs that could start in the block; what waited when the window began, is looked at in the first one."""
    return waiting(runs, begin if begin > reader.since else 0, end, gpus=reader.gpus)


def _shape(queue: str | None, shapes: Shapes, mine: NDArray[Any]) -> list[Waste]:
    """The kinds of one queue's nodes."""
    rows = []
    for kind in SHAPES:
        what, node = shapes.of(kind, mine)
        gpu, cpu = (None, what) if kind == "cpus_without_gpus" else (what, None)
        rows.append(Waste(queue, kind, None, gpu, cpu, node))
    return rows


@dataclass(slots=True)
class _Filled:
    """What the jobs that would have fitted would have used, by their queue: jobs, GPU-seconds, CPU-seconds."""

    of_queue: Mapping[str, NDArray[Any]]
    given: Given = field(default_factory=Given)
    sums: dict[str, list[float]] = field(default_factory=dict)

    def add(self, runs: Held, looking: NDArray[Any], free: Room, queues: Sequence[str]) -> None:
        """Fill the gaps of a block of time."""
        import numpy as np

        none = np.zeros(len(next(iter(self.of_queue.values()), ())), np.bool_)
        run = gaps(runs, looking, free, [self.of_queue.get(name, none) for name in queues], self.given)
        queue = runs.queue[run]
        for place in np.unique(queue).tolist():
            its = run[queue == place]
            sums = self.sums.setdefault(queues[place], [0.0, 0.0, 0.0])
            parts = (len(its), *(float(np.nansum(runs.elapsed[its] * one[its])) for one in (runs.gpu, runs.cpu)))
            self.sums[queues[place]] = [one + other for one, other in zip(sums, parts, strict=True)]

    def rows(self, queues: Sequence[str]) -> list[Waste]:
        """The rows of the queues that have nodes and had runs."""
        found = []
        for name in self.of_queue:
            if name in queues:
                jobs, gpu, cpu = self.sums.get(name, (0, 0.0, 0.0))
                found.append(Waste(name, "gaps", int(jobs), gpu, cpu, None))
        return found
