"""What letters about lost work need of the site: its queues and nodes, failures of nodes, the checkpoint plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adminkit.slurm.site import SiteQueue
from adminkit.sqlite import sqlite3
from adminkit.stats.lost import node_failures, plugin_seen
from adminkit.stats.machine import known_site
from adminkit.stats.runs import Kind, Run

#: How long failures of a node are remembered, and a run that shows the checkpoint plugin; seconds.
FAILURES: Final = 30 * 86_400
PLUGIN: Final = 90 * 86_400


class SiteKnown:
    """What one state of the trace says at `now`; each part is read when it is first asked for."""

    def __init__(self, db: sqlite3.Connection, now: int) -> None:
        self._db = db
        self._now = now
        self._queues: dict[str, Mapping[str, SiteQueue]] = {}
        self._failures: dict[str, Mapping[str, int]] = {}
        self._plugin: dict[str, bool] = {}

    def node_memory(self, kind: Kind) -> int | None:
        """Bytes of the largest node of its queue; None: unknown."""
        queue = self._of(kind.cluster or "").get(kind.queue or "")
        return queue.node_mem if queue else None

    def longer_queue(self, kind: Kind, limit: int, mine: Sequence[Run]) -> tuple[str, bool]:
        """Another queue that allows `limit`, and whether the user has run such jobs there; "" for none.

        Such a queue is one where the user ran jobs with GPUs, or without, as this one; else one whose nodes have them.
        The one with the least maximum is taken.
        """
        used = {one.kind.queue for one in mine if bool(one.kind.gpus) == bool(kind.gpus)}
        fits = [
            (queue.name not in used, queue.max_limit is None, queue.max_limit or 0, queue.name)
            for queue in self._of(kind.cluster or "").values()
            if queue.up and queue.name != kind.queue and (queue.max_limit is None or queue.max_limit >= limit)
            and (queue.name in used or _has(queue, kind))
        ]  # fmt: skip
        return (min(fits)[3], not min(fits)[0]) if fits else ("", False)

    def node_failures(self, cluster: str) -> Mapping[str, int]:
        """How often each node failed lately."""
        if cluster not in self._failures:
            self._failures[cluster] = node_failures(self._db, cluster, self._now - FAILURES, self._now)
        return self._failures[cluster]

    def has_plugin(self, cluster: str) -> bool:
        """Whether the checkpoint plugin was seen at work lately."""
        if cluster not in self._plugin:
            self._plugin[cluster] = plugin_seen(self._db, cluster, self._now - PLUGIN)
        return self._plugin[cluster]

    def _of(self, cluster: str) -> Mapping[str, SiteQueue]:
        if cluster not in self._queues:
            site, _ = known_site(self._db, cluster)
            self._queues[cluster] = {queue.name: queue for queue in site.queues}
        return self._queues[cluster]


def _has(queue: SiteQueue, kind: Kind) -> bool:
    """Whether its nodes are known to have what the job had, of GPUs, on each."""
    if queue.node_gpus is None:
        return False
    return queue.node_gpus >= -(-(kind.gpus or 0) // max(kind.nodes or 1, 1))
