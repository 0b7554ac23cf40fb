"""adminkit-ingest says which months it changes."""

from __future__ import annotations

from dataclasses import replace

from adminkit.ingest.helper import Statement
from adminkit.sqlite import sqlite3
from adminkit.trace.months import manifest
from adminkit.trace.months.manifest import DROP


def with_months(reading: Statement, db: sqlite3.Connection) -> Statement:
    """`reading`, which says itself which months its new rows are of, where the trace has files of months."""
    if set(DROP) <= set(reading.before) or not (said := manifest.loading(db)):
        return reading
    before, after = said
    return replace(reading, before=[*before, *reading.before], after=[*reading.after, *after])
