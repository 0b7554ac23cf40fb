"""adminkit-ingest keeps the rollups, and makes them; and it says which months it changes."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from adminkit.ingest.helper import Statement, ingest
from adminkit.ingest.spec import Column
from adminkit.sqlite import sqlite3
from adminkit.trace.months import archived, manifest
from adminkit.trace.months.manifest import DROP
from adminkit.trace.rollup import is_kept
from adminkit.trace.rollup_load import loading, rebuilding


def with_rollups(reading: Statement, db: sqlite3.Connection) -> Statement:
    """`reading`, which also sums up the rows that it puts in, where the trace keeps rollups."""
    return replace(reading, rollups=loading()) if is_kept(db) else reading


def with_months(reading: Statement, db: sqlite3.Connection) -> Statement:
    """`reading`, which says itself which months its new rows are of, where the trace has files of months."""
    said = [archived.loading(db)]
    if not set(DROP) <= set(reading.before):
        said.append(manifest.loading(db))
    for before, after in filter(None, said):
        reading = replace(reading, before=[*before, *reading.before], after=[*reading.after, *after])
    return reading


def rebuild(db: Path, now: int) -> None:
    """Make the rollups from the rows of job, and keep them up to date. One transaction."""
    ingest(Statement([Column("-", "skip")], "|", rollups=rebuilding(now)), db, io.BytesIO())
