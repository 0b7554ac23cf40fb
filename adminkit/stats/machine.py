"""What the trace knows of a cluster's machine: its queues and nodes as a Site, and when nodes could not be used.

Sync keeps queues, QOS and the scheduler as they are now under one fact; queues' limits and nodes have tables with their
past. A node that has gone, or came later, is of the site, and down where it was not there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from adminkit.slurm.site import Site, SiteNode, SiteQueue, sized
from adminkit.slurm.site_file import parse_site
from adminkit.sqlite import sqlite3
from adminkit.trace.windows import MAX_PROCS, SITE, fact

#: The newest row of each; SQLite shows the one that has the maximum.
_QUEUES: Final = "SELECT queue, default_limit, max_limit, nodes, max(since) FROM queue WHERE cluster = ? GROUP BY queue"
_NODES: Final = """
SELECT node, since, present, cpus, mem, gpu_types, features, queues FROM node WHERE cluster = ? ORDER BY node, since
"""
_EVENTS: Final = "SELECT node, start_time, end_time FROM node_event WHERE cluster = ? ORDER BY node, start_time"


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which a node took no job, epoch seconds; `end` None: it lasts."""

    node: str
    start: int
    end: int | None


def known_site(db: sqlite3.Connection, cluster: str) -> tuple[Site, list[Outage]]:
    """The site, without queues or nodes where the trace has none, and the outages of its nodes."""
    kept = fact(db, cluster, SITE)
    site = Site(cluster) if kept is None else parse_site(kept[0], Path("the trace's site.json"))
    queues = {queue.name: queue for queue in site.queues}
    for name, default, most, nodes, _ in db.execute(_QUEUES, (cluster,)).fetchall():
        queues.setdefault(name, SiteQueue(name, default, most, total_nodes=nodes))
    nodes, outages = _nodes(db, cluster)
    weights = {node.name: node.weight for node in site.nodes}
    nodes = [replace(node, queues=node.queues & queues.keys(), weight=weights.get(node.name)) for node in nodes]
    described = tuple(sized(queue, nodes) for queue in queues.values())
    outages += [Outage(*row) for row in db.execute(_EVENTS, (cluster,))]
    return replace(site, cluster=cluster, queues=described, nodes=tuple(nodes)), outages


def stated_procs(db: sqlite3.Connection, cluster: str) -> int | None:
    """The processors of the machine, as the header of an imported SWF trace states them."""
    kept = fact(db, cluster, MAX_PROCS)
    return None if kept is None else int(kept[0])


def _nodes(db: sqlite3.Connection, cluster: str) -> tuple[list[SiteNode], list[Outage]]:
    """Every node there ever was, as it last was, and the times in which it was not there."""
    newest: dict[str, SiteNode] = {}
    came: dict[str, int] = {}
    gone: dict[str, int] = {}
    outages = []
    for name, since, present, cpus, mem, types, features, queues in db.execute(_NODES, (cluster,)):
        if not present:
            gone[name] = since
            continue
        if name in gone:
            outages.append(Outage(name, gone.pop(name), since))
        came.setdefault(name, since)
        gpus = {kind: int(count) for kind, _, count in (one.rpartition(":") for one in _listed(types))}
        newest[name] = SiteNode(name, cpus, mem, gpus, frozenset(_listed(features)), frozenset(_listed(queues)))
    first = min(came.values(), default=0)
    outages += [Outage(name, 0, since) for name, since in came.items() if since > first]
    outages += [Outage(name, since, None) for name, since in gone.items() if name in newest]
    return list(newest.values()), outages


def _listed(text: str | None) -> list[str]:
    return [word for word in (text or "").split(",") if word]
