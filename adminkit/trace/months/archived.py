"""The tables of archived months: whose runs left SQLite, and are in Parquet only. docs/adr/0027-archived-months.md.

`archived` has a row for each file. `archive_back` has the runs of these files that count no more, because SQLite has
them again; `settled` is 0 for a row that may be one of them, until late.py has looked. Triggers put such rows there, in
the transaction that stores a row as old as the archive. `archive_change` counts what happens to `archived`: a reader
that sees the same number twice has read one archive.
"""

from __future__ import annotations

from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.trace.continued_runs import PUT_BACK_WITHIN
from adminkit.trace.months import manifest
from adminkit.trace.months.manifest import Month, MonthFile, begin_of, next_month, shape

RUNS: Final = "run.archived"
STEPS: Final = "step.archived"
#: The files of an archived month, beside those of its copy: all columns of the view run, and the table step.
NAMES: Final = (RUNS, STEPS)
#: The statements that make the tables. `schema` and `shape`: what the files were made by; the derived columns of a file
#: of another shape are not read. `first_end` and `last_end` are those of its runs; the other columns are month_file's.
CREATE: Final = (
    """CREATE TABLE archived (
    cluster TEXT NOT NULL, month TEXT NOT NULL, name TEXT NOT NULL, schema INTEGER NOT NULL, shape TEXT NOT NULL,
    rows INTEGER NOT NULL, size INTEGER NOT NULL, sha256 TEXT NOT NULL, inode INTEGER NOT NULL,
    changed INTEGER NOT NULL, written_at INTEGER NOT NULL, first_end INTEGER, last_end INTEGER,
    PRIMARY KEY (cluster, month, name)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE archive_back (
    cluster TEXT NOT NULL, job_id_raw INTEGER NOT NULL, submit_time INTEGER NOT NULL, settled INTEGER NOT NULL,
    PRIMARY KEY (cluster, job_id_raw, submit_time)
) STRICT, WITHOUT ROWID""",
    "CREATE TABLE archive_change (number INTEGER NOT NULL) STRICT",
)
TABLES: Final = ("archived", "archive_back", "archive_change")
#: SQL: the row `a` of a file counts.
COUNTS: Final = (
    "NOT EXISTS (SELECT 1 FROM main.archive_back AS b WHERE b.cluster = a.cluster AND b.job_id_raw = a.job_id_raw"
    " AND b.submit_time = a.submit_time)"
)
#: SQL: a look for whether rows wait for late.py.
LATE: Final = "SELECT 1 FROM main.archive_back WHERE settled = 0 LIMIT 1"
_FILE: Final = "cluster, month, name, rows, size, sha256, inode, changed, written_at"
_TABLES: Final = ("job", "step")
_GPU_TABLES: Final = ("gpu_words", "gpu_untracked", "gpu_untyped")
#: Trap: in a trigger, OR IGNORE gives way to what the statement says that sets it off.
_TELL: Final = (
    "INSERT INTO archive_back SELECT {row}.cluster, {row}.job_id_raw, {row}.submit_time, 0 {of} NOT EXISTS"
    " (SELECT 1 FROM archive_back AS b WHERE b.cluster = {row}.cluster AND b.job_id_raw = {row}.job_id_raw"
    " AND b.submit_time = {row}.submit_time)"
)
_TRIGGERS: Final = "FROM main.sqlite_schema WHERE type = 'trigger' AND name GLOB 'archive_*'"
_INSERTS: Final = tuple(f"archive_{table}_insert" for table in _TABLES)


def files(db: sqlite3.Connection, name: str = RUNS, cluster: str | None = None) -> list[MonthFile]:
    """The files of archived months, in the order of months."""
    return [
        MonthFile(*row)
        for row in db.execute(
            f"SELECT {_FILE} FROM main.archived WHERE name = ?1 AND (?2 IS NULL OR cluster = ?2)"
            " ORDER BY month, cluster",
            (name, cluster),
        )
    ]


def are_there(db: sqlite3.Connection) -> bool:
    """Whether any month is archived."""
    return db.execute("SELECT 1 FROM main.archived LIMIT 1").fetchone() is not None


