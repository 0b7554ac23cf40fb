"""adminkit-ingest says which months it changes."""

from __future__ import annotations

from dataclasses import replace

from adminkit.ingest.helper import Statement
from adminkit.sqlite import sqlite3
from adminkit.trace.months import archived, manifest
from adminkit.trace.months.manifest import DROP


def with_months(reading: Statement, db: sqlite3.Connection) -> Statement:
    """`reading`, which says itself which months its new rows are of, where the trace has files of months."""
    said = [archived.loading(db)]
    if not set(DROP) <= set(reading.before):
        said.append(manifest.loading(db))
    for before, after in filter(None, said):
        reading = replace(reading, before=[*before, *reading.before], after=[*reading.after, *after])
    return reading
