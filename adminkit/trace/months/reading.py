"""Rows of archived months, read from their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from adminkit import config
from adminkit.errors import AdminkitError
from adminkit.job import KEY
from adminkit.quote import quote
from adminkit.sqlite import sqlite3
from adminkit.trace.months import duck, place
from adminkit.trace.months.manifest import MonthFile

#: Rows that are moved at a time.
CHUNK: Final = 5000
#: Months that an error names one by one.
NAMED: Final = 12


def main_only(db: sqlite3.Connection, sql: str, given: Any = ()) -> Any:
    """A cursor of `sql`, whatever of the archive has been read until now."""
    cursor = sqlite3.Connection.cursor(db, sqlite3.Cursor)
    cursor.row_factory = None  # Datasette has rows that equal no tuple
    return cursor.execute(sql, given)


#: Executes SQL of DuckDB's in which {} stands for the rows of a file.
Read = Callable[[MonthFile, str], Any]


@contextmanager
def read_files(trace: Path, wanted: Sequence[MonthFile]) -> Iterator[Read]:
    """What reads these files of the archive. AdminkitError, with its name, for one that is not what was written."""
    folder = place.folder_of(trace)
    if not duck.is_there():
        raise AdminkitError(
            f"DuckDB is not installed, and {len(wanted)} archived months of {trace} are in Parquet only",
            "pip install duckdb, or name a period after them with --since",
        )
    if wanted and not os.path.lexists(folder):
        raise AdminkitError(
            f"{folder} is missing, which has the only copy of archived months: {_listed(wanted)}",
            "restore the folder from a backup, or name a period after these months with --since",
        )
    with ExitStack() as stack:
        good, bad = stack.enter_context(place.opened(trace, list(wanted)))
        handles = dict(good)
        for one in wanted:
            if one not in handles:
                why = next((each.why for each in bad if each.file == one), "it is missing")
                raise AdminkitError(
                    f"couldn't read {folder.joinpath(*place.file_of(*one[:3]))}: {quote(why, 200)}",
                    f"the trace has no other copy of {quote(one.cluster)} {one.month}: restore the file from a backup,"
                    " or name a period after it with --since",
                )
        paths = {one: f"/proc/self/fd/{handle}" for one, handle in good}
        made = stack.enter_context(duck.connected(config.load().months, _scratch(folder), list(paths.values())))

        def read(one: MonthFile, sql: str) -> Any:
            source = f"read_parquet({duck.literal(paths[one])}, hive_partitioning = false)"
            try:
                return made.execute(sql.replace("{}", source))
            except duck.failures() as error:
                raise AdminkitError(
                    f"couldn't read {folder.joinpath(*place.file_of(*one[:3]))}: {str(error).splitlines()[0][:200]}",
                    "restore the file from a backup, or name a period after it with --since",
                ) from error

        yield read


def _listed(files: Sequence[MonthFile]) -> str:
    """Which months, by cluster; of many the first and the last."""
    months: dict[str, list[str]] = {}
    for one in files:
        months.setdefault(one.cluster, []).append(one.month)
    return "; ".join(f"{quote(cluster)} {_short(sorted({*its}))}" for cluster, its in months.items())


def _short(months: Sequence[str]) -> str:
    return ", ".join(months) if len(months) <= NAMED else f"{len(months)} from {months[0]} to {months[-1]}"


def _scratch(folder: Path) -> Path | None:
    return folder / place.SCRATCH if os.access(folder / place.SCRATCH, os.W_OK) else None


def columns_of(db: sqlite3.Connection, table: str, read: Read, one: MonthFile) -> list[str]:
    """The columns of a table that a file has, whatever release wrote it."""
    there = {row[0] for row in read(one, "DESCRIBE SELECT * FROM {}").fetchall()}
    known = main_only(db, "SELECT name FROM pragma_table_info(?, 'main')", (table,))
    return [name for (name,) in known if name in there]


def insert(
    db: sqlite3.Connection,
    target: str,
    table: str,
    read: Read,
    one: MonthFile,
    where: str = "",
    skip: Container[tuple[str, int, int]] = (),
) -> int:
    """Insert the rows of a file, those that are `where`, without those of the runs `skip` (cluster, JobIDRaw, Submit),
    into `target`, which has the columns of `table`. Columns that the file lacks get what the schema has for them.
    Returns how many.
    """
    names = columns_of(db, table, read, one)
    listed = ", ".join(map(duck.quoted, names))
    found = read(one, f"SELECT {listed} FROM {{}} AS a {where}")
    places = ", ".join("?" for _ in names)
    key = [names.index(column) for column in KEY]
    put = sqlite3.Connection.cursor(db, sqlite3.Cursor)
    rows = 0
    while chunk := found.fetchmany(CHUNK):
        if skip:
            chunk = [row for row in chunk if tuple(row[place] for place in key) not in skip]
        put.executemany(f"INSERT INTO {target} ({listed}) VALUES ({places})", chunk)
        rows += len(chunk)
    return rows
