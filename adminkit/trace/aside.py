"""What was set aside: texts that sync or an import could not read."""

from __future__ import annotations

import sqlite3
from typing import Final

#: Stands for the delimiter of sacct's answer in what is kept of it (adminkit/native/ingest/aside.h).
ASIDE: Final = "\x1f"

#: More than the journal has lines for.
_MOST: Final = 1000


def seen(db: sqlite3.Connection, source: str, at: int) -> list[tuple[str, bytes]]:
    """(reason, text) of what was set aside at that time."""
    sql = "SELECT reason, raw FROM rejected WHERE source = ? AND seen_at = ? ORDER BY line LIMIT ?"
    return [(row[0], row[1]) for row in db.execute(sql, (source, at, _MOST))]
