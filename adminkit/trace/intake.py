"""What came in: one row per import or sync, and the queues' limits."""

from __future__ import annotations

import sqlite3
from typing import Final

_INTAKE: Final = """
INSERT INTO intake (kind, source, cluster, started_at, seconds, rows, new, changed, rejected, skipped)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

# A queue's limits get a new row only when they differ from the newest one.
_QUEUE: Final = """
INSERT INTO queue (cluster, queue, since, default_limit, max_limit, nodes)
SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE (?4, ?5, ?6) IS NOT (SELECT default_limit, max_limit, nodes FROM queue
                           WHERE cluster = ?1 AND queue = ?2 ORDER BY since DESC LIMIT 1)
ON CONFLICT (cluster, queue, since) DO UPDATE
SET default_limit = excluded.default_limit, max_limit = excluded.max_limit, nodes = excluded.nodes
"""


def record_intake(
    db: sqlite3.Connection,
    kind: str,
    source: str,
    cluster: str | None,
    started_at: int,
    seconds: float,
    counts: tuple[int, int, int, int, int],
) -> None:
    """One line of history. `counts` are rows, new, changed, rejected, skipped."""
    db.execute(_INTAKE, (kind, source, cluster, started_at, seconds, *counts))


def record_queue(
    db: sqlite3.Connection,
    cluster: str,
    queue: str,
    now: int,
    default: int | None,
    maximum: int | None,
    nodes: int | None,
) -> None:
    """The limits of a queue as seen at `now`, seconds; None for no limit."""
    db.execute(_QUEUE, (cluster, queue, now, default, maximum, nodes))
