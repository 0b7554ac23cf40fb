"""The room that was free on each node, piece by piece of time: one sweep over the starts and ends of all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.waste_runs import Held

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Shares of a run on several nodes add up to whole numbers only to this many digits.
DIGITS: Final = 6
_NODES: Final = "SELECT node, since, present, gpus, cpus, mem, queues FROM node WHERE cluster = ? ORDER BY node, since"
_EVENTS: Final = "SELECT node, start_time, end_time FROM node_event WHERE cluster = ? ORDER BY node, start_time"


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
    up: NDArray[Any]
    gpu_known: NDArray[Any]
    cpu_known: NDArray[Any]
    mem_known: NDArray[Any]


@dataclass(slots=True)
class _Changes:
    """What changes where and when; a column of it is made when it is asked for."""

    place: list[Any] = field(default_factory=list)
    at: list[Any] = field(default_factory=list)
    _by: list[tuple[float, Mapping[str, Any]]] = field(default_factory=list)

    def add(self, place: Any, begin: Any, end: Any, **by: Any) -> None:
        """Add each amount of `by` from `begin` to `end`."""
        for at, sign in ((begin, 1.0), (end, -1.0)):
            self.place.append(place)
            self.at.append(at)
            self._by.append((sign, by))

    def column(self, name: str) -> NDArray[Any]:
        """The change of `name` each time."""
        import numpy as np

        parts = zip(self.place, self._by, strict=True)
        return np.concatenate([sign * by[name] if name in by else np.zeros(len(place)) for place, (sign, by) in parts])


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


def room(runs: Held, nodes: Sequence[Node], window: tuple[int, int]) -> Room:
    """The free room of these nodes in the window. A run on several nodes holds the same part on each."""
    import numpy as np

    run, place, width = runs.on_nodes()
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

    def now(name: str) -> NDArray[Any]:
        # Whatever begins on a place ends there, so the sums begin at zero with each place.
        column = changes.column(name)
        if not column.any():
            return np.zeros(len(last))
        sums: NDArray[Any] = np.round(np.cumsum(column[order])[last], DIGITS)
        return sums

    up = (now("there") > 0) & (now("down") <= 0)
    has = {name: now(f"has_{name}") for name in ("gpu", "cpu", "mem")}
    free = {name: np.maximum(np.round(there - now(name), DIGITS), 0) for name, there in has.items()}
    known = {name: up & (now(f"no_{name}") <= 0) for name in has}
    return Room(
        place[last], at[last], at[last + 1], free["gpu"], free["cpu"], free["mem"], has["gpu"] * up, up,
        known["gpu"], known["cpu"], known["mem"],
    )  # fmt: skip
