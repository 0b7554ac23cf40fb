"""What a machine could have done, by the tables `node` and `node_event`: its hours, and those that were down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.gres import is_slice, slice_share
from adminkit.sqlite import sqlite3
from adminkit.stats.clip import Runs, overlap, use
from adminkit.stats.machine import stated_procs

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: In the order of Node's fields.
RESOURCES: Final = ("gpu", "cpu", "node")
#: Why a node could not be used -> what is in Slurm's word for its state then, as sacctmgr writes it: the first that
#: matches. A mark of $ is that of a maintenance reservation.
KINDS: Final = {"maintenance": ("MAINT", "$"), "drained": ("DRAIN", "DRNG"), "down": ("",)}

_NODES: Final = (
    "SELECT node, since, present, gpus, cpus, queues, gpu_types FROM node WHERE cluster = ? ORDER BY node, since"
)
_EVENTS: Final = "SELECT node, start_time, end_time, state FROM node_event WHERE cluster = ? ORDER BY node, start_time"


class Stretch(NamedTuple):
    """A time, [begin, end) in epoch seconds, in which a node had these resources; None: unknown."""

    begin: int
    end: int
    gpu: float | None
    cpu: int | None
    node: int | None


@dataclass(slots=True)
class Capacity:
    """By resource and part of a window: the seconds of all nodes, and of those that were down.

    The machine is known from `since` on (None: never); `stated` is a number of processors that the trace's header gives
    where it has no nodes. `shared` nodes are of queues besides those that were asked for.
    """

    since: int | None
    whole: Mapping[str, NDArray[Any] | None] = field(default_factory=dict)
    down: Mapping[str, NDArray[Any] | None] = field(default_factory=dict)
    parts: Sequence[int] = ()  # edges
    kinds: Mapping[str, int] = field(default_factory=dict)  # of KINDS -> node-seconds in the window
    changes: Sequence[tuple[int, int]] = ()  # (when, by how many) the number of nodes changed within the window
    shared: int = 0
    stated: int | None = None

    def of(self, resource: str, place: int) -> tuple[float | None, float | None]:
        """The seconds of that part, and of these those that were down; None where the machine was not known yet."""
        if self.since is None or self.parts[place] < self.since:
            return None, None
        whole, down = self.whole.get(resource), self.down.get(resource)
        return None if whole is None else float(whole[place]), None if down is None else float(down[place])


def capacity(db: sqlite3.Connection, names: Sequence[str], queues: Sequence[str], window: Sequence[int]) -> Capacity:
    """The machine of these clusters together, or of the nodes of these `queues`, for each part of `window` (edges)."""
    nodes: list[Stretch] = []
    outages: list[tuple[Stretch, str]] = []
    since: list[int] = []
    shared = 0
    for cluster in names:
        found = _stretches(db, cluster, queues)
        shared += found.shared
        if found.since is None:
            procs = stated_procs(db, cluster)
            alone = len(names) == 1 and procs is not None and not queues and window
            return _stated(int(procs or 0), window) if alone else Capacity(None, parts=window)
        since.append(found.since)
        nodes += [one for several in found.nodes.values() for one in several]
        outages += _outages(db, cluster, found.nodes)
    if not since or not window:
        return Capacity(max(since, default=None), parts=window)
    kinds = dict.fromkeys(KINDS, 0)
    for one, kind in outages:
        kinds[kind] += overlap(one.begin, one.end, window[0], window[-1])
    whole, down = _sums(nodes, window), _sums([one for one, _ in outages], window)
    return Capacity(max(since), whole, down, window, kinds, _changes(nodes, window, max(since)), shared)


def least_cpus(db: sqlite3.Connection, names: Sequence[str]) -> int | None:
    """The fewest CPUs that any node of these clusters has ever had; None where none is known."""
    marks = ", ".join("?" * len(names))
    (least,) = db.execute(
        f"SELECT min(cpus) FROM node WHERE cpus > 0 AND cluster IN ({marks})", tuple(names)
    ).fetchone()
    return None if least is None else int(least)


@dataclass(slots=True)
class _Found:
    since: int | None = None
    nodes: dict[str, list[Stretch]] = field(default_factory=dict)
    shared: int = 0


def _stretches(db: sqlite3.Connection, cluster: str, queues: Sequence[str]) -> _Found:
    """The nodes of a cluster, each with the times in which it was as it was; the last lasts."""
    found = _Found()
    shared: set[str] = set()
    rows = db.execute(_NODES, (cluster,)).fetchall()
    for row, after in pairwise([*rows, None]):
        node, begin, present, gpus, cpus, listed, types = row
        found.since = begin if found.since is None else min(found.since, begin)
        its = {name for name in (listed or "").split(",") if name}
        if not present or (queues and its.isdisjoint(queues)):
            continue
        if queues and not its <= set(queues):
            shared.add(node)
        end = after[1] if after is not None and after[0] == node else _FOREVER
        found.nodes.setdefault(node, []).append(Stretch(begin, end, _whole(gpus, types), cpus, 1))
    found.shared = len(shared)
    return found


def _whole(gpus: int | None, types: str | None) -> float | None:
    """The GPUs that a node's types make: its slices of MIG are parts of one."""
    counts = [word.rpartition(":") for word in (types or "").split(",") if word]
    shares = [(slice_share(name) if is_slice(name) else 1.0, int(many)) for name, _, many in counts]
    if gpus is None or all(share == 1.0 for share, _ in shares):
        return gpus
    known = [share * many for share, many in shares if share is not None]
    return sum(known) if len(known) == len(shares) else None


