"""Several writes, all or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adminkit.sqlite import sqlite3


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """What is written in the block is committed at its end, or nothing of it where anything raises.

    Trap: where the disk is full SQLite has rolled back already, and a second time would hide that.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
