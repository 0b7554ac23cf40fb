"""Stores a Site's queues and nodes, and the events of nodes, in the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adminkit.slurm.events import NodeEvent
from adminkit.slurm.site import Site, SiteNode, SiteQueue
from adminkit.slurm.site_file import site_text, writable
from adminkit.sqlite import sqlite3
from adminkit.trace.machine import record_events, record_gone, record_node, record_queue
from adminkit.trace.windows import SITE, fact, set_fact


def store_queues(db: sqlite3.Connection, cluster: str, queues: Sequence[SiteQueue], since: int) -> None:
    """The queues as they are from `since` on. The default limit is what a job without one gets."""
    for queue in queues:
        record_queue(db, cluster, queue.name, since, (queue.usual_limit, queue.max_limit, queue.total_nodes))


def store_nodes(db: sqlite3.Connection, cluster: str, nodes: Sequence[SiteNode], since: int) -> None:
    """The nodes as they are from `since` on; a node that is not among them is gone since."""
    for node in nodes:
        types = ",".join(f"{name}:{count}" for name, count in sorted(node.gpus.items()))
        shares = ",".join(f"{name}:{count}" for name, count in sorted(node.gpu_shares.items())) or None
        names = (",".join(sorted(node.features)), ",".join(sorted(node.queues)))
        record_node(
            db, cluster, node.name, since, (node.cpus, node.mem, sum(node.gpus.values()), types, shares, *names)
        )
    record_gone(db, cluster, since, [node.name for node in nodes])


def store_events(db: sqlite3.Connection, cluster: str, events: Sequence[NodeEvent]) -> None:
    record_events(
        db,
        cluster,
        ((e.node, e.start_time, e.end_time, e.state, e.reason, e.user, e.uid) for e in events),
    )


def store_site(db: sqlite3.Connection, site: Site, now: int) -> None:
    """What the tables of queues and nodes have no columns for; written where it changed. Nobody's name is in it."""
    weighed = tuple(SiteNode(node.name, weight=node.weight) for node in site.nodes if node.weight not in (None, 1))
    kept, _ = writable(replace(site, nodes=weighed, associations=(), privileged=frozenset({0}), uids={}))
    text = site_text(kept)
    before = fact(db, site.cluster, SITE)
    if before is None or before[0] != text:
        set_fact(db, site.cluster, SITE, text, now)
