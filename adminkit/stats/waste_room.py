"""The room that was free on each node, piece by piece of time: one sweep over the starts and ends of all runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from adminkit.slurm.hostlist import hosts
from adminkit.stats.wait import CAUSES
from adminkit.stats.window import END
from adminkit.trace.columns import Texts, columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Shares of a run on several nodes add up to whole numbers only to this many digits.
DIGITS: Final = 6
_NUMBERS: Final = (
    "start_time", END, "eligible_time", "elapsed", "req_limit", "size_nodes", "size_gpus", "size_cpus", "mem",
    CAUSES["queue"],
)  # fmt: skip
_KEY: Final = ("job_id_raw", "submit_time")
_RUNS: Final = f"""
FROM run WHERE cluster = :cluster AND start_time > 0 AND start_time < :until AND {END} > start_time AND {END} > :since
"""
_NODES: Final = "SELECT node, since, present, gpus, cpus, mem, queues FROM node WHERE cluster = ? ORDER BY node, since"
_EVENTS: Final = "SELECT node, start_time, end_time FROM node_event WHERE cluster = ? ORDER BY node, start_time"
#: What the sweep adds up: what runs hold, of how many that is unknown, what the node has, whether it is up.
_COLUMNS: Final = (
    "gpu", "cpu", "mem", "no_gpu", "no_cpu", "no_mem", "has_gpu", "has_cpu", "has_mem", "there", "down",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Held:
    """The runs of a cluster that ran in the window, as columns; an unknown number is nan. `queue` and `nodes` are
    places in `queues` and `lists`, -1 where there is none.
    """

    start_time: NDArray[Any]
    end_time: NDArray[Any]
    eligible_time: NDArray[Any]
    elapsed: NDArray[Any]
    req_limit: NDArray[Any]
    size: NDArray[Any]  # nodes
    gpu: NDArray[Any]
    cpu: NDArray[Any]
    mem: NDArray[Any]
    for_queue: NDArray[Any]  # whether it waited for nothing but the queue
    queue: NDArray[Any]
    nodes: NDArray[Any]
    queues: Sequence[str]
    lists: Sequence[str]


@dataclass(frozen=True, slots=True)
class Node:
    """One node as it ever was: (begin, end, GPUs, CPUs, bytes) with None for unknown, outages, its newest queues."""

    times: Sequence[tuple[int, int, int | None, int | None, int | None]]
    outages: Sequence[tuple[int, int]]
    queues: frozenset[str]


@dataclass(frozen=True, slots=True)
class Room:
    """Pieces of time in which nothing changed on a place, ordered by place and time; free GPUs, CPUs, bytes.

    `gpu_known` and `cpu_known` are false where the place was down, or somebody held an unknown number there.
    """

    place: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]
    gpu: NDArray[Any]
    cpu: NDArray[Any]
    mem: NDArray[Any]
    has_gpu: NDArray[Any]
    has_cpu: NDArray[Any]
    up: NDArray[Any]
    gpu_known: NDArray[Any]
    cpu_known: NDArray[Any]
    mem_known: NDArray[Any]


@dataclass(slots=True)
class _Changes:
    """What changes where and when, as columns that are put together at the end."""

    place: list[Any] = field(default_factory=list)
    at: list[Any] = field(default_factory=list)
    sums: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})

    def add(self, place: Any, begin: Any, end: Any, **by: Any) -> None:
        """From `begin` to `end` each of `by` is more by so much."""
        import numpy as np

        zero = np.zeros(len(place))
        for at, sign in ((begin, 1.0), (end, -1.0)):
            self.place.append(place)
            self.at.append(at)
            for name in _COLUMNS:
                self.sums[name].append(sign * by[name] if name in by else zero)


def held(db: sqlite3.Connection, cluster: str, window: tuple[int, int], now: int) -> Held:
    """Every run of the cluster that held something in the window."""
    import numpy as np

    given = {"cluster": cluster, "since": window[0], "until": window[1], "now": now}
    texts, (*numbers, job, submitted) = columns(db, ("queue", "node_list"), (*_NUMBERS, *_KEY), _RUNS, given)
    order = np.lexsort((submitted, job))
    start, end, eligible, elapsed, limit, size, gpu, cpu, mem, for_queue = (
        one[order].astype(np.float64) for one in numbers
    )
    (queue, queues), (nodes, lists) = (_places(one, order) for one in texts)
    return Held(start, end, eligible, elapsed, limit, size, gpu, cpu, mem, for_queue, queue, nodes, queues, lists)


def _places(texts: Texts, order: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """A column of texts in that order, -1 for no text, and the texts."""
    import numpy as np

    names = [name for name in texts.names if name]
    place = {name: number for number, name in enumerate(names)}
    places = np.array([place.get(name or "", -1) for name in texts.names], np.int64)
    return places[texts.codes][order], names


def known_nodes(db: sqlite3.Connection, cluster: str) -> dict[str, Node]:
    """Every node of the cluster. An event ends where the next one of its node begins."""
    forever = 2**62
    times: dict[str, list[Any]] = {}
    queues: dict[str, frozenset[str]] = {}
    for row, after in pairwise([*db.execute(_NODES, (cluster,)), None]):
        name, since, present, gpus, cpus, mem, listed = row
        times.setdefault(name, [])
        if present:
            until = after[1] if after is not None and after[0] == name else forever
            times[name].append((since, until, gpus, cpus, mem))
            queues[name] = frozenset(one for one in (listed or "").split(",") if one)
    outages: dict[str, list[tuple[int, int]]] = {}
    for row, after in pairwise([*db.execute(_EVENTS, (cluster,)), None]):
        last = forever if row[2] is None else row[2]
        if after is not None and after[0] == row[0]:
            last = min(last, after[1])
        outages.setdefault(row[0], []).append((row[1], last))
    return {name: Node(its, outages.get(name, ()), queues.get(name, frozenset())) for name, its in times.items()}


def on_nodes(runs: Held, nodes: dict[str, Node]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Pairs of a run and one of its nodes (a place in `nodes`), and on how many nodes that run was."""
    import numpy as np

    places = {name: place for place, name in enumerate(nodes)}
    found = [[places.get(host, -1) for host in hosts(text)] for text in runs.lists]
    many = np.array([len(one) for one in found], np.int64)
    flat = np.array([place for one in found for place in one], np.int64)
    first = np.cumsum(many) - many
    listed = np.flatnonzero(runs.nodes >= 0)
    width = many[runs.nodes[listed]]
    run = np.repeat(listed, width)
    nth = np.arange(len(run)) - np.repeat(np.cumsum(width) - width, width)
    place = flat[np.repeat(first[runs.nodes[listed]], width) + nth] if len(run) else flat[:0]
    known = place >= 0
    return run[known], place[known], np.repeat(width, width)[known]


