"""A trace of up to a hundred million runs whose months are files only, made of a generated million by DuckDB.

Each month has the runs of the million once, with numbers of its own: their ends are spread over the month, run times
and waits differ by up to a quarter, and users and names change every 25 months, as those of a site do. SQLite has the
months' rows in month_file and, for the first and the last moment, one run of each end.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from adminkit.sqlite import open_database, sqlite3
from adminkit.trace.months import manifest, place
from adminkit.trace.months.duck import literal, quoted
from adminkit.trace.months.manifest import Month, MonthFile
from adminkit.trace.months.write import FORMAT

CLUSTER: Final = "alpha"
FIRST: Final = "2016-01"
#: Months with the same users and job names.
ERA: Final = 25
#: Numbers of jobs that a month has for itself.
_APART: Final = 10_000_000
_RAN: Final = "least(greatest(1, (elapsed * (0.75 + chance / 2))::BIGINT), 60 * coalesce(time_limit, elapsed))"


def months(many: int) -> list[str]:
    found = [FIRST]
    while len(found) < many:
        found.append(manifest.next_month(found[-1]))
    return found


def make(base: Path, into: Path, many: int) -> None:
    """Make the trace `into` with `many` months, of the runs of the trace `base`, which has its months in files."""
    import duckdb

    shutil.copy(base, into)
    folder = place.make_folder(into)
    files = sorted(place.folder_of(base).glob("*/*/run.parquet"))
    with closing(open_database(into)) as db, duckdb.connect() as made:
        for statement in manifest.DROP:
            db.execute(statement)
        source = f"read_parquet([{', '.join(literal(str(one)) for one in files)}], hive_partitioning = false)"
        made.execute("SET threads = 2")
        ends = made.execute(f"SELECT min(end_time), max(end_time) + 1 FROM {source}").fetchone()
        columns = [name for name, *_ in made.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
        assert ends
        for number, name in enumerate(months(many)):
            month = Month(CLUSTER, name)
            aside = folder / place.SCRATCH / "run.parquet"
            made.execute(f"COPY ({_moved(source, columns, month, number, ends)}) TO {literal(str(aside))} ({FORMAT})")
            aside.chmod(place.FILE_MODE)
            facts = place.put(into, aside, place.file_of(CLUSTER, name, "run"))
            rows = made.execute(f"SELECT count(*) FROM {source}").fetchone()
            assert rows
            _told(db, MonthFile(*month, "run", *rows, facts.st_size, "0", facts.st_ino, facts.st_ctime_ns, 0))
        _keep_two(db, Month(CLUSTER, FIRST), Month(CLUSTER, name))


def _moved(source: str, columns: list[str], month: Month, number: int, ends: tuple[Any, ...]) -> str:
    """SQL: the runs of `source`, whose ends are between `ends`, as those of the month with this number."""
    first, last = ends
    era = number // ERA
    its = {
        "job_id_raw": f"job_id_raw + {number * _APART}",
        "user": f"\"user\" || '-{era}'",
        "job_name": f"job_name || '-{era}'",
        "uid": f"uid + {era * 1000}",
        "elapsed": "ran",
        "start_time": "ended - ran",
        "end_time": "ended",
        "eligible_time": "ended - ran - waited",
        "submit_time": "ended - ran - waited",
        "wait": "waited",
        "study_counted": "CASE WHEN study_counted = 1 AND ran > 60 THEN 1 ELSE 0 END",
    }
    listed = ", ".join(f"{its[name]} AS {quoted(name)}" if name in its else quoted(name) for name in columns)
    return f"""SELECT {listed} FROM (
        SELECT *, {_RAN} AS ran, (wait * (0.75 + other / 2))::BIGINT AS waited,
            {month.since} + ((end_time - {first}) * {month.until - month.since}) // {last - first} AS ended
        FROM (SELECT *, hash(job_id_raw, {number}) / 18446744073709551616.0 AS chance,
            hash({number}, job_id_raw) / 18446744073709551616.0 AS other FROM {source}))"""


def _told(db: sqlite3.Connection, one: MonthFile) -> None:
    db.execute(
        "INSERT INTO month_file (cluster, month, name, token, shape, rows, size, sha256, inode, changed, written_at)"
        " VALUES (?, ?, ?, 'bench', ?, ?, ?, ?, ?, ?, ?)",
        (*one[:3], manifest.shape(), *one[3:]),
    )


def _keep_two(db: sqlite3.Connection, first: Month, last: Month) -> None:
    """Leave two runs in SQLite, in months that are read from files."""
    kept = [rowid for (rowid,) in db.execute("SELECT rowid FROM job ORDER BY rowid LIMIT 2")]
    db.execute(f"DELETE FROM job WHERE rowid NOT IN ({', '.join(map(str, kept))})")
    for rowid, end in zip(kept, (first.since, last.until - 1), strict=True):
        db.execute("UPDATE job SET start_time = ? - elapsed, end_time = ? WHERE rowid = ?", (end, end, rowid))
    db.execute("VACUUM")


def only(trace: Path, many: int) -> None:
    """Have the trace tell of the files of its first `many` months only."""
    with closing(open_database(trace)) as db:
        db.execute(
            "UPDATE month_file SET shape = CASE WHEN month <= ? THEN ? ELSE '' END",
            (months(many)[-1], manifest.shape()),
        )
        (last,) = db.execute("SELECT max(rowid) FROM job").fetchone()
        end = Month(CLUSTER, months(many)[-1]).until - 1
        db.execute("UPDATE job SET start_time = ? - elapsed, end_time = ? WHERE rowid = ?", (end, end, last))
