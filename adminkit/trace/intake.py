"""What came in: one row per import or sync, the queues' limits, and what follows from rows taken together."""

from __future__ import annotations

import sqlite3
from typing import Final

#: The limit differs from what the queue would have given, so somebody chose it. Equal says nothing.
_EXPLICIT: Final = """
UPDATE job SET limit_source = 'explicit'
WHERE limit_source = 'unknown' AND limit_kind = 'finite' AND {scope}
  AND time_limit <> coalesce(
      (SELECT default_limit FROM queue WHERE queue.cluster = job.cluster AND queue.queue = job.queue
       AND since <= job.submit_time ORDER BY since DESC LIMIT 1),
      (SELECT default_limit FROM queue WHERE queue.cluster = job.cluster AND queue.queue = job.queue
       ORDER BY since LIMIT 1))
"""

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


def mark_explicit(db: sqlite3.Connection, since: int | None = None, until: int | None = None) -> int:
    """Set limit_source of runs that ended in [since, until), or of all. Returns how many it marked."""
    if not db.execute("SELECT EXISTS (SELECT 1 FROM queue)").fetchone()[0]:
        return 0
    scope, values = "1", ()
    if since is not None and until is not None:
        scope, values = "end_time >= ? AND end_time < ?", (since, until)  # type: ignore[assignment]
    return db.execute(_EXPLICIT.format(scope=scope), values).rowcount
