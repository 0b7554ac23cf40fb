"""The SQL of an audit: the rows to ask slurmdbd about, their comparison with its answers, and what is set aside.

The answers are a scratch trace, attached as `theirs`. A row that leaves `job` goes to `job_aside` whole, its steps to
`step_aside`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

from adminkit import actions
from adminkit.job import Job, Step
from adminkit.sqlite import sqlite3
from adminkit.trace.actions import record_actions
from adminkit.trace.audit_verdict import CONFIRMED, CONTRADICTED, DIFFERS, KEYS, KNOWN, LASTING, VERDICT
from adminkit.trace.transaction import transaction

#: Before every end.
FIRST: Final = -(1 << 62)

#: The rows to ask about: every row of source slurmdbd, without those that it has confirmed (unless :again).
_ROWS: Final = "job.cluster = :cluster AND job.source = 'slurmdbd' AND (job.audited IS NOT 'confirmed' OR :again)"
_JOINED: Final = f"job LEFT JOIN theirs.job AS t ON {KEYS} AND {KNOWN}"
_WINDOW: Final = "job.end_time >= :since AND job.end_time < :until"
_RUN: Final = "job.job_id_raw, job.submit_time, job.end_time, job.user, job.uid, job.job_id, job.state, job.array_job"

#: Runs that were over before the first run that slurmdbd holds.
_OLD: Final = "job.end_time < :before AND job.submit_time < :before"

_CHUNK: Final = f"""
SELECT job.end_time FROM job WHERE {_ROWS} AND job.end_time >= :since ORDER BY job.end_time LIMIT 1 OFFSET :offset
"""
_TOTALS: Final = f"""
SELECT count(*), coalesce(sum(job.end_time IS NULL), 0),
    min(job.submit_time) FILTER (WHERE job.end_time IS NOT NULL) FROM job WHERE {_ROWS}
"""
_AUDITED: Final = """
SELECT count(*) FROM job WHERE cluster = :cluster AND source = 'slurmdbd' AND audited = 'confirmed' AND NOT :again
"""
_OTHERS: Final = (
    f"SELECT {VERDICT} AS verdict, {_RUN} FROM {_JOINED} WHERE {_ROWS} AND {_WINDOW} AND verdict <> '{CONFIRMED}'"
)
_COUNT: Final = f"SELECT count(*) FROM {_JOINED} WHERE {_ROWS} AND {_WINDOW} AND {VERDICT} = '{CONFIRMED}'"
_CONFIRM: Final = f"""
UPDATE job SET audited = 'confirmed' WHERE audited IS NOT 'confirmed' AND rowid IN (
    SELECT job.rowid FROM {_JOINED} WHERE {_ROWS} AND {_WINDOW} AND {VERDICT} = '{CONFIRMED}')
"""
_ONE: Final = (
    f"SELECT {VERDICT}, {_RUN} FROM {_JOINED} WHERE {_ROWS} AND job.job_id_raw = :job AND job.submit_time = :submit"
)
_WHAT: Final = (
    f"SELECT {', '.join(f'({sql})' for sql in DIFFERS.values())} FROM {_JOINED}"
    " WHERE job.cluster = ? AND job.job_id_raw = ? AND job.submit_time = ?"
)
_WHAT_LASTS: Final = (
    f"SELECT {', '.join(f'({sql})' for sql in LASTING.values())} FROM {_JOINED}"
    " WHERE job.cluster = ? AND job.job_id_raw = ? AND job.submit_time = ?"
)
_OPEN: Final = f"SELECT {_RUN} FROM job WHERE {_ROWS} AND job.end_time IS NULL"
_STRAYS: Final = f"""
SELECT {_RUN} FROM job WHERE {_ROWS} AND job.end_time < :before AND job.submit_time >= :before
"""
_FLAG: Final = """
UPDATE job SET audited = ? WHERE cluster = ? AND job_id_raw = ? AND submit_time = ? AND source = 'slurmdbd'
    AND audited IS NOT ?1
