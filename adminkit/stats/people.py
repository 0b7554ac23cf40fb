"""Who has anything in the trace, by number."""

from __future__ import annotations

from typing import Final

from adminkit.sqlite import sqlite3

#: The name of a number is that of its last submission.
_PEOPLE: Final = """
SELECT uid, user, max(at) FROM (
    SELECT uid, user, max(submit_time) AS at FROM run WHERE uid IS NOT NULL AND user IS NOT NULL GROUP BY uid, user
    UNION ALL SELECT uid, user, max(due_at) FROM outbox WHERE uid IS NOT NULL AND user IS NOT NULL GROUP BY uid, user
) GROUP BY uid ORDER BY uid
"""


def people(db: sqlite3.Connection) -> list[tuple[int, str]]:
    """(uid, name) of everybody with a job or a letter."""
    return [(row[0], row[1]) for row in db.execute(_PEOPLE)]
