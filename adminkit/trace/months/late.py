"""Rows that came for archived months: SQLite has them, and the archived rows of their runs go back to it.

A run is merged as if the archived row had been there first. With it go all archived runs of its number, so that what
runs of one number say about each other is on one side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final

from adminkit import journal
from adminkit.errors import AdminkitError
from adminkit.job import Job, Step
from adminkit.sqlite import sqlite3
from adminkit.trace.months import archived, place
from adminkit.trace.months.duck import quoted
from adminkit.trace.months.manifest import MonthFile
from adminkit.trace.months.reading import Read, columns_of, insert, read_files
from adminkit.trace.months.shown import FILES
from adminkit.trace.transaction import transaction
from adminkit.trace.upsert import upsert_job, upsert_step

_SAME: Final = "(cluster, job_id_raw, submit_time) IN (SELECT cluster, job_id_raw, submit_time FROM temp.archive_put)"
#: Keys for which DuckDB is asked at a time.
_PART: Final = 500


def settle(db: sqlite3.Connection, trace: Path) -> int:
    """Put back the archived runs of rows that came meanwhile, in one transaction. Returns how many.

    Where a file cannot be read, this is said, and the rows stay as they came until the next time.
    """
    if db.in_transaction or db.execute(archived.LATE).fetchone() is None:
        return 0
    try:
        with transaction(db):
            return _settle(db, trace)
    except AdminkitError as error:
        journal.refused("months", place.folder_of(trace), None, f"{error.message}: late rows are not merged")
        return 0


def _settle(db: sqlite3.Connection, trace: Path) -> int:
    back = 0
    numbers: dict[str, set[int]] = {}
    for cluster, number in db.execute("SELECT DISTINCT cluster, job_id_raw FROM archive_back WHERE settled = 0"):
        numbers.setdefault(cluster, set()).add(number)
    files = [one for one in archived.files(db) if one.cluster in numbers]
    if files:
        steps = {(one.cluster, one.month): one for one in archived.files(db, archived.STEPS)}
        with read_files(trace, [*files, *(steps[one.cluster, one.month] for one in files)]) as read:
            for one in files:
                for some in _parts(sorted(numbers[one.cluster])):
                    back += _put_back(db, read, one, steps[one.cluster, one.month], some)
    db.execute("DELETE FROM archive_back WHERE settled = 0")
    return back


def _parts(numbers: list[int]) -> Iterator[str]:
    for at in range(0, len(numbers), _PART):
        yield ", ".join(map(str, numbers[at : at + _PART]))


def _put_back(db: sqlite3.Connection, read: Read, runs: MonthFile, steps: MonthFile, numbers: str) -> int:
    """Put the runs of a file with these numbers, and their steps, back into SQLite."""
    where = f"WHERE a.job_id_raw IN ({numbers})"
    if read(runs, f"SELECT 1 FROM {{}} AS a {where} LIMIT 1").fetchone() is None:
        return 0
    for table in FILES:
        db.execute(f"CREATE TEMP TABLE archive_{table} AS SELECT * FROM main.{table} WHERE FALSE")
    db.execute("CREATE TEMP TABLE archive_put (cluster TEXT, job_id_raw INTEGER, submit_time INTEGER)")
    try:
        insert(db, "temp.archive_job", "job", read, runs, where)
        insert(db, "temp.archive_step", "step", read, steps, where)
        db.execute(
            "INSERT INTO archive_put SELECT cluster, job_id_raw, submit_time FROM temp.archive_job AS a WHERE NOT"
            " EXISTS (SELECT 1 FROM archive_back AS b WHERE b.cluster = a.cluster AND b.job_id_raw = a.job_id_raw"
            " AND b.submit_time = a.submit_time AND b.settled = 1)"
        )
        for table, record, file in (("job", Job, runs), ("step", Step, steps)):
            _merge(db, table, [one.name for one in fields(record)], columns_of(db, table, read, file))
        db.execute("INSERT OR REPLACE INTO archive_back SELECT *, 1 FROM temp.archive_put")
        return int(db.execute("SELECT count(*) FROM temp.archive_put").fetchone()[0])
    finally:
        for table in ("archive_job", "archive_step", "archive_put"):
            db.execute(f"DROP TABLE temp.{table}")


def _merge(db: sqlite3.Connection, table: str, names: list[str], stored: list[str]) -> None:
    """Put the archived rows, which have the columns `stored`, into the table, and then the rows that were there."""
    late = db.execute(f"SELECT {_listed(names)} FROM main.{table} WHERE {_SAME}").fetchall()
    db.execute(f"DELETE FROM main.{table} WHERE {_SAME}")
    listed = _listed(stored)
    db.execute(f"INSERT INTO main.{table} ({listed}) SELECT {listed} FROM temp.archive_{table} WHERE {_SAME}")
    given = {name: f"?{place}" for place, name in enumerate(names, 1) if name not in ("source", "audited")}
    upsert = upsert_job if table == "job" else upsert_step
    for row in late:
        db.execute(upsert(given, row[names.index("source")]), row)


def _listed(names: list[str]) -> str:
    return ", ".join(map(quoted, names))