"""
_FLAG_OLD: Final = f"""
UPDATE job SET audited = 'beyond' WHERE {_ROWS} AND {_WINDOW} AND {_OLD} AND job.audited IS NOT 'beyond'
"""
_COUNT_OLD: Final = f"SELECT count(*), min(job.end_time), max(job.end_time) FROM job WHERE {_ROWS} AND {_OLD}"

_JOB_COLUMNS: Final = ", ".join(f'"{f.name}"' for f in fields(Job))
_STEP_COLUMNS: Final = ", ".join(f'"{f.name}"' for f in fields(Step))
_OF: Final = "WHERE cluster = ? AND job_id_raw = ? AND submit_time = ?"
_PUT_ASIDE: Final = tuple(
    f"INSERT INTO {table}_aside (why, aside_at, {columns}) SELECT ?, ?, {columns} FROM {table} {_OF}"
    for table, columns in (("job", _JOB_COLUMNS), ("step", _STEP_COLUMNS))
)
_PUT_THEIRS: Final = tuple(
    f"INSERT INTO {table} ({columns}) SELECT {columns} FROM theirs.{table} {_OF}"
    for table, columns in (("job", _JOB_COLUMNS), ("step", _STEP_COLUMNS))
)
#: A run without an end is looked up by the next sync, as if the last snapshot had shown it, and audited after its end.
_PUT_MARK: Final = f"""
UPDATE job SET audited = CASE WHEN end_time IS NOT NULL THEN 'confirmed' END,
    seen_open = CASE WHEN end_time IS NULL THEN ? END {_OF}
"""
_GONE: Final = tuple(f"DELETE FROM {table} {_OF}" for table in ("job", "step"))

#: Where the answers have no steps of a run, the trace's steps stay, and the sums that were made of them.
_KEEP_STEPS: Final = f"""
INSERT INTO step ({_STEP_COLUMNS}) SELECT {_STEP_COLUMNS} FROM step_aside {_OF} AND aside_at = ?
    AND NOT EXISTS (SELECT 1 FROM theirs.step {_OF})
"""
_KEPT: Final = f"""
DELETE FROM step_aside {_OF} AND aside_at = ? AND NOT EXISTS (SELECT 1 FROM theirs.step {_OF})
"""
_FROM_STEPS: Final = ("cpu_time", "max_rss", "disk_read", "disk_write", "energy")
_KEEP_SUMS: Final = f"""
UPDATE job SET {", ".join(f"{c} = coalesce(job.{c}, old.{c})" for c in _FROM_STEPS)} FROM job_aside AS old
WHERE (job.cluster, job.job_id_raw, job.submit_time) = (old.cluster, old.job_id_raw, old.submit_time)
    AND job.cluster = ? AND job.job_id_raw = ? AND job.submit_time = ? AND old.aside_at = ?
    AND NOT EXISTS (SELECT 1 FROM theirs.step {_OF})
"""

#: Letters about a run, or about the array that it is a task of.
_LETTERS: Final = """
SELECT run, user, state, sent_at, 0 FROM outbox WHERE cluster = ? AND kind = 'end' AND NOT is_array AND run = ?
UNION ALL
SELECT run, user, state, sent_at, 1 FROM outbox WHERE cluster = ? AND kind = 'end' AND is_array AND job_id_raw = ?
"""
_TASKS: Final = "SELECT count(*) FROM job WHERE cluster = ? AND array_job = ?"
#: A letter about an array is cancelled with its last task.
_CANCEL: Final = """
UPDATE outbox SET state = 'expired', said = 'an audit set its run aside'
WHERE cluster = ? AND kind = 'end' AND state = 'due' AND (NOT is_array AND run = ? OR is_array AND job_id_raw = ?
    AND NOT EXISTS (SELECT 1 FROM job WHERE job.cluster = outbox.cluster AND job.array_job = outbox.job_id_raw))
