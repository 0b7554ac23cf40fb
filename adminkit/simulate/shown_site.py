"""The Site that a trace shows, to be corrected by hand: no larger than what was ever in use at once.

Nodes of like names (n1, n2, …) that share queues count as alike, and have what the busiest of them had. Where a trace
does not say on which nodes jobs ran, each queue is one node, as large as all that was in use in it at once.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.hostlist import hosts
from adminkit.slurm.site import UNTYPED, Site, SiteNode, SiteQueue
from adminkit.slurm.site_file import bad_name
from adminkit.stats.used import Use

#: The queue of jobs that name none.
ALL: Final = "all"
#: cpus, gpus, mem in bytes
_Size = tuple[int, int, int]


@dataclass(slots=True)
class _Place:
    """What happened on a node, or in a queue: (when, change of cpus, gpus, mem)."""

    changes: list[tuple[int, _Size]] = field(default_factory=list)
    queues: set[str] = field(default_factory=set)
    types: Counter[str] = field(default_factory=Counter)

    def add(self, use: Use, queue: str, parts: int) -> None:
        """A run, of which this place had one of `parts` like parts."""
        size = tuple(-(-amount // parts) for amount in (use.cpus, use.gpus or 0, use.mem or 0))
        cpus, gpus, mem = size
        self.changes += [(use.start_time, (cpus, gpus, mem)), (use.end_time, (-cpus, -gpus, -mem))]
        self.queues.add(queue)
        if gpus:
            self.types[use.gpu_type or UNTYPED] += 1

    def peak(self) -> _Size:
        """The most that was in use at once; at the same time, ends come first."""
        now, most = [0, 0, 0], [0, 0, 0]
        for _, change in sorted(self.changes):
            for i, amount in enumerate(change):
                now[i] += amount
                most[i] = max(most[i], now[i])
        return most[0], most[1], most[2]


def shown_site(cluster: str, uses: Iterable[Use]) -> tuple[Site, list[str]]:
    """The Site, and sentences on how it was made. AdminkitError where no job shows anything."""
    nodes: dict[str, _Place] = defaultdict(_Place)
    queues: dict[str, _Place] = defaultdict(_Place)
    limits: dict[str, Counter[int]] = defaultdict(Counter)
    defaults: dict[str, Counter[int]] = defaultdict(Counter)
    placeless = runs = 0
    for use in uses:
        runs += 1
        queue = use.queue if use.queue and not bad_name(use.queue) else ALL
        if use.time_limit:
            (defaults if use.defaulted else limits)[queue][use.time_limit] += 1
        where = _hosts(use.node_list) if use.node_list else []
        queues[queue].queues.add(queue)
        for name in where:
            nodes[name].add(use, queue, len(where))
        if not where:
            placeless += 1
            queues[queue].add(use, queue, 1)
    if not runs:
        raise AdminkitError(
            "no job of the trace has a start, an end and a size", "write the site by hand: docs/site.md"
        )
    described = _described(nodes) or [_one_node(name, place) for name, place in queues.items() if place.changes]
    described_queues = tuple(
        SiteQueue(
            name,
            max(defaults[name], key=lambda limit: (defaults[name][limit], limit), default=None),
            max([*limits[name], *defaults[name]], default=None),
            is_default=name == ALL,
        )
        for name in sorted(queues)
    )
    notes = [f"made of {runs} runs: correct sizes, limits and [scheduler] before you rely on it"]
    if placeless and nodes:
        notes.append(f"{placeless} runs do not say on which nodes they ran, and do not count for sizes")
    elif placeless:
        notes.append(
            "no run says on which nodes it ran: each queue is one node, as large as all that was in use in it at once"
        )
    return Site(cluster, described_queues, nodes=tuple(described)), notes


@lru_cache(maxsize=4096)
def _hosts(text: str) -> Sequence[str]:
    return tuple(name for name in hosts(text) if not bad_name(name))


def _described(nodes: dict[str, _Place]) -> list[SiteNode]:
    """Nodes, each with what the busiest of those alike had at once."""
    made = []
    for names in _alike(nodes):
        queues = frozenset[str]().union(*(nodes[name].queues for name in names))
        peaks = [nodes[name].peak() for name in names]
        cpus, gpus, mem = (max(peak[i] for peak in peaks) for i in range(3))
        types = sum((nodes[name].types for name in names), Counter[str]())
        kind = max(types, key=lambda name: types[name], default=UNTYPED)
        made += [SiteNode(name, cpus, mem or None, {kind: gpus} if gpus else {}, frozenset(), queues) for name in names]
    return sorted(made, key=lambda node: (re.sub(r"\d+", "", node.name), len(node.name), node.name))


def _alike(nodes: dict[str, _Place]) -> list[list[str]]:
    """The nodes by their names without numbers; those that share no queue with others of that name stand apart."""
    groups: dict[str, list[tuple[set[str], list[str]]]] = defaultdict(list)
    for name, place in nodes.items():
        of_name = groups[re.sub(r"\d+", "", name)]
        meets = [group for group in of_name if group[0] & place.queues]
        of_name[:] = [group for group in of_name if not group[0] & place.queues]
        of_name.append(
            (place.queues.union(*(group[0] for group in meets)), [name, *(one for group in meets for one in group[1])])
        )
    return [names for of_name in groups.values() for _, names in of_name]


def _one_node(queue: str, place: _Place) -> SiteNode:
    cpus, gpus, mem = place.peak()
    kind = max(place.types, key=lambda name: place.types[name], default=UNTYPED)
    return SiteNode(queue, cpus, mem or None, {kind: gpus} if gpus else {}, frozenset(), frozenset({queue}))
