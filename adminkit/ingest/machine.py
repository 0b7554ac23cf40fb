"""Stores a Site's queues and nodes, and the events of nodes, in the trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from adminkit.slurm.events import NodeEvent
from adminkit.slurm.site import SiteNode, SiteQueue
from adminkit.trace.machine import record_events, record_gone, record_node, record_queue


def store_queues(db: sqlite3.Connection, cluster: str, queues: Sequence[SiteQueue], since: int) -> None:
    """The queues as they are from `since` on. The default limit is what a job without one gets."""
    for queue in queues:
        record_queue(db, cluster, queue.name, since, (queue.usual_limit, queue.max_limit, queue.total_nodes))


def store_nodes(db: sqlite3.Connection, cluster: str, nodes: Sequence[SiteNode], since: int) -> None:
    """The nodes as they are from `since` on; a node that is not among them is gone from then on."""
    for node in nodes:
        types = ",".join(f"{name}:{count}" for name, count in sorted(node.gpus.items()))
        names = (",".join(sorted(node.features)), ",".join(sorted(node.queues)))
        record_node(db, cluster, node.name, since, (node.cpus, node.mem, sum(node.gpus.values()), types, *names))
    record_gone(db, cluster, since, [node.name for node in nodes])


def store_events(db: sqlite3.Connection, cluster: str, events: Sequence[NodeEvent]) -> None:
    record_events(
        db,
        cluster,
        ((e.node, e.start_time, e.end_time, e.state, e.reason, e.user, e.uid) for e in events),
    )
