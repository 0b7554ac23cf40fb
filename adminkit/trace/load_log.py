"""The table `load`: one row per import, sync, audit or demo."""

from __future__ import annotations

from typing import Final

from adminkit.sqlite import sqlite3

_LOAD: Final = """
INSERT INTO load (kind, source, cluster, started_at, seconds, rows, new, changed, rejected, skipped)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def record_load(
    db: sqlite3.Connection,
    kind: str,
    source: str,
    cluster: str | None,
    started_at: int,
    seconds: float,
    counts: tuple[int, int, int, int, int],
) -> None:
    """Add one row. `counts`: rows, new, changed, rejected, skipped."""
    db.execute(_LOAD, (kind, source, cluster, started_at, seconds, *counts))
