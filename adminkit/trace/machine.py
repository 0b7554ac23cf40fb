"""Queues and nodes of a cluster, each with the time since when it was so, and the events of nodes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.trace.exchange import TABLES
from adminkit.trace.forgotten import marks_of

# A queue's limits get a new row only when they differ from the newest one.
_QUEUE: Final = """
INSERT INTO queue (cluster, queue, since, default_limit, max_limit, nodes)
SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE (?4, ?5, ?6) IS NOT (SELECT default_limit, max_limit, nodes FROM queue
                           WHERE cluster = ?1 AND queue = ?2 ORDER BY since DESC LIMIT 1)
ON CONFLICT (cluster, queue, since) DO UPDATE
SET default_limit = excluded.default_limit, max_limit = excluded.max_limit, nodes = excluded.nodes
"""

# A node too.
_NODE: Final = """
INSERT INTO node (cluster, node, since, present, cpus, mem, gpus, gpu_types, gpu_shares, features, queues)
SELECT ?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10
WHERE (1, ?4, ?5, ?6, ?7, ?8, ?9, ?10) IS NOT (
    SELECT present, cpus, mem, gpus, gpu_types, gpu_shares, features, queues FROM node
    WHERE cluster = ?1 AND node = ?2 ORDER BY since DESC LIMIT 1)
ON CONFLICT (cluster, node, since) DO UPDATE
SET present = 1, cpus = excluded.cpus, mem = excluded.mem, gpus = excluded.gpus, gpu_types = excluded.gpu_types,
    gpu_shares = excluded.gpu_shares, features = excluded.features, queues = excluded.queues
"""

# SQLite shows the row that has the maximum.
_GONE: Final = """
INSERT INTO node (cluster, node, since, present)
SELECT cluster, node, ?2, 0 FROM (SELECT cluster, node, present, max(since) FROM node WHERE cluster = ?1 GROUP BY node)
WHERE present = 1 AND node NOT IN (SELECT value FROM json_each(?3))
ON CONFLICT (cluster, node, since) DO UPDATE SET present = 0, cpus = NULL, mem = NULL, gpus = NULL, gpu_types = NULL,
    gpu_shares = NULL, features = NULL, queues = NULL
"""

_EVENT_COLUMNS: Final = ("cluster", "node", "start_time", "end_time", "state", "reason", "user", "uid")
_EVENT: Final = f"""
INSERT INTO node_event ({", ".join(_EVENT_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (cluster, node, start_time) DO UPDATE
SET end_time = excluded.end_time, state = excluded.state, reason = excluded.reason, user = excluded.user,
    uid = excluded.uid
"""

#: default limit, maximum limit (seconds; None for none), number of nodes
QueueRow = tuple[int | None, int | None, int | None]
#: CPUs, bytes of memory, GPUs, their types with counts, shards and MPS of them, features, queues
NodeRow = tuple[int | None, int | None, int | None, str, str | None, str, str]
#: node, start, end, state, reason, user, uid
EventRow = tuple[str, int, int | None, str, str | None, str | None, int | None]


def record_queue(db: sqlite3.Connection, cluster: str, queue: str, since: int, row: QueueRow) -> None:
    """The limits of a queue as they are from `since` on."""
    db.execute(_QUEUE, (cluster, queue, since, *row))


def record_node(db: sqlite3.Connection, cluster: str, node: str, since: int, row: NodeRow) -> None:
    """A node as it is from `since` on."""
    db.execute(_NODE, (cluster, node, since, *row))


def record_gone(db: sqlite3.Connection, cluster: str, since: int, present: Sequence[str]) -> None:
    """Write down that every known node outside `present` is gone from `since` on."""
    db.execute(_GONE, (cluster, since, json.dumps(list(present))))


def record_events(db: sqlite3.Connection, cluster: str, events: Iterable[EventRow]) -> None:
    """Store events of nodes; a known one gets its end, state and reason of now."""
    marks, columns = marks_of(db), _EVENT_COLUMNS[1:]
    rows: Iterable[Iterable[object]] = events
    if marks:
        rows = (marks.event(dict(zip(columns, event, strict=True))).values() for event in events)
    db.executemany(_EVENT, ((cluster, *row) for row in rows))


def put_rows(db: sqlite3.Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Store rows of queue, node or node_event as they are, values in the order of `columns`; a known key gets these."""
    key, names = TABLES[table].key, ", ".join(columns)
    sets = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in key)
    if table == "node_event" and (marks := marks_of(db)):
        rows = [tuple(marks.event(dict(zip(columns, row, strict=True))).values()) for row in rows]
    db.executemany(
        f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
        f" ON CONFLICT ({', '.join(key)}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}",
        rows,
    )
