"""What the running jobs of an account have used so far."""

from __future__ import annotations

from typing import Final

from adminkit.sqlite import sqlite3

_OPEN: Final = """
SELECT total((:now - start_time) * {column}) FROM run
WHERE cluster = :cluster AND end_time IS NULL AND account = :account AND state = 'RUNNING' AND start_time <= :now
"""


def occupied_now(db: sqlite3.Connection, cluster: str, account: str, column: str, now: int) -> int:
    """Seconds of one of the sizes of the view run (size_cpus …), as of the last sync; runs of unknown size are none."""
    (seconds,) = db.execute(
        _OPEN.format(column=column), {"cluster": cluster, "account": account, "now": now}
    ).fetchone()
    return int(seconds)
