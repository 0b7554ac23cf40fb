"""What sync asks the trace about its runs, and the columns of a run that sync fills from several rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from adminkit.job import KEY, SOURCES
from adminkit.sqlite import sqlite3
from adminkit.trace.decision_sql import limit_original, limit_source
from adminkit.trace.extension_word import extension_of
from adminkit.trace.months.compared import archived_steps, archived_sums
from adminkit.trace.person import PREFIX
from adminkit.trace.step_sums import FROM_STEPS, step_functions
from adminkit.trace.transaction import transaction

#: Seconds. A run without an end that no snapshot has shown for longer is lost: it is no longer looked up or waited for.
LOST: Final = 35 * 86_400

# Runs that ended in a window.
_SUMS: Final = """count(*), coalesce(sum(elapsed), 0), coalesce(sum(end_time), 0), coalesce(sum(time_limit), 0),
    coalesce(sum(derived_exit_code), 0),
    count(*) FILTER (WHERE state = 'COMPLETED'), count(*) FILTER (WHERE state = 'TIMEOUT'),
    count(*) FILTER (WHERE state = 'FAILED'), count(*) FILTER (WHERE state = 'CANCELLED')"""
_DIGEST: Final = f"""
SELECT {_SUMS} FROM job WHERE cluster = ? AND source = 'slurmdbd' AND end_time >= ? AND end_time < ?
"""

# Only a new run with a DBIndex below the highest known one can share it with another run.
_REBUILT: Final = """
SELECT count(*) FROM job AS a
WHERE a.rowid > ?2 AND a.db_index <= ?3 AND a.cluster = ?1 AND a.source = 'slurmdbd' AND EXISTS (
    SELECT 1 FROM job AS b WHERE b.db_index = a.db_index AND b.cluster = ?1 AND b.source = a.source
        AND b.rowid <> a.rowid)
"""

_VANISHED: Final = """
SELECT job_id_raw, submit_time FROM job
WHERE cluster = ? AND end_time IS NULL AND source = 'slurmdbd' AND seen_open >= ? AND seen_open <> ?
ORDER BY submit_time
"""

# The first record that was seen stays. A forgotten user's run has no comment.
_RECORD: Final = f"""
UPDATE job SET admin_comment = CASE WHEN user GLOB '{PREFIX}*' THEN NULL ELSE ?4 END,
    limit_original = {limit_original("?4")}, limit_source = {limit_source("?4")}
WHERE cluster = ?1 AND job_id_raw = ?2 AND submit_time = ?3 AND limit_source = 'unknown'
    AND source = 'slurmdbd' AND {limit_source("?4")} <> 'unknown'
"""

# The last word that was seen stays: it changes while the job runs.
_EXTENSION: Final = """
UPDATE job SET ext_asked = ?4, ext_limit = ?5, ext_times = ?6
WHERE cluster = ?1 AND job_id_raw = ?2 AND submit_time = ?3 AND source = 'slurmdbd' AND end_time IS NULL
    AND (ext_asked, ext_limit, ext_times) IS NOT (?4, ?5, ?6)
"""

# Trap: a run of which the accounting database has only the end is left out; see upsert.py.
_HELD: Final = """
SELECT submit_time, end_time FROM job
WHERE cluster = ? AND end_time IS NOT NULL AND (qos, job_name) IS NOT ('Unknown', 'allocation')
"""

#: Stores a record from a field that the job's owner may write: cluster, JobIDRaw, Submit, limit, source. The first one
#: that was seen stays. It earns no points, because the owner may have typed it.
CLAIM: Final = """
UPDATE job SET limit_original = {3}, limit_source = CASE {4} WHEN 'explicit' THEN 'stated' ELSE {4} END
WHERE cluster = {0} AND job_id_raw = {1} AND submit_time = {2} AND source = 'slurmdbd' AND limit_source = 'unknown'
    AND {4} <> 'unknown'
