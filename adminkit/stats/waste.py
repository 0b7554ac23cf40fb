"""What was reserved or free, and nobody could use: by limits, by the shape of what was free, in gaps before a start."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from adminkit.stats.select import Filter, LeftOut, Selection, clusters, select, snapshot, span
from adminkit.stats.waste_gaps import gaps
from adminkit.stats.waste_room import Held, Node, Room, held, known_nodes, on_nodes, room
from adminkit.stats.window import clamped, known_times

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Free memory below which nothing can be started, bytes.
LITTLE: Final = 2**30
#: Kinds of waste, in the order of the report.
KINDS: Final = ("limits", "gpus_without_cpus", "gpus_without_memory", "cpus_without_gpus", "gaps")
_LIMITS: Final = """
SELECT queue, count(*), sum(unused * size_gpus), sum(unused * size_cpus), sum(unused * size_nodes),
    count(*) - count(size_gpus), count(*) - count(size_cpus), count(*) - count(size_nodes)
FROM (SELECT *, req_limit - elapsed AS unused FROM run WHERE {where}) GROUP BY queue ORDER BY queue
"""


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
    until: int | None = None  # nothing is known from here on
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


def waste(db: sqlite3.Connection, chosen: Filter, now: int) -> Wasted:
    """Measure all kinds; `chosen` has one cluster, and its window is of ends for limits and of the time itself else."""
    with snapshot(db):
        names = tuple(chosen.clusters) or tuple(clusters(db))
        limits, left_out, unknown = _limits(db, chosen)
        ends = span(db)
        found = _Found(limits, [_sum("limits", limits)])
        jobs = sum(one.jobs or 0 for one in limits)
        measured = Wasted((), (), jobs, unknown, left_out, names, ends)
        if names:
            there = known_times(db, replace(chosen, clusters=names[:1]), now)
            measured = replace(measured, until=there.until)
            if within := clamped(chosen, there, now):
                runs, nodes = held(db, names[0], within, now), known_nodes(db, names[0])
                measured = _machine(measured, found, runs, nodes, within, chosen.queues)
    found.rows.sort(key=lambda one: (one.queue is None, one.queue or "", KINDS.index(one.kind)))
    return replace(measured, rows=found.rows, totals=found.totals)


def _limits(db: sqlite3.Connection, chosen: Filter) -> tuple[list[Waste], Mapping[str, int], dict[str, int]]:
    """The runs that ended in the window with some of their limit left."""
    plain = select(chosen, limits=True)
    rules = {"not_started": "start_time > 0", **plain.rules, "limit_reached": "req_limit > elapsed"}
    selection = Selection(plain.within, rules, plain.params)
    left_out = LeftOut(db, selection)
    rows, unknown = [], {"gpu": 0, "cpu": 0, "node": 0}
    for queue, jobs, *seconds, gpu, cpu, node in db.execute(
        _LIMITS.format(where=selection.counting), selection.params
    ).fetchall():
        rows.append(Waste(queue, "limits", jobs, *seconds))
        for name, many in (("gpu", gpu), ("cpu", cpu), ("node", node)):
            unknown[name] += many
    return rows, left_out.counts(sum(one.jobs or 0 for one in rows)), unknown


def _sum(kind: str, rows: Sequence[Waste]) -> Waste:
    """Of all queues; None where no queue knows."""

    def total(name: str) -> float | None:
        values = [value for one in rows if (value := getattr(one, name)) is not None]
        return sum(values) if values else None

    return Waste(None, kind, sum(one.jobs or 0 for one in rows), total("gpu"), total("cpu"), total("node"))


def _machine(
    measured: Wasted,
    found: _Found,
    runs: Held,
    nodes: dict[str, Node],
    window: tuple[int, int],
    queues: Sequence[str],
) -> Wasted:
    """What was free on the nodes, and what could not be used of it."""
    import numpy as np

    pairs = on_nodes(runs, nodes)
    some = [node for node in nodes.values() if node.times]
    measured = replace(measured, ran=len(runs.start_time), nodes=len(some))
    if not some or not len(pairs[0]):
        return measured
    names = sorted(set().union(*(node.queues for node in some)) | set(runs.queues))
    names = [name for name in names if not queues or name in queues]
    of_queue = {name: np.array([name in node.queues for node in nodes.values()], np.bool_) for name in names}
    every = np.array([not queues or not node.queues.isdisjoint(queues) for node in nodes.values()], np.bool_)
    free = room(runs, pairs, list(nodes.values()), window)
    stranded = _stranded(free, len(nodes))
    for name, mine in of_queue.items():
        if mine.any():
            found.rows += _shape(name, stranded, mine)
    found.totals += _shape(None, stranded, every)
    _gaps(found, runs, pairs, free, of_queue, queues)
    long = free.end - free.begin
    mine = every[free.place]
    return replace(
        measured,
        nodes=int(every.sum()),
        homeless=len(runs.start_time) - len(np.unique(pairs[0])),
        up=float(long[mine & free.up].sum()),
        unclear=float(long[mine & free.up & ~(free.gpu_known & free.cpu_known)].sum()),
    )


def _stranded(free: Room, places: int) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
    """For each kind the seconds of what was free, and of the node, by place. Somebody else can tell whole ones only."""
    import numpy as np

    long = free.end - free.begin
    known = free.gpu_known & free.cpu_known
    no_cpu = known & (free.gpu >= 1) & (free.cpu < 1)
    no_mem = known & free.mem_known & (free.gpu >= 1) & (free.cpu >= 1) & (free.mem < LITTLE)
    no_gpu = known & (free.has_gpu > 0) & (free.gpu < 1) & (free.cpu >= 1)
    found = {}
    for kind, mask, what in (
        ("gpus_without_cpus", no_cpu, free.gpu),
        ("gpus_without_memory", no_mem, free.gpu),
        ("cpus_without_gpus", no_gpu, free.cpu),
    ):
        at, seconds = free.place[mask], long[mask]
        if kind == "gpus_without_memory":
            whole = np.bincount(free.place[free.mem_known & known], minlength=places) > 0
        else:
            whole = np.bincount(free.place[known], minlength=places) > 0
        sums = [np.bincount(at, weight, places) for weight in (np.floor(what[mask]) * seconds, seconds)]
        found[kind] = (np.where(whole, sums[0], np.nan), np.where(whole, sums[1], np.nan))
    return found


def _shape(queue: str | None, stranded: Mapping[str, tuple[NDArray[Any], NDArray[Any]]], mine: Any) -> list[Waste]:
    """The kinds of one queue's nodes; unknown where nothing is known of any of them."""
    rows = []
    for kind, columns in stranded.items():
        what, node = (_known_sum(column[mine]) for column in columns)
        gpu, cpu = (None, what) if kind == "cpus_without_gpus" else (what, None)
        rows.append(Waste(queue, kind, None, gpu, cpu, node))
    return rows


def _known_sum(values: NDArray[Any]) -> float | None:
    import numpy as np

    return None if np.isnan(values).all() else float(np.nansum(values))


def _gaps(
    found: _Found,
    runs: Held,
    pairs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    free: Room,
    of_queue: Mapping[str, NDArray[Any]],
    queues: Sequence[str],
) -> None:
    """What the jobs that would have fitted would have used, by their queue."""
    import numpy as np

    none = np.zeros(len(next(iter(of_queue.values()), ())), np.bool_)
    places = [of_queue.get(name, none) for name in runs.queues]
    fits = gaps(runs, pairs, free, places)
    run = np.array([one.run for one in fits], np.int64)
    seconds = runs.elapsed[run]
    queue = runs.queue[run]
    rows = []
    for name, mine in of_queue.items():
        if not mine.any() or name not in runs.queues:
            continue
        its = queue == runs.queues.index(name)
        gpu, cpu = (float(np.nansum(seconds[its] * column[run][its])) for column in (runs.gpu, runs.cpu))
        rows.append(Waste(name, "gaps", int(its.sum()), gpu, cpu, None))
    found.rows += rows
    found.totals.append(_sum("gaps", rows))
