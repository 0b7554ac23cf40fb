"""Runs of the trace, some thousand at a time: for what changes many in transactions of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from adminkit.sqlite import sqlite3

#: Runs of a batch.
BATCH: Final = 20_000
#: SQL: the rowids of the runs of this batch.
IN_BATCH: Final = "(SELECT id FROM temp.run_batch)"


def run_batches(db: sqlite3.Connection, where: str, values: Mapping[str, object]) -> Iterator[int]:
    """Puts the next runs of job that are `where` into IN_BATCH, and yields how many there were so far, until there are
    none. What is done to a batch may change whether its runs are.
    """
    db.execute("CREATE TEMP TABLE run_batch (id INTEGER PRIMARY KEY)")
    done = last = 0
    while True:
        db.execute("DELETE FROM temp.run_batch")
        found = db.execute(
            f"INSERT INTO temp.run_batch SELECT rowid FROM job WHERE rowid > :last AND {where} ORDER BY rowid"
            f" LIMIT {BATCH}",
            {**values, "last": last},
        ).rowcount
        if not found:
            break
        (last,) = db.execute("SELECT max(id) FROM temp.run_batch").fetchone()
        done += found
        yield done
    db.execute("DROP TABLE temp.run_batch")
