"""Who is who: the one table that knows which name a person has.

What is kept for years about people, charges and what was done, names a person by a random id. So the name can be taken
away, by deleting one row, while sums and chains stay as they are. docs/trace.md has the columns.
"""

from __future__ import annotations

import secrets
from typing import Final

from adminkit.sqlite import sqlite3

_KNOWN: Final = "SELECT person FROM person WHERE cluster = ? AND user = ?"
_NEW: Final = "INSERT INTO person (person, cluster, user, uid, since) VALUES (?, ?, ?, ?, ?)"
#: An id begins so; no user of a Unix system has a name with a colon, so an id is never taken for a name.
PREFIX: Final = "person:"


def person_of(db: sqlite3.Connection, cluster: str, user: str, *, now: int, uid: int | None = None) -> str:
    """The id of that user of that cluster; a new random one, written in the caller's transaction, for a new user.

    A run of who was forgotten has the id already.
    """
    if user.startswith(PREFIX):
        return user
    row = db.execute(_KNOWN, (cluster, user)).fetchone()
    if row is not None:
        return str(row[0])
    person = f"{PREFIX}{secrets.token_hex(8)}"
    db.execute(_NEW, (person, cluster, user, uid, now))
    return person


def names(db: sqlite3.Connection) -> dict[str, str]:
    """Person -> user name, of those whose name is known: a forgotten person is not in it."""
    return dict(db.execute("SELECT person, user FROM person").fetchall())
