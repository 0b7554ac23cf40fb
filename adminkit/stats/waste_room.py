"""The room that was free on each node, piece by piece of time: one sweep over the starts and ends of all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.waste_runs import Held

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIZES: Final = ("gpu", "cpu", "mem")
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

    `gpu_known` and `cpu_known` are false where the place was down, or somebody held an unknown number there. `kept` is
    since when the first of the runs that started at the end of a piece was eligible, infinite where none is known.
    `begins` and `ends` are clock.key() of each piece.
    """

    place: NDArray[Any]
    begin: NDArray[Any]
    end: NDArray[Any]
    kept: NDArray[Any]
    gpu: NDArray[Any]
    cpu: NDArray[Any]
    mem: NDArray[Any]
    has_gpu: NDArray[Any]
    up: NDArray[Any]
    gpu_known: NDArray[Any]
    cpu_known: NDArray[Any]
    mem_known: NDArray[Any]
    begins: NDArray[Any]
    ends: NDArray[Any]
    clock: Clock


@dataclass(frozen=True, slots=True)
class Clock:
    """A window of time, and whole numbers that are ordered as places and times in it are."""

    since: int
    until: int

    @property
    def span(self) -> int:
        """How far the numbers of a moment on two places are from each other."""
        return self.until - self.since + 1

    def key(self, place: NDArray[Any], at: NDArray[Any]) -> NDArray[Any]:
        """The numbers of these places and times (epoch seconds)."""
        import numpy as np

        found: NDArray[Any] = place.astype(np.int64) * self.span + (at.astype(np.int64) - self.since)
        return found

    def clip(self, at: NDArray[Any]) -> NDArray[Any]:
        """These times, where they are within the window."""
        import numpy as np

        found: NDArray[Any] = np.clip(at, self.since, self.until)
        return found


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

    clock = Clock(*window)
    has = _Has.of(nodes, clock)
    run, place, width = runs.on_nodes()
    start = runs.start_time[run]
    begins, ends = clock.key(place, clock.clip(start)), clock.key(place, clock.clip(runs.end_time[run]))
    keys = np.concatenate((begins, ends, has.keys))
    keys, order = _ordered(keys)
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True)) if len(keys) else order  # of the changes at a moment
    moments = keys[last]
    at, place = moments % clock.span + float(clock.since), moments // clock.span
    some = np.flatnonzero(place[1:] == place[:-1])

    def held(sizes: NDArray[Any]) -> NDArray[Any]:
        # Whatever begins on a place ends there, so the sums begin at zero with each place.
        if not sizes.any():
            return np.zeros(len(some))
        sums = np.cumsum(np.concatenate((sizes, -sizes, np.zeros(len(has.keys))))[order])[last[some]]
        return sums if (sizes == np.floor(sizes)).all() else np.round(sums, DIGITS)

    eligible = np.where((start > clock.since) & ~np.isnan(runs.eligible_time[run]), runs.eligible_time[run], np.inf)
    waited = np.concatenate((eligible, np.full(len(ends) + len(has.keys), np.inf)))[order]
    kept = np.minimum.reduceat(waited, np.append(0, last[:-1] + 1)) if len(last) else waited
    there = has.at(moments[some])
    up = (there["there"] > 0) & (there["down"] <= 0)
    free, known = {}, {}
    for name in _SIZES:
        sizes = getattr(runs, name)[run] / width
        unknown = np.isnan(sizes)
        mine = held(np.where(unknown, 0.0, sizes))
        left = there[f"has_{name}"] - mine
        free[name] = np.maximum(np.round(left, DIGITS), 0)
        known[name] = up & (there[f"no_{name}"] + held(unknown.astype(np.float64)) <= 0)
    return Room(
        place[some], at[some], at[some + 1], kept[some + 1], free["gpu"], free["cpu"], free["mem"],
        there["has_gpu"] * up, up, known["gpu"], known["cpu"], known["mem"], moments[some], moments[some + 1], clock,
    )  # fmt: skip


def _ordered(keys: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """These numbers, none below 0, in their order, and where each was: numpy sorts numbers faster than it finds their
    order, so the place goes behind each number where there are enough bits."""
    import numpy as np

    bits = len(keys).bit_length()
    if not len(keys) or int(keys.max()).bit_length() + bits > 63:
        order = np.argsort(keys)
        return keys[order], order
    both = np.sort((keys << bits) | np.arange(len(keys)))
    return both >> bits, both & ((1 << bits) - 1)


@dataclass(frozen=True, slots=True)
class _Has:
    """What nodes have, and when they are down: `sums` by name since each of the moments `keys`, which are ordered."""

    keys: NDArray[Any]
    sums: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, nodes: Sequence[Node], clock: Clock) -> _Has:
        """What is so in the window; it begins and ends with that."""
        import numpy as np

        rows = [
            (n, *one)
            for n, node in enumerate(nodes)
            for one in node.times
            if one[0] < clock.until and one[1] > clock.since
        ]
        place, begin, end, *has = np.array(rows, np.float64).reshape(-1, 6).T
        out = [(n, *one) for n, node in enumerate(nodes) for one in node.outages]
        place_out, begin_out, end_out = np.array(out, np.float64).reshape(-1, 3).T
        begin_out = clock.clip(begin_out)
        end_out = np.maximum(clock.clip(end_out), begin_out)
        by = {"there": np.ones(len(rows)), "down": np.zeros(len(rows))}
        for name, one in zip(_SIZES, has, strict=True):
            by |= {f"has_{name}": np.nan_to_num(one), f"no_{name}": np.isnan(one).astype(np.float64)}
        keys = np.concatenate((
            clock.key(place, clock.clip(begin)), clock.key(place_out, begin_out),
            clock.key(place, clock.clip(end)), clock.key(place_out, end_out),
        ))  # fmt: skip
        order = np.argsort(keys, kind="stable")
        sums = {}
        for name, one in by.items():
            amounts = np.concatenate((one, np.full(len(out), float(name == "down"))))
            sums[name] = np.cumsum(np.concatenate((amounts, -amounts))[order])
        return cls(keys[order], sums)

    def at(self, moments: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The sums at these moments, which are ordered."""
        import numpy as np

        bounds = np.searchsorted(moments, self.keys)
        many = np.diff(np.concatenate(([0], bounds, [len(moments)])))
        return {name: np.repeat(np.append(0.0, one), many) for name, one in self.sums.items()}
