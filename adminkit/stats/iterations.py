"""How many iterations a job takes until it is done, and did so far: what its runs, and those of jobs like it, wrote.

They are a claim of the program's (docs/progress.md): a job whose program lies gets, or keeps, GPUs of its own user's
wish, within what it opted in to.
"""

from __future__ import annotations

from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.stats.progress import DAYS

#: Finished jobs of a name without which its next one's length is not known.
LEAST: Final = 3
#: Every run of a job has to tell: a job of which one is silent is not counted.
_WHOLE: Final = """
SELECT min(whole), count(*) FROM (
    SELECT sum(iterations) AS whole FROM run
    WHERE end_time >= :since AND cluster = :cluster AND user = :user AND job_name = :name
    GROUP BY job_id_raw HAVING count(*) = count(nullif(iterations, 0)) AND max(state = 'COMPLETED')
)
"""
_BEFORE: Final = """
SELECT count(*), count(iterations), coalesce(sum(iterations), 0) FROM run
WHERE cluster = :cluster AND job_id_raw = :job AND user = :user AND job_name = :name AND end_time >= :since
    AND start_time < :started
"""


def least_whole(db: sqlite3.Connection, now: int, cluster: str, user: str, name: str) -> int | None:
    """The fewest iterations that a finished job of that user and name took; None for fewer than LEAST such jobs."""
    given = {"since": now - DAYS * 86_400, "cluster": cluster, "user": user, "name": name}
    fewest, many = db.execute(_WHOLE, given).fetchone()
    return int(fewest) if many >= LEAST else None


def done_before(
    db: sqlite3.Connection, now: int, cluster: str, user: str, name: str, job: int, started: int, restarts: int
) -> int | None:
    """The iterations of a job's runs before the one that started then; None where not all of them told."""
    if not restarts:
        return 0
    given = {"since": now - DAYS * 86_400, "cluster": cluster, "user": user, "name": name}
    runs, told, done = db.execute(_BEFORE, {**given, "job": job, "started": started}).fetchone()
    return int(done) if runs == told == restarts else None
