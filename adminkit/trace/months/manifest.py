"""The table month_file: which months of which clusters have files that hold what the trace holds.

A file is right only while its row is here, complete. Triggers delete the rows of a month in the transaction that
changes one of its runs, whoever writes. They are there only while there are files, and do nothing for runs that ended
after the last month that has one: they compare with FENCE, a number in their text.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.trace.continued_runs import PUT_BACK, PUT_BACK_WITHIN, REQUEUED
from adminkit.trace.measured import MEASURED
from adminkit.trace.run_view import RUN_SELECT
from adminkit.trace.sensible import CLOCKS
from adminkit.trace.transaction import transaction

#: The files of a month: the view `run`, and the table `step` for these runs.
NAMES: Final = ("run", "step")
#: The statement that makes the table. `token` is that of the writer; what is NULL is not known before the file is
#: there. `inode` and `changed` (ns) are stat(2)'s of the file, by which it is known again without reading it.
CREATE: Final = """
CREATE TABLE month_file (
    cluster TEXT NOT NULL, month TEXT NOT NULL, name TEXT NOT NULL, token TEXT NOT NULL, shape TEXT NOT NULL,
    rows INTEGER, size INTEGER, sha256 TEXT, inode INTEGER, changed INTEGER, written_at INTEGER,
    PRIMARY KEY (cluster, month, name)
) STRICT, WITHOUT ROWID
"""
_EVENTS: Final = ("INSERT", "UPDATE", "DELETE")
_GPU_TABLES: Final = ("gpu_words", "gpu_untracked", "gpu_untyped")
_TABLES: Final = ("job", "step", *_GPU_TABLES)
_TRIGGERS: Final = tuple(f"month_{table}_{event.lower()}" for table in _TABLES for event in _EVENTS)
_INSERTS: Final = ("month_job_insert", "month_step_insert")
_THERE: Final = "EXISTS (SELECT 1 FROM month_file WHERE cluster = {row}.cluster)"
_MONTH: Final = "strftime('%Y-%m', {}, 'unixepoch')"


class MonthFile(NamedTuple):
    """A row of month_file that is complete."""

    cluster: str
    month: str
    name: str
    rows: int
    size: int
    sha256: str
    inode: int
    changed: int
    written_at: int


class Month(NamedTuple):
    """A month of UTC of a cluster: [since, until), epoch seconds, on end_time."""

    cluster: str
    month: str

    @property
    def since(self) -> int:
        """Its begin."""
        return begin_of(self.month)

    @property
    def until(self) -> int:
        """The begin of the next one."""
        return begin_of(next_month(self.month))


def begin_of(month: str) -> int:
    """When a month (2026-01) begins, epoch seconds."""
    year, number = map(int, month.split("-"))
    return int(datetime(year, number, 1, tzinfo=UTC).timestamp())


def month_of(at: int) -> str:
    """The month of this moment."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m}"


def next_month(month: str) -> str:
    """The month after this one."""
    year, number = map(int, month.split("-"))
    return f"{year + number // 12:04}-{number % 12 + 1:02}"


@cache
def shape() -> str:
    """What a file of this release holds: another view makes another shape, and its files are not read."""
    return hashlib.sha256("\n".join((RUN_SELECT, *MEASURED, *MEASURED.values())).encode()).hexdigest()[:16]


def files(db: sqlite3.Connection, name: str = "run") -> list[MonthFile]:
    """The files of this shape that hold what the trace holds, as this connection sees it; in the order of months."""
    return [
        MonthFile(*row)
        for row in db.execute(
            "SELECT cluster, month, name, rows, size, sha256, inode, changed, written_at FROM main.month_file"
            " WHERE name = ? AND shape = ? AND sha256 IS NOT NULL ORDER BY month, cluster",
            (name, shape()),
        )
    ]


def of_other_releases(db: sqlite3.Connection) -> int:
    """How many months have files of another shape: those of a release that had other columns."""
    sql = "SELECT count(DISTINCT cluster || '/' || month) FROM main.month_file WHERE shape <> ? AND sha256 IS NOT NULL"
    return int(db.execute(sql, (shape(),)).fetchone()[0])