"""
_ASIDE: Final = """
SELECT cluster, job_id_raw, submit_time, job_id, user, state, end_time, why, aside_at FROM job_aside
ORDER BY aside_at DESC, cluster, job_id_raw, submit_time LIMIT ?
"""


class StoredRun(NamedTuple):
    """One run as the trace has it."""

    job_id_raw: int
    submit_time: int
    end_time: int | None
    user: str | None
    uid: int | None
    job_id: str | None
    state: str | None
    array_job: int | None

    @property
    def run(self) -> str:
        """Its name in the outbox: 4711@1796083200."""
        return f"{self.job_id_raw}@{self.submit_time}"


class Letter(NamedTuple):
    """A letter about a run, or about an array."""

    run: str
    user: str
    state: str
    sent_at: int | None
    is_array: int


class Aside(NamedTuple):
    """A run that was set aside."""

    cluster: str
    job_id_raw: int
    submit_time: int
    job_id: str | None
    user: str | None
    state: str | None
    end_time: int | None
    why: str
    aside_at: int

    @property
    def run(self) -> str:
        return f"{self.job_id_raw}@{self.submit_time}"


@dataclass(frozen=True, slots=True)
class AuditScope:
    """Which rows an audit asks about: those of one cluster; with `again` also those that were confirmed before."""

    cluster: str
    again: bool

    def values(self, **more: int) -> dict[str, int | str]:
        return {"cluster": self.cluster, "again": int(self.again), **more}


def clusters(db: sqlite3.Connection) -> list[str]:
    """The clusters with rows of source slurmdbd, by name."""
    found: list[str] = []
    (name,) = db.execute("SELECT min(cluster) FROM job").fetchone()
    while name is not None:
        if db.execute("SELECT 1 FROM job WHERE cluster = ? AND source = 'slurmdbd' LIMIT 1", (name,)).fetchone():
            found.append(name)
        (name,) = db.execute("SELECT min(cluster) FROM job WHERE cluster > ?", (name,)).fetchone()
    return found


def totals(db: sqlite3.Connection, scope: AuditScope) -> tuple[int, int, int | None, int]:
    """(rows to ask about, of these without an end, the first submission of the others, rows confirmed before)."""
    rows, still_open, first = db.execute(_TOTALS, scope.values()).fetchone()
    return rows, still_open, first, db.execute(_AUDITED, scope.values()).fetchone()[0]


def chunk(db: sqlite3.Connection, scope: AuditScope, since: int, rows: int) -> tuple[int, int] | None:
    """[since, until) of the ends of the next rows to ask about, about `rows` of them; None after the last."""
    ends = [db.execute(_CHUNK, scope.values(since=since, offset=offset)).fetchone() for offset in (0, rows)]
    if ends[0] is None:
        return None
    last = ends[1] or db.execute("SELECT max(end_time) FROM job").fetchone()
    return ends[0][0], last[0] + 1


def old(db: sqlite3.Connection, scope: AuditScope, before: int) -> tuple[int, int | None, int | None]:
    """(runs, first end, last end) of runs that were over before `before`: slurmdbd can say nothing of them."""
    found: tuple[int, int | None, int | None] = db.execute(_COUNT_OLD, scope.values(before=before)).fetchone()
    return found


def flag_old(db: sqlite3.Connection, scope: AuditScope, before: int, rows: int) -> None:
    """Flag those runs as beyond, about `rows` in a transaction."""
    at = FIRST
    while (found := chunk(db, scope, at, rows)) is not None and found[0] < before:
        db.execute(_FLAG_OLD, scope.values(before=before, since=found[0], until=found[1]))
        at = found[1]


def strays(db: sqlite3.Connection, scope: AuditScope, before: int) -> list[StoredRun]:
    """Runs that ended before `before` and were submitted after it, which no genuine run does."""
    return [StoredRun(*row) for row in db.execute(_STRAYS, scope.values(before=before))]


def compare(
    db: sqlite3.Connection, scope: AuditScope, since: int, until: int, apply: bool
) -> tuple[int, list[tuple[str, StoredRun]]]:
    """(how many of the runs that ended in [since, until) are confirmed, the others with their verdicts)."""
    values = scope.values(since=since, until=until)
    others = [(row[0], StoredRun(*row[1:])) for row in db.execute(_OTHERS, values)]
    confirmed = db.execute(_COUNT, values).fetchone()[0]
    if apply:
        db.execute(_CONFIRM, values)
    return confirmed, others


def verdict(db: sqlite3.Connection, scope: AuditScope, stored: StoredRun) -> str:
    """The verdict of the answers so far on one run."""
    found = db.execute(_ONE, scope.values(job=stored.job_id_raw, submit=stored.submit_time)).fetchone()
    return str(found[0]) if found else CONFIRMED


def differing(db: sqlite3.Connection, cluster: str, stored: StoredRun) -> list[str]:
    """The columns in which slurmdbd contradicts a run."""
    found = db.execute(_WHAT, (cluster, stored.job_id_raw, stored.submit_time)).fetchone() or ()
    return [column for column, differs in zip(DIFFERS, found, strict=False) if differs]


def lasting(db: sqlite3.Connection, cluster: str, stored: StoredRun) -> list[str]:
    """The columns in which a run without an end contradicts slurmdbd so that no later sync corrects it."""
    found = db.execute(_WHAT_LASTS, (cluster, stored.job_id_raw, stored.submit_time)).fetchone() or ()
    return [column for column, differs in zip(LASTING, found, strict=False) if differs]


def still_open(db: sqlite3.Connection, scope: AuditScope) -> list[StoredRun]:
    """Runs without an end."""
    return [StoredRun(*row) for row in db.execute(_OPEN, scope.values())]


def flag(db: sqlite3.Connection, cluster: str, runs: Iterable[StoredRun], state: str) -> None:
    """Set the column `audited` of these runs."""
    with transaction(db):
        db.executemany(_FLAG, ((state, cluster, one.job_id_raw, one.submit_time) for one in runs))


def replace(db: sqlite3.Connection, cluster: str, runs: Sequence[StoredRun], now: int) -> int:
    """Set these aside and store slurmdbd's own rows instead, all or none. Returns how many letters were cancelled."""
    with transaction(db):
        cancelled = sum(_set_aside(db, cluster, one, CONTRADICTED, now) for one in runs)
        for one in runs:
            key = (cluster, one.job_id_raw, one.submit_time)
            for sql in _PUT_THEIRS:
                db.execute(sql, key)
            for sql in (_KEEP_STEPS, _KEEP_SUMS, _KEPT):
                db.execute(sql, (*key, now, *key))
            db.execute(_PUT_MARK, (now - 1, cluster, one.job_id_raw, one.submit_time))
    return cancelled


