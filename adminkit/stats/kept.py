"""Every row of a trace that is about one user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3

_OF: Final = "(uid = :uid OR uid IS NULL AND user = :user)"
_KEYS: Final = "(cluster, job_id_raw, submit_time)"
#: Table -> its rows about a user; what is theirs among runs is what the view run shows of it.
TABLES: Final = {
    "run": f"SELECT * FROM run WHERE {_OF}",
    "step": f"SELECT * FROM step WHERE {_KEYS} IN (SELECT cluster, job_id_raw, submit_time FROM run WHERE {_OF})",
    "job_aside": f"SELECT * FROM job_aside WHERE {_OF}",
    "outbox": f"SELECT * FROM outbox WHERE {_OF}",
    "node_event": "SELECT * FROM node_event WHERE uid = :uid",
    "action": "SELECT * FROM action WHERE who = :user",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows of one table."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]


def kept(db: sqlite3.Connection, uid: int, user: str) -> dict[str, Kept]:
    """The rows kept by table, empty ones too."""
    found = {}
    for table, sql in TABLES.items():
        rows = db.execute(sql, {"uid": uid, "user": user})
        found[table] = Kept([one[0] for one in rows.description], rows.fetchall())
    return found