def room(
    runs: Held, pairs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], nodes: Sequence[Node], window: tuple[int, int]
) -> Room:
    """The free room of these nodes in the window. A run on several nodes holds the same part on each."""
    import numpy as np

    run, place, width = pairs
    since, until = window
    changes = _Changes()
    sizes = {name: getattr(runs, name)[run] / width for name in ("gpu", "cpu", "mem")}
    by = {name: np.nan_to_num(one) for name, one in sizes.items()}
    by |= {f"no_{name}": np.isnan(one).astype(np.float64) for name, one in sizes.items()}
    changes.add(place, np.clip(runs.start_time[run], since, until), np.clip(runs.end_time[run], since, until), **by)
    _nodes(changes, nodes, window)
    return _pieces(changes)


def _nodes(changes: _Changes, nodes: Sequence[Node], window: tuple[int, int]) -> None:
    """What each node has, and when it is down; a piece begins and ends with the window."""
    import numpy as np

    since, until = window
    rows = [(n, *one) for n, node in enumerate(nodes) for one in node.times if one[0] < until and one[1] > since]
    place, begin, end, *has = np.array(rows, np.float64).reshape(-1, 6).T
    by = {f"has_{name}": np.nan_to_num(one) for name, one in zip(("gpu", "cpu", "mem"), has, strict=True)}
    by |= {f"no_{name}": np.isnan(one).astype(np.float64) for name, one in zip(("gpu", "cpu", "mem"), has, strict=True)}
    begin, end = np.clip(begin, since, until), np.clip(end, since, until)
    changes.add(place.astype(np.int64), begin, end, there=np.ones(len(rows)), **by)
    out = [(n, *one) for n, node in enumerate(nodes) for one in node.outages]
    place, begin, end = np.array(out, np.float64).reshape(-1, 3).T
    begin = np.clip(begin, since, until)
    end = np.maximum(np.clip(end, since, until), begin)
    changes.add(place.astype(np.int64), begin, end, down=np.ones(len(out)))


def _pieces(changes: _Changes) -> Room:
    import numpy as np

    place, at = np.concatenate(changes.place), np.concatenate(changes.at)
    order = np.lexsort((at, place))
    place, at = place[order], at[order]
    last = np.flatnonzero((place[1:] == place[:-1]) & (at[1:] > at[:-1]))  # of the changes at one moment
    # Whatever begins on a place ends there, so the sums begin at zero with each place.
    now = {
        name: np.round(np.cumsum(np.concatenate(parts)[order])[last], DIGITS) for name, parts in changes.sums.items()
    }
    up = (now["there"] > 0) & (now["down"] <= 0)
    free = {name: np.maximum(np.round(now[f"has_{name}"] - now[name], DIGITS), 0) for name in ("gpu", "cpu", "mem")}
    known = {name: up & (now[f"no_{name}"] <= 0) for name in ("gpu", "cpu", "mem")}
    return Room(
        place[last], at[last], at[last + 1], free["gpu"], free["cpu"], free["mem"], now["has_gpu"] * up,
        now["has_cpu"] * up, up, known["gpu"], known["cpu"], known["mem"],
    )  # fmt: skip