def kept(db: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Cluster, month and name of every row, also of those that are not complete."""
    return set(db.execute("SELECT cluster, month, name FROM main.month_file"))


def over(db: sqlite3.Connection, before: int) -> Iterator[Month]:
    """Every month of every cluster with runs that ended, that was over at `before`, epoch seconds."""
    (first,) = db.execute("SELECT min(end_time) FROM job WHERE end_time >= 0").fetchone()
    (last,) = db.execute("SELECT max(end_time) FROM job WHERE end_time < ?", (before,)).fetchone()
    if first is None or last is None or last < first:
        return
    names = clusters(db)
    month = month_of(first)
    while begin_of(month) <= last and begin_of(next_month(month)) <= before:
        for cluster in names:
            one = Month(cluster, month)
            if db.execute(f"SELECT 1 FROM job {IN_MONTH} LIMIT 1", values(one)).fetchone():
                yield one
        month = next_month(month)


def clusters(db: sqlite3.Connection) -> list[str]:
    """The clusters of the runs, by name: one look into the key's index for each."""
    found: list[str] = []
    (name,) = db.execute("SELECT min(cluster) FROM job").fetchone()
    while name is not None:
        found.append(name)
        (name,) = db.execute("SELECT min(cluster) FROM job WHERE cluster > ?", (name,)).fetchone()
    return found


#: SQL: the runs of a month; values() has its parameters.
IN_MONTH: Final = "WHERE end_time >= :since AND end_time < :until AND +cluster = :cluster"


def values(month: Month) -> dict[str, str | int]:
    """The parameters of IN_MONTH."""
    return {"cluster": month.cluster, "since": month.since, "until": month.until}


def begin(db: sqlite3.Connection, month: Month) -> str:
    """Say that files of this month are being made, and watch its runs from now on. Returns the writer's token."""
    token = secrets.token_hex(8)
    with transaction(db):
        _watch(db, month.until)
        db.executemany(
            "INSERT OR REPLACE INTO month_file (cluster, month, name, token, shape) VALUES (?, ?, ?, ?, ?)",
            [(month.cluster, month.month, name, token, shape()) for name in NAMES],
        )
    return token


def finish(db: sqlite3.Connection, token: str, made: Sequence[MonthFile]) -> bool:
    """Say that these files hold what the trace holds. False, and nothing is said, where a run of the month has
    changed since begin().
    """
    with transaction(db):
        (there,) = db.execute("SELECT count(*) FROM month_file WHERE token = ?", (token,)).fetchone()
        if there != len(made):
            db.execute("DELETE FROM month_file WHERE token = ?", (token,))
            return False
        db.executemany(
            "UPDATE month_file SET rows = ?, size = ?, sha256 = ?, inode = ?, changed = ?, written_at = ?"
            " WHERE cluster = ? AND month = ? AND name = ? AND token = ?",
            [(*one[3:], *one[:3], token) for one in made],
        )
    return True


def abandon(db: sqlite3.Connection, token: str) -> None:
    """Take back what begin() said."""
    db.execute("DELETE FROM month_file WHERE token = ?", (token,))


#: SQL: no month has files any more. A load of more runs than the trace has says so at its begin: it drops the indexes
#: that the triggers look into.
DROP: Final = (*(f"DROP TRIGGER IF EXISTS {name}" for name in _TRIGGERS), "DELETE FROM month_file")


def drop(db: sqlite3.Connection) -> None:
    """Keep no files any more. One transaction."""
    with transaction(db):
        for statement in DROP:
            db.execute(statement)


def _watch(db: sqlite3.Connection, until: int) -> None:
    """Have triggers for months that end by `until`. The caller holds a transaction."""
    months = db.execute("SELECT max(month) FROM month_file").fetchone()[0]
    fence = max(until, begin_of(next_month(months)) if months else 0)
    wanted = dict(zip(_TRIGGERS, _triggers(fence), strict=True))
    there = dict(db.execute("SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger'"))
    for name, sql in wanted.items():
        if there.get(name) != sql:
            db.execute(f"DROP TRIGGER IF EXISTS {name}")
            db.execute(sql)


def _triggers(fence: int) -> Iterator[str]:
    for table in _TABLES:
        for event in _EVENTS:
            rows = {"INSERT": ("NEW",), "DELETE": ("OLD",), "UPDATE": ("OLD", "NEW")}[event]
            if table == "job":
                when, body = _of_job(rows, fence)
            elif table == "step":
                when, body = _of_step(rows, fence)
            else:
                when, body = _of_gpus(table, rows)
            yield (
                f"CREATE TRIGGER month_{table}_{event.lower()} AFTER {event} ON {table} WHEN {when}"
                f" BEGIN {'; '.join(body)}; END"
            )


def _of_job(rows: Sequence[str], fence: int) -> tuple[str, list[str]]:
    """A run counts for its own month, and for those of runs of its number that it may continue, or that continue it."""
    row = rows[-1]
    near = " OR ".join(f"{one}.end_time < {fence} OR {one}.submit_time < {fence + PUT_BACK_WITHIN}" for one in rows)
    put_back = f"EXISTS (SELECT 1 FROM job WHERE {_put_back('job', row)})"
    body = []
    for one in rows:
        body.append(_delete(one, f"month = {_MONTH.format(f'{one}.end_time')}"))
        its = f"SELECT {_MONTH.format('end_time')} FROM job WHERE {_numbered(one)} AND {_is_near('job', one)}"
        body.append(_delete(one, f"month IN ({its})"))
    return f"({near} OR {put_back}) AND {_THERE.format(row=row)}", body


def _is_near(earlier: str, row: str) -> str:
    """SQL: what is derived of `earlier` may depend on another run of its number, `row`: see continued_runs.py. A run
    that had ended PUT_BACK_WITHIN before depends on no later one, but where it was put back by hand or by scrontab.
    """
    return (
        f"NOT (coalesce({earlier}.end_time + {PUT_BACK_WITHIN} < {row}.submit_time, FALSE)"
        f" AND {earlier}.submit_time < {row}.submit_time AND {earlier}.state IS NOT '{REQUEUED}')"
    )


def _put_back(earlier: str, row: str) -> str:
    """SQL: `earlier` is another run of the number of `row`, and was put back. The index job_requeued has these."""
    pieces = f"({earlier}.state IN {PUT_BACK} OR {earlier}.restarts > 0)"
    same = " AND ".join(f"{earlier}.{column} = {row}.{column}" for column in ("cluster", "job_id_raw"))
    return f"{pieces} AND {same} AND {earlier}.state = '{REQUEUED}'"


def loading(db: sqlite3.Connection) -> tuple[list[str], list[str]] | None:
    """Statements (before, after) a load of rows by adminkit-ingest, in its transaction, which say once for all new rows
    what the triggers would say row by row. None where no month has files.

    A trigger costs a new row as much as a quarter of its load, whatever it does.
    """
    there = dict(db.execute("SELECT name, sql FROM main.sqlite_schema WHERE name IN (?, ?)", _INSERTS))
    if len(there) < len(_INSERTS):
        return None
    (last,) = db.execute("SELECT max(month) FROM month_file").fetchone()
    fence = begin_of(next_month(last)) if last else 0
    added, month = "added.rowid > (SELECT {} FROM temp.month_base)", _MONTH.format("job.end_time")
    same = "job.cluster = added.cluster AND job.job_id_raw = added.job_id_raw"
    of_number = f"SELECT job.cluster, {month} FROM job AS added CROSS JOIN job ON {{}} WHERE {added.format('job')}"
    months = (  # a run is near to itself
        of_number.format(f"{same} AND {_is_near('job', 'added')}")
        + f" AND added.submit_time < {fence + PUT_BACK_WITHIN}",
        of_number.format(_put_back("job", "added")),
        f"SELECT job.cluster, {month} FROM step AS added CROSS JOIN job ON {same}"
        f" AND job.submit_time = added.submit_time WHERE {added.format('step')}"
        f" AND added.submit_time < {fence + CLOCKS}",
    )
    before = [
        "DROP TABLE IF EXISTS temp.month_base",
        "CREATE TEMP TABLE month_base AS SELECT coalesce((SELECT max(rowid) FROM job), 0) AS job,"
        " coalesce((SELECT max(rowid) FROM step), 0) AS step",
        *(f"DROP TRIGGER {name}" for name in _INSERTS),
    ]
    after = [f"DELETE FROM month_file WHERE (cluster, month) IN ({one})" for one in months]
    return before, [*after, *(there[name] for name in _INSERTS), "DROP TABLE temp.month_base"]


def _of_step(rows: Sequence[str], fence: int) -> tuple[str, list[str]]:
    """A step counts for the month of its run, which does not end before it is submitted (sensible.py)."""
    when = f"{rows[-1]}.submit_time < {fence + CLOCKS} AND {_THERE.format(row=rows[-1])}"
    its = "SELECT {month} FROM job WHERE {same} AND submit_time = {row}.submit_time"
    return when, [
        _delete(one, f"month IN ({its.format(month=_MONTH.format('end_time'), same=_numbered(one), row=one)})")
        for one in rows
    ]


def _of_gpus(table: str, rows: Sequence[str]) -> tuple[str, list[str]]:
    """What words mean counts for the runs with these words; the others for runs that end after they begin."""
    when = " OR ".join(_THERE.format(row=one) for one in rows)
    if table != "gpu_words":
        return when, [_delete(one, f"month >= {_MONTH.format(f'max({one}.since, 0)')}") for one in rows]
    of_words = " UNION ".join(
        f"SELECT {_MONTH.format('end_time')} FROM job WHERE cluster = {{row}}.cluster AND {column} = {{row}}.words"
        for column in ("gpu_parts", "req_gpu_parts")
    )
    return when, [_delete(one, f"month IN ({of_words.format(row=one)})") for one in rows]


def _numbered(row: str) -> str:
    return f"cluster = {row}.cluster AND job_id_raw = {row}.job_id_raw"


def _delete(row: str, which: str) -> str:
    return f"DELETE FROM month_file WHERE cluster = {row}.cluster AND {which}"