def set_aside(db: sqlite3.Connection, cluster: str, runs: Sequence[StoredRun], why: str, now: int) -> int:
    """Move these from job and step to the aside tables, all or none. Returns how many letters were cancelled."""
    with transaction(db):
        return sum(_set_aside(db, cluster, one, why, now) for one in runs)


def letters(db: sqlite3.Connection, cluster: str, stored: StoredRun) -> set[Letter]:
    """Every letter about this run, or about the array it is a task of."""
    rows = db.execute(_LETTERS, (cluster, stored.run, cluster, stored.array_job))
    return {Letter(*row) for row in rows}


def tasks(db: sqlite3.Connection, cluster: str, array_job: int) -> int:
    """How many tasks of an array the trace has."""
    return int(db.execute(_TASKS, (cluster, array_job)).fetchone()[0])


def aside(db: sqlite3.Connection, limit: int = -1) -> list[Aside]:
    """The runs that audits set aside, the newest first."""
    return [Aside(*row) for row in db.execute(_ASIDE, (limit,))]


def restore(db: sqlite3.Connection, which: Sequence[Aside]) -> int:
    """Put these back with the source `trusted`: an operator vouches for them. A row that is in the place stays.

    Returns how many are back. All or none.
    """
    back: list[str] = []
    with transaction(db):
        for one in which:
            key = (one.cluster, one.job_id_raw, one.submit_time)
            if db.execute(f"SELECT 1 FROM job {_OF}", key).fetchone():
                continue
            for table, columns in (("job", _JOB_COLUMNS), ("step", _STEP_COLUMNS)):
                db.execute(
                    f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}_aside {_OF} AND aside_at = ?",
                    (*key, one.aside_at),
                )
                db.execute(f"UPDATE {table} SET source = 'trusted' {_OF}", key)
                db.execute(f"DELETE FROM {table}_aside {_OF} AND aside_at = ?", (*key, one.aside_at))
            db.execute(f"UPDATE job SET audited = NULL {_OF}", key)
            back.append(f"{one.cluster} {one.run}")
        if back:
            record_actions(db, [actions.act("trace restore", None, None, {}, runs=back[:100], all=len(back))])
    return len(back)


def _set_aside(db: sqlite3.Connection, cluster: str, stored: StoredRun, why: str, now: int) -> int:
    key = (cluster, stored.job_id_raw, stored.submit_time)
    for sql in _PUT_ASIDE:
        db.execute(sql, (why, now, *key))
    for sql in _GONE:
        db.execute(sql, key)
    return db.execute(_CANCEL, (cluster, stored.run, stored.array_job)).rowcount
