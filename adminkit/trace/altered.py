"""Changes of DerivedExitCode after the end of a run: its owner may change it (`sacctmgr modify job`).

The new value is stored, as slurmdbd has it, and nothing is decided by it. sync reports each change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.trace.transaction import transaction

_KEY: Final = "altered derived_exit_code "

#: For the connection that upserts jobs: writes each change into `fact` under the run's key, as `from to user`; of
#: several changes `from` is the first one's. Trap: OR REPLACE here becomes the upsert's own ABORT, and a second change
#: would refuse the row.
WATCH: Final = f"""
CREATE TEMP TRIGGER altered AFTER UPDATE OF derived_exit_code ON job
WHEN OLD.end_time IS NOT NULL AND OLD.derived_exit_code IS NOT NULL
    AND NEW.derived_exit_code IS NOT OLD.derived_exit_code
BEGIN
    INSERT INTO fact (cluster, key, value, at) VALUES (
        NEW.cluster, '{_KEY}' || NEW.job_id_raw || ' ' || NEW.submit_time,
        OLD.derived_exit_code || ' ' || coalesce(NEW.derived_exit_code, 'unknown') || ' ' || coalesce(NEW.user, ''),
        CAST(strftime('%s', 'now') AS INTEGER))
    ON CONFLICT (cluster, key) DO UPDATE SET at = excluded.at,
        value = substr(value, 1, instr(value, ' ')) || substr(excluded.value, instr(excluded.value, ' ') + 1);
END
"""


@dataclass(frozen=True, slots=True)
class Altered:
    """One change of a run that had ended."""

    job_id_raw: int
    column: str
    before: str
    after: str
    user: str | None


def take(db: sqlite3.Connection, cluster: str) -> list[Altered]:
    """Return the changes since the last call, and delete them."""
    rows = db.execute(
        "SELECT key, value FROM fact WHERE cluster = ? AND key GLOB ? ORDER BY key", (cluster, f"{_KEY}*")
    ).fetchall()
    if rows:
        with transaction(db):
            db.executemany("DELETE FROM fact WHERE cluster = ? AND key = ?", ((cluster, key) for key, _ in rows))
    found = []
    for key, value in rows:
        before, after, user = value.split(" ", 2)
        found.append(Altered(int(key.split(" ")[2]), "derived_exit_code", before, after, user or None))
    return found