_FOREVER: Final = 2**62


def _outages(
    db: sqlite3.Connection, cluster: str, nodes: Mapping[str, Sequence[Stretch]]
) -> Iterator[tuple[Stretch, str]]:
    """Each time in which one of these nodes was down, with the kind of it. An event ends where the next one begins."""
    rows = db.execute(_EVENTS, (cluster,)).fetchall()
    for row, after in pairwise([*rows, None]):
        node, begin, end, state = row
        last = _FOREVER if end is None else end
        if after is not None and after[0] == node:
            last = min(last, after[1])
        kind = next(kind for kind, words in KINDS.items() if any(word in state.upper() for word in words))
        for one in nodes.get(node, ()):
            cut = one._replace(begin=max(begin, one.begin), end=min(last, one.end))
            if cut.begin < cut.end:
                yield cut, kind


def _sums(stretches: Sequence[Stretch], window: Sequence[int]) -> dict[str, NDArray[Any] | None]:
    """Seconds of each resource for each part; None where a node does not say how many it has."""
    import numpy as np

    first, last = window[0], window[-1]
    inside = [one for one in stretches if overlap(one.begin, one.end, first, last)]
    begin = np.array([max(one.begin, first) for one in inside], np.float64)
    end = np.array([min(one.end, last) for one in inside], np.float64)
    sums: dict[str, NDArray[Any] | None] = {}
    for name in RESOURCES:
        sizes = [getattr(one, name) for one in inside]
        known = None not in sizes
        sums[name] = use(Runs(begin, end, end - begin, np.array(sizes, np.float64)), window) if known else None
    return sums


def _changes(nodes: Iterable[Stretch], window: Sequence[int], since: int) -> list[tuple[int, int]]:
    """When the number of nodes changed within the window, and by how many."""
    moved: dict[int, int] = {}
    for one in nodes:
        for at, change in ((one.begin, 1), (one.end, -1)):
            if max(window[0], since) < at < window[-1]:
                moved[at] = moved.get(at, 0) + change
    return [(at, change) for at, change in sorted(moved.items()) if change]


def _stated(procs: int, window: Sequence[int]) -> Capacity:
    """A machine of which nothing is known but its number of processors."""
    import numpy as np

    return Capacity(window[0], {"cpu": np.diff(np.array(window, np.float64)) * procs}, {}, window, stated=procs)