"""

#: Where a load notes siblings of a federation until its end. Trap: no temporary table, as the load changes temp_store.
SIBLINGS: Final = f"CREATE TABLE sibling ({', '.join(KEY)})"

#: States whose runs a digest counts.
DIGEST_STATES: Final = ("COMPLETED", "TIMEOUT", "FAILED", "CANCELLED")

#: (runs, sum of elapsed, of ends, of limits, of derived exit codes, then the runs in each of DIGEST_STATES); seconds
Digest = tuple[int, ...]

_STEP_DIGEST: Final = """
SELECT count(*), coalesce(sum(step.end_time), 0) FROM job JOIN step USING (cluster, job_id_raw, submit_time)
WHERE cluster = ? AND job.end_time >= ? AND job.end_time < ?
"""


def digest(db: sqlite3.Connection, trace: Path, cluster: str, since: int, until: int) -> Digest:
    """Sums over the runs that ended in [since, until), to compare with the source's. `db` may write the trace, and so
    shows SQLite's runs only. AdminkitError where an archived month of that time cannot be read.
    """
    found = db.execute(_DIGEST, (cluster, since, until)).fetchone()
    archive = archived_sums(db, trace, _SUMS, cluster, since, until) or [0] * len(found)
    return tuple(map(sum, zip(found, archive, strict=True)))


def step_digest(db: sqlite3.Connection, trace: Path, cluster: str, since: int, until: int) -> tuple[int, int]:
    """The number of steps of the runs that ended in [since, until), and the sum of their ends. As digest()."""
    count, ends = db.execute(_STEP_DIGEST, (cluster, since, until)).fetchone()
    more, later = archived_steps(db, trace, cluster, since, until)
    return count + more, ends + later


def watermark(db: sqlite3.Connection) -> tuple[int, int]:
    """(the newest rowid, the highest DBIndex) of the trace, for same_db_index later on."""
    row = db.execute("SELECT (SELECT max(rowid) FROM job), (SELECT max(db_index) FROM job)").fetchone()
    return row[0] or 0, row[1] or 0


def clusters_since(db: sqlite3.Connection, rowid: int) -> list[str]:
    """The clusters of the runs that were stored after the one of this rowid."""
    return [row[0] for row in db.execute("SELECT DISTINCT cluster FROM job WHERE rowid > ?", (rowid,))]


def same_db_index(db: sqlite3.Connection, cluster: str, mark: tuple[int, int]) -> int:
    """How many runs that came since `mark` share their DBIndex with another run of the cluster."""
    return int(db.execute(_REBUILT, (cluster, *mark)).fetchone()[0])


def vanished(db: sqlite3.Connection, cluster: str, not_before: int, snapshot: int) -> list[tuple[int, int]]:
    """(JobIDRaw, Submit) of runs without an end that the snapshot no longer showed; last seen since `not_before`."""
    return [(row[0], row[1]) for row in db.execute(_VANISHED, (cluster, not_before, snapshot))]


def stored_open(values: Mapping[str, str]) -> str:
    """SQL: whether the trace has a run without an end that has the key of `values` (column -> SQL)."""
    key = " AND ".join(f"open.{name} = {values[name]}" for name in KEY)
    return f"EXISTS (SELECT 1 FROM job AS open WHERE {key} AND open.end_time IS NULL)"


def drop_revoked(db: sqlite3.Connection, cluster: str, which: Iterable[tuple[int, int]]) -> None:
    """Take out those of `which` (JobIDRaw, Submit) that another cluster of a federation took."""
    sql = "DELETE FROM job WHERE cluster = ? AND job_id_raw = ? AND submit_time = ? AND state = 'REVOKED'"
    with transaction(db):
        db.executemany(sql, [(cluster, *key) for key in which])


def sibling(values: Mapping[str, str]) -> str:
    """SQL: notes a run that another cluster of a federation took. `values`: column -> SQL."""
    return f"INSERT INTO sibling VALUES ({', '.join(values[name] for name in KEY)})"


def drop_siblings(source: str) -> str:
    """SQL: ends SIBLINGS, and takes out the runs without an end that were noted, of `source` and of lower ones."""
    noted = f"SELECT job.rowid FROM sibling CROSS JOIN job USING ({', '.join(KEY)})"
    return f"DELETE FROM job WHERE rowid IN ({noted} WHERE {_open(source)}); DROP TABLE sibling"


def drop_open(db: sqlite3.Connection, keys: Iterable[Sequence[object]], source: str) -> None:
    """Take out the runs of these keys, in the order of KEY, that have no end, of `source` and of lower ones."""
    key = " AND ".join(f"{name} = ?" for name in KEY)
    db.executemany(f"DELETE FROM job WHERE {key} AND {_open(source)}", keys)


def _open(source: str) -> str:
    lower = ", ".join(f"'{name}'" for name, rank in SOURCES.items() if rank <= SOURCES[source])
    return f"end_time IS NULL AND source IN ({lower})"


def ended_after(db: sqlite3.Connection, cluster: str, at: int) -> int:
    """How many runs ended after that moment."""
    sql = "SELECT count(*) FROM job WHERE cluster = ? AND end_time > ?"
    return int(db.execute(sql, (cluster, at)).fetchone()[0])


def ends(db: sqlite3.Connection, cluster: str, which: list[tuple[int, int]]) -> list[int]:
    """The end times of those of `which` (JobIDRaw, Submit) that have ended, epoch seconds."""
    sql = "SELECT end_time FROM job WHERE cluster = ? AND job_id_raw = ? AND submit_time = ?"
    found = [db.execute(sql, (cluster, *key)).fetchone() for key in which]
    return [row[0] for row in found if row and row[0] is not None]


def held(db: sqlite3.Connection, cluster: str) -> list[tuple[int, int]]:
    """(submission, end) of every run that ended, without runs of which slurmdbd has only the end."""
    return [(row[0], row[1]) for row in db.execute(_HELD, (cluster,))]


def submissions(db: sqlite3.Connection, cluster: str) -> list[int]:
    """The submission of every run, epoch seconds."""
    return [row[0] for row in db.execute("SELECT submit_time FROM job WHERE cluster = ?", (cluster,))]


def fill_all_from_steps(db: sqlite3.Connection) -> None:
    """Like fill_from_steps, for every run of every cluster that has steps."""
    for (cluster,) in db.execute("SELECT DISTINCT cluster FROM step").fetchall():
        fill_from_steps(db, cluster, 0, 1 << 62)


def keep_records(db: sqlite3.Connection, cluster: str, found: Iterable[tuple[int, int, str]]) -> None:
    """Store the policy's records of open jobs, and what these were given: (JobIDRaw, Submit, AdminComment). Other tools
    may overwrite them.
    """
    records = list(found)
    words = [(job, submit, extension_of(comment)) for job, submit, comment in records]
    with transaction(db):
        db.executemany(_RECORD, ((cluster, *one) for one in records))
        db.executemany(_EXTENSION, ((cluster, job, submit, *word) for job, submit, word in words if word is not None))


def lost(db: sqlite3.Connection, cluster: str, before: int) -> int:
    """Runs without an end that no snapshot has shown since `before`: they are no longer looked up."""
    sql = "SELECT count(*) FROM job WHERE cluster = ? AND end_time IS NULL AND source = 'slurmdbd' AND seen_open < ?"
    return int(db.execute(sql, (cluster, before)).fetchone()[0])


def fill_from_steps(db: sqlite3.Connection, cluster: str, since: int, until: int) -> None:
    """CPU time, peak memory, disk and energy of runs that ended in [since, until], from their steps."""
    step_functions(db)
    db.execute(FROM_STEPS, (cluster, since, until))
