"""The scratch trace of an audit: slurmdbd's answers, attached to the trace as `theirs`."""

from __future__ import annotations

from pathlib import Path

from adminkit.sqlite import sqlite3
from adminkit.trace.transaction import transaction


def attach(db: sqlite3.Connection, scratch: Path) -> None:
    """Attach the scratch trace as `theirs`, read-only."""
    db.execute("ATTACH ? AS theirs", (f"{scratch.absolute().as_uri()}?mode=ro",))


def empty(scratch: sqlite3.Connection) -> None:
    """Delete the answers so far."""
    with transaction(scratch):
        for table in ("job", "step", "window", "rejected"):
            scratch.execute(f"DELETE FROM {table}")


def unread(scratch: sqlite3.Connection) -> bool:
    """Whether a record of the answers could not be read."""
    return scratch.execute("SELECT 1 FROM rejected LIMIT 1").fetchone() is not None


def forget_unread(scratch: sqlite3.Connection) -> None:
    """Delete the records that could not be read."""
    with transaction(scratch):
        scratch.execute("DELETE FROM rejected")
