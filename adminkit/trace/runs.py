"""Questions sync asks the trace about the runs it holds, and what it fills in from rows taken together."""

from __future__ import annotations

import sqlite3
from typing import Final

# Runs that ended in a window, as slurmdbd counts them: both ends in.
_DIGEST: Final = """
SELECT count(*), coalesce(sum(elapsed), 0), coalesce(sum(end_time), 0), coalesce(sum(time_limit), 0)
FROM job WHERE cluster = ? AND synced = 1 AND end_time BETWEEN ? AND ?
"""

# Only a run that is new and numbered below what was known can share its DBIndex with another.
_REBUILT: Final = """
SELECT count(*) FROM job AS a
WHERE a.rowid > ?2 AND a.db_index <= ?3 AND a.cluster = ?1 AND a.synced = 1 AND EXISTS (
    SELECT 1 FROM job AS b WHERE b.db_index = a.db_index AND b.cluster = ?1 AND b.synced = 1 AND b.rowid <> a.rowid)
"""

_VANISHED: Final = """
SELECT job_id_raw, submit_time FROM job
WHERE cluster = ? AND end_time IS NULL AND synced = 1 AND seen_open >= ? AND seen_open < ?
ORDER BY submit_time
"""

_FROM_STEPS: Final = """
UPDATE job SET cpu_time = s.cpu_time, max_rss = s.max_rss, disk_read = s.disk_read, disk_write = s.disk_write,
    energy = coalesce(job.energy, s.energy)
FROM (SELECT step.cluster, step.job_id_raw, step.submit_time, sum(step.cpu_time) AS cpu_time,
             max(step.max_rss) AS max_rss, sum(step.disk_read) AS disk_read, sum(step.disk_write) AS disk_write,
             sum(step.energy) AS energy
      FROM job JOIN step USING (cluster, job_id_raw, submit_time)
      WHERE job.cluster = ?1 AND job.end_time BETWEEN ?2 AND ?3
      GROUP BY step.cluster, step.job_id_raw, step.submit_time) AS s
WHERE job.cluster = s.cluster AND job.job_id_raw = s.job_id_raw AND job.submit_time = s.submit_time
"""

Digest = tuple[int, int, int, int]


def digest(db: sqlite3.Connection, cluster: str, since: int, until: int) -> Digest:
    """(runs, sum of elapsed, of ends, of limits) that ended in [since, until]; seconds."""
    row = db.execute(_DIGEST, (cluster, since, until)).fetchone()
    return (row[0], row[1], row[2], row[3])


def watermark(db: sqlite3.Connection) -> tuple[int, int]:
    """(the newest rowid, the highest DBIndex) of the trace, for same_db_index later on."""
    row = db.execute("SELECT (SELECT max(rowid) FROM job), (SELECT max(db_index) FROM job)").fetchone()
    return row[0] or 0, row[1] or 0


def same_db_index(db: sqlite3.Connection, cluster: str, mark: tuple[int, int]) -> int:
    """How many runs that came since `mark` share their DBIndex with another run of the cluster."""
    return int(db.execute(_REBUILT, (cluster, *mark)).fetchone()[0])


def vanished(db: sqlite3.Connection, cluster: str, not_before: int, snapshot: int) -> list[tuple[int, int]]:
    """(JobIDRaw, Submit) of runs without an end that the snapshot no longer showed; last seen since `not_before`."""
    return [(row[0], row[1]) for row in db.execute(_VANISHED, (cluster, not_before, snapshot))]


def lost(db: sqlite3.Connection, cluster: str, before: int) -> int:
    """Runs without an end that no snapshot has shown since `before`: they are no longer looked up."""
    sql = "SELECT count(*) FROM job WHERE cluster = ? AND end_time IS NULL AND synced = 1 AND seen_open < ?"
    return int(db.execute(sql, (cluster, before)).fetchone()[0])


def fill_from_steps(db: sqlite3.Connection, cluster: str, since: int, until: int) -> None:
    """CPU time, peak memory, disk and energy of runs that ended in [since, until], from their steps."""
    db.execute(_FROM_STEPS, (cluster, since, until))
