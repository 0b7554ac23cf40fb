"""Takes old rows out of the trace, or the names out of them. docs/privacy.md says what stays.

Windows stay, so sync does not ask for pruned runs again; so do queues, nodes, facts, actions, persons and charges.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.sqlite import sqlite3
from adminkit.trace.forgotten import OWN_STEPS, TELLING
from adminkit.trace.months.write import remove_stale
from adminkit.trace.person import PREFIX
from adminkit.trace.run_batches import IN_BATCH, run_batches
from adminkit.trace.runs import LOST
from adminkit.trace.transaction import transaction

#: Seconds. Younger rows are still compared with slurmdbd, and would come back.
LEAST_AGE: Final = LOST + 86_400

#: Runs that were over before :before; a job with a later run stays whole.
_OLD_RUNS: Final = """coalesce(end_time, seen_open, submit_time) < :before AND NOT EXISTS (
    SELECT 1 FROM job AS later WHERE later.cluster = job.cluster AND later.job_id_raw = job.job_id_raw
        AND later.submit_time > job.submit_time
        AND coalesce(later.end_time, later.seen_open, later.submit_time) >= :before)"""
#: Table -> which of its rows are old; deleted one table after the other.
_OLD: Final = {
    "job": _OLD_RUNS,
    "job_aside": "aside_at < :before",
    "step_aside": "aside_at < :before",
    "rejected": "seen_at < :before",
    "outbox": "state IN ('sent', 'refused', 'expired') AND max(due_at, coalesce(sent_at, 0)) < :before",
    "load": "started_at < :before",
    "node_event": "end_time < :before",
}
_OF_RUNS: Final = f"""(cluster, job_id_raw, submit_time) IN (SELECT cluster, job_id_raw, submit_time FROM job
    WHERE rowid IN {IN_BATCH})"""
#: Column -> its value in a run without names; `person` is a random id.
_NAMELESS: Final = {
    "user": "(SELECT person FROM temp.nameless WHERE name = job.user)",
    "account": "CASE WHEN account <> user THEN account END",
    "cancelled_by": "CASE cancelled_by WHEN 0 THEN 0 END",
    **dict.fromkeys(('"group"', *TELLING), "NULL"),
}
#: Tables whose old rows hold names and nothing that a sum needs: they are deleted where names are taken out.
_ONLY_NAMES: Final = ("job_aside", "step_aside", "rejected", "outbox")


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many old rows of a table there are, or were."""

    table: str
    rows: int


def old_rows(db: sqlite3.Connection, before: int) -> list[Pruned]:
    """How many rows of each table are from before that moment, epoch seconds. `step`: those of old runs."""
    values = {"before": before}
    found = [
        Pruned(table, int(db.execute(f"SELECT count(*) FROM {table} WHERE {old}", values).fetchone()[0]))
        for table, old in _OLD.items()
    ]
    (steps,) = db.execute(
        "SELECT count(*) FROM step WHERE (cluster, job_id_raw, submit_time) IN"
        f" (SELECT cluster, job_id_raw, submit_time FROM job WHERE {_OLD_RUNS})",
        values,
    ).fetchone()
    return [found[0], Pruned("step", int(steps)), *found[1:]]


def prune(db: sqlite3.Connection, before: int, tick: Callable[[int], None] = lambda _: None) -> None:
    """Delete the rows that old_rows() counts, many runs a transaction; `tick` gets the runs that are gone."""
    values = {"before": before}
    for done in run_batches(db, _OLD_RUNS, values):
        with transaction(db):
            db.execute(f"DELETE FROM step WHERE {_OF_RUNS}")
            db.execute(f"DELETE FROM job WHERE rowid IN {IN_BATCH}")
        tick(done)
    for table, old in _OLD.items():
        if table != "job":
            db.execute(f"DELETE FROM {table} WHERE {old}", values)


def take_names(db: sqlite3.Connection, before: int, tick: Callable[[int], None] = lambda _: None) -> None:
    """Keep old runs and steps without names: a user is a random id, another one each time this is done. Rows that are
    nothing but names, such as letters, are deleted.
    """
    values = {"before": before}
    db.execute("CREATE TEMP TABLE nameless (name TEXT PRIMARY KEY, person TEXT NOT NULL)")
    found = f"SELECT DISTINCT user FROM job WHERE user IS NOT NULL AND {_OLD_RUNS} ORDER BY user"
    users = db.execute(found, values).fetchall()
    db.executemany("INSERT INTO nameless VALUES (?, ?)", [(name, PREFIX + secrets.token_hex(8)) for (name,) in users])
    sets = ", ".join(f"{column} = {value}" for column, value in _NAMELESS.items())
    named = f"{_OLD_RUNS} AND coalesce(user, '') NOT GLOB '{PREFIX}*'"
    for done in run_batches(db, named, values):
        with transaction(db):
            db.execute(
                f"UPDATE step SET step_name = CASE WHEN step_name IN {OWN_STEPS} THEN step_name END,"
                f" fingerprint = NULL WHERE {_OF_RUNS}"
            )
            db.execute(f"UPDATE job SET {sets} WHERE rowid IN {IN_BATCH}")
        tick(done)
    db.execute("DROP TABLE nameless")
    for table in _ONLY_NAMES:
        db.execute(f"DELETE FROM {table} WHERE {_OLD[table]}", values)
    db.execute(f"UPDATE node_event SET user = NULL, uid = NULL, reason = NULL WHERE {_OLD['node_event']}", values)


#: Tries to have the log written into the file; each waits for readers as long as the connection waits for anything.
TRIES: Final = 2


def give_space_back(db: sqlite3.Connection) -> bool:
    """Make the file as small as its rows, and remove the files of months that changed. Whether what was deleted is gone
    from it: not where a reader kept the file as it was all the time. Needs the space twice meanwhile.
    """
    if name := db.execute("PRAGMA database_list").fetchone()[2]:
        remove_stale(db, Path(name))
    db.execute("PRAGMA secure_delete = ON")
    db.execute("VACUUM")
    return any(db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0 for _ in range(TRIES))


def still_in_file(path: Path) -> AdminkitError:
    """What to say where it is not gone."""
    return AdminkitError(
        f"what was removed is still in the file {path}: another program is reading it",
        "end the programs that read it (adminkit serve, a report, sqlite3), then run the same command again",
    )
