"""adminkit-ingest stores rows of users who were forgotten without their names."""

from __future__ import annotations

from dataclasses import replace

from adminkit.ingest.helper import Statement
from adminkit.sqlite import sqlite3
from adminkit.trace.forgotten import marks_of


def without_forgotten(reading: Statement, db: sqlite3.Connection) -> Statement:
    """`reading`, which knows again whom the trace has forgotten, if anybody."""
    marks = marks_of(db)
    return replace(reading, forget_key=marks.key.hex()) if marks else reading
