"""Texts that sync or an import could not read and set aside."""

from __future__ import annotations

from typing import Final

from adminkit.sqlite import sqlite3

#: Replaces the delimiter of sacct's answer in a text that was set aside (adminkit/native/ingest/aside.h).
ASIDE: Final = "\x1f"

#: Texts returned at most: more than the journal takes.
_MOST: Final = 1000


def seen(db: sqlite3.Connection, source: str, at: int) -> list[tuple[str, bytes]]:
    """(reason, text) of each row of `source` that was set aside at `at`, epoch seconds."""
    sql = "SELECT reason, raw FROM rejected WHERE source = ? AND seen_at = ? ORDER BY line LIMIT ?"
    return [(row[0], row[1]) for row in db.execute(sql, (source, at, _MOST))]
