"""`adminkit report accuracy`, whole command, against a group-by in the sqlite3 shell over the same trace."""

from __future__ import annotations

from pathlib import Path

from tests.bench import pairs, sample
from tests.bench.tools import adminkit, shell

_GROUP = """
SELECT queue, count(*), avg(1.0 * elapsed / time_limit), min(1.0 * elapsed / time_limit),
       max(1.0 * elapsed / time_limit)
FROM job NOT INDEXED WHERE state IN ('COMPLETED', 'TIMEOUT') AND elapsed > 60 AND limit_kind = 'finite' GROUP BY queue
"""


def trace(rows: int, folder: Path) -> Path:
    """A trace of so many rows, made once."""
    db = folder / f"trace-{rows}.db"
    if not db.exists():
        pairs.timed(adminkit("import", sample.write(folder / f"sacct-{rows}.txt", rows), "--db", db))
    return db


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    db = trace(rows, folder)
    return [
        pairs.compare(
            f"report accuracy over {rows} rows, against a shell query",
            lambda: pairs.timed(adminkit("report", "accuracy", "--db", db)),
            lambda: pairs.timed(shell(db, _GROUP)),
            4.0,
            at_most=True,
        )
    ]