def back(db: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """The keys of rows of files that count no more."""
    return db.execute("SELECT cluster, job_id_raw, submit_time FROM main.archive_back").fetchall()


def change(db: sqlite3.Connection) -> int:
    """How often the archive changed."""
    return int(db.execute("SELECT coalesce(max(number), 0) FROM main.archive_change").fetchone()[0])


def add(db: sqlite3.Connection, made: list[MonthFile], schema: int, ends: tuple[int | None, int | None]) -> None:
    """Say that these files hold what SQLite will not hold any more. `ends`: of the first run that ended, and of the
    last; epoch seconds. The caller holds a transaction.
    """
    db.executemany(
        "INSERT OR REPLACE INTO archived VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*one[:3], schema, shape(), *one[3:], *ends) for one in made],
    )
    _changed(db)


def take(db: sqlite3.Connection, month: Month) -> None:
    """Say that a month is not archived any more. The caller holds a transaction."""
    db.execute("DELETE FROM archived WHERE cluster = ? AND month = ?", month)
    if not are_there(db):
        db.execute("DELETE FROM archive_back")
    _changed(db)


def _changed(db: sqlite3.Connection) -> None:
    """Count a change, and have triggers for the months that are archived now."""
    number = change(db) + 1
    db.execute("DELETE FROM archive_change")
    db.execute("INSERT INTO archive_change VALUES (?)", (number,))
    wanted = _triggers(fence(db)) if are_there(db) else {}
    there = dict(db.execute(f"SELECT name, sql {_TRIGGERS}"))
    for name in there.keys() - wanted.keys() | {name for name, sql in wanted.items() if there.get(name) != sql}:
        db.execute(f"DROP TRIGGER IF EXISTS {name}")
        if name in wanted:
            db.execute(wanted[name])


def unwatch(db: sqlite3.Connection) -> None:
    """Have no triggers until the archive changes, in the same transaction."""
    for (name,) in db.execute(f"SELECT name {_TRIGGERS}").fetchall():
        db.execute(f"DROP TRIGGER {name}")


def is_archived(db: sqlite3.Connection, month: Month) -> bool:
    """Whether a month is archived."""
    return db.execute("SELECT 1 FROM main.archived WHERE cluster = ? AND month = ?", month).fetchone() is not None


def stale(db: sqlite3.Connection) -> list[Month]:
    """Archived months whose derived columns are not those of this release."""
    return [
        Month(*row)
        for row in db.execute("SELECT DISTINCT cluster, month FROM main.archived WHERE shape <> ?", (shape(),))
    ]


def fence(db: sqlite3.Connection) -> int:
    """Runs that were submitted from then on have nothing to do with archived ones; epoch seconds."""
    (last,) = db.execute("SELECT max(month) FROM main.archived").fetchone()
    return begin_of(next_month(last)) + PUT_BACK_WITHIN if last else 0


def _triggers(until: int) -> dict[str, str]:
    """Name -> trigger. What GPUs are for a run depends on three tables: with these, files have what was derived."""
    found = {}
    for table in _TABLES:
        for event, of in (("insert", "INSERT"), ("update", "UPDATE")):
            name = f"archive_{table}_{event}"
            found[name] = (
                f"CREATE TRIGGER {name} AFTER {of} ON {table} WHEN NEW.submit_time < {until}"
                f" BEGIN {_TELL.format(row='NEW', of='WHERE')}; END"
            )
    for table in _GPU_TABLES:
        for event in ("insert", "update", "delete"):
            if (table, event) != ("gpu_words", "insert"):  # a run whose words are not there is not archived
                row = "OLD" if event == "delete" else "NEW"
                name = f"archive_{table}_{event}"
                found[name] = (
                    f"CREATE TRIGGER {name} AFTER {event.upper()} ON {table}"
                    f" BEGIN UPDATE archived SET shape = '' WHERE cluster = {row}.cluster; END"
                )
    return found


def loading(db: sqlite3.Connection) -> tuple[list[str], list[str]] | None:
    """Statements (before, after) a load by adminkit-ingest, as manifest.loading() has them. None without an archive."""
    there = dict(db.execute("SELECT name, sql FROM main.sqlite_schema WHERE name IN (?, ?)", _INSERTS))
    if len(there) < len(_INSERTS):
        return None
    until = fence(db)
    before = [
        "DROP TABLE IF EXISTS temp.archive_base",
        "CREATE TEMP TABLE archive_base AS SELECT coalesce((SELECT max(rowid) FROM job), 0) AS job,"
        " coalesce((SELECT max(rowid) FROM step), 0) AS step",
        *(f"DROP TRIGGER {name}" for name in _INSERTS),
    ]
    of = "FROM {table} WHERE rowid > (SELECT {table} FROM temp.archive_base) AND submit_time < {until} AND"
    after = [
        _TELL.format(row=table, of=of.format(table=table, until=until)).replace("INSERT", "INSERT OR IGNORE", 1)
        for table in _TABLES
    ]
    return before, [*after, *(there[name] for name in _INSERTS), "DROP TABLE temp.archive_base"]


def months(db: sqlite3.Connection) -> list[Month]:
    """The archived months, in their order."""
    return [Month(one.cluster, one.month) for one in files(db)]


def kept(db: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Cluster, month and name of every file that the trace has a row for: of copies, and of archived months."""
    return manifest.kept(db) | set(db.execute("SELECT cluster, month, name FROM main.archived"))
