"""Readers see archived months: temporary tables of their rows, filled when a statement may read them, and temporary
views `job`, `step`, `run` and `trace` that have the rows of SQLite and these.

SQLite keeps the tables in a temporary file of its own, which has no name. What a statement may read is said in
asked.py; a month is read whole. The rows of a run are either all in SQLite or all in the archive, with those of every
run that says something about it (move.py), so the view `run` is made of each side by itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, cast

from adminkit import config
from adminkit.errors import AdminkitError
from adminkit.job import KEY
from adminkit.quote import quote
from adminkit.sqlite import sqlite3
from adminkit.trace.continued_runs import IN_PIECES
from adminkit.trace.months import archived, duck, manifest, place
from adminkit.trace.months.archived import COUNTS, RUNS, STEPS
from adminkit.trace.months.asked import asked
from adminkit.trace.months.manifest import MonthFile, begin_of, next_month
from adminkit.trace.run_view import RUN_SELECT

#: Table -> the file that has its rows.
FILES: Final[Mapping[str, str]] = {"job": RUNS, "step": STEPS}
#: What the views are called that have the rows of both sides, for sight.py.
WHOLE: Final = "whole_{}"
#: What a reader has besides the views of sight.py: for who lets others type statements.
NAMES: Final = frozenset({"archived_job", "archived_step", "archived_run", "whole_job", "whole_step"})
#: Rows that are moved at a time.
CHUNK: Final = 5000
#: Tries to read one archive, while others change it.
TRIES: Final = 5
_CREATE: Final = re.compile(r"CREATE TABLE\s+\"?(\w+)\"?\s*\(")
_KEYS: Final = {"job": "cluster, job_id_raw, submit_time", "step": "cluster, job_id_raw, submit_time, step"}
_SIDES: Final = f"SELECT * FROM main.{{table}} UNION ALL SELECT * FROM temp.archived_{{table}} AS a WHERE {COUNTS}"
_ARCHIVED_RUN: Final = (
    f"WITH job AS NOT MATERIALIZED (SELECT * FROM temp.archived_job AS a WHERE {COUNTS}),"
    f" step AS NOT MATERIALIZED (SELECT * FROM temp.archived_step) {RUN_SELECT}"
)

_ALWAYS: Final = (
    "CREATE INDEX temp.archived_job_end ON archived_job (end_time)",
    f"CREATE INDEX temp.archived_job_pieces ON archived_job (job_id_raw) WHERE {IN_PIECES}",
    "CREATE TEMP TABLE archive_read (number INTEGER, cluster TEXT, month TEXT, name TEXT)",
)
_UNSHADOWED: Final = (
    f"CREATE TEMP VIEW archived_run AS {_ARCHIVED_RUN}",
    "CREATE TEMP VIEW run AS SELECT * FROM main.run UNION ALL SELECT * FROM temp.archived_run",
)


class Cursor(sqlite3.Cursor):
    """Like sqlite3's; before a statement, what it may read of the archive is there."""

    def execute(self, sql: str, parameters: Any = ()) -> Cursor:
        archive = cast(Connection, self.connection).archive
        if archive is None:
            return super().execute(sql, parameters)
        archive.answer(sql, parameters, lambda: super(Cursor, self).execute(sql, parameters))
        return self


class Connection(sqlite3.Connection):
    """A connection that shows archived months from show() on."""

    archive: Archive | None = None
    authorizer: Callable[..., int] | None = None

    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or Cursor)

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        return self.cursor().execute(sql, parameters)

    def set_authorizer(self, authorizer_callback: Any) -> None:
        self.authorizer = authorizer_callback
        super().set_authorizer(authorizer_callback)


def show(db: sqlite3.Connection, trace: Path, *, whole: bool) -> None:
    """Have this connection show archived months, also where months are archived later. `whole`: sight.py puts views
    before the tables, which take what WHOLE names; then a month that is archived later is an error.
    """
    assert isinstance(db, Connection)
    archive = Archive(db, trace, whole)
    if archived.are_there(db):
        archive.open()
    db.archive = archive


def main_only(db: sqlite3.Connection, sql: str, given: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
    """A cursor of `sql`, whatever of the archive has been read until now."""
    return sqlite3.Connection.cursor(db, sqlite3.Cursor).execute(sql, given)


class Archive:
    """What a connection has read of the archive."""

    def __init__(self, db: Connection, trace: Path, whole: bool) -> None:
        self._db, self._trace, self._whole, self._is_open = db, trace, whole, False
        self._first = self._change()

    @property
    def is_all(self) -> bool:
        """Whether archived months are shown, with everybody's runs as they are now."""
        return self._is_open and not self._whole

    def open(self) -> None:
        """Make the tables and views."""
        with self._unguarded(), _writing(self._db):
            for table in FILES:
                (sql,) = main_only(
                    self._db, "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", (table,)
                ).fetchone()
                view = WHOLE.format(table) if self._whole else table
                for statement in (
                    _CREATE.sub(r"CREATE TEMP TABLE archived_\1 (", sql, count=1),
                    f"CREATE UNIQUE INDEX temp.archived_{table}_key ON archived_{table} ({_KEYS[table]})",
                    f"CREATE TEMP VIEW {view} AS {_SIDES.format(table=table)}",
                ):
                    main_only(self._db, statement)
            for statement in _ALWAYS if self._whole else (*_ALWAYS, *_UNSHADOWED):
                main_only(self._db, statement)
            if not self._whole:
                (sql,) = main_only(self._db, "SELECT sql FROM main.sqlite_schema WHERE name = 'trace'").fetchone()
                main_only(self._db, sql.replace("CREATE VIEW", "CREATE TEMP VIEW", 1))
        self._is_open = True

    def answer(self, sql: str, given: Any, execute: Callable[[], Any]) -> None:
        """Execute a statement when what it may read of the archive is there, as of the same moment."""
        wanted = asked(sql, given)
        if wanted is None:
            execute()
            return
        for _ in range(TRIES):
            before = self._change()
            if self._is_open:
                names = [FILES[name] for name, is_read in (("job", wanted.runs), ("step", wanted.steps)) if is_read]
                try:
                    self._read(before, names, wanted.since, wanted.until)
                except AdminkitError:
                    if self._change() == before:
                        raise
                    continue
            elif before != self._first:
                if self._whole:
                    break
                self.open()
                continue
            execute()
            # The statement is at its first row, so what is read now is of the same moment, or of a later one.
            if self._change() == before:
                return
        raise AdminkitError(f"the archive of {self._trace} changed meanwhile", "run the same command again")

    def _change(self) -> int:
        with self._unguarded():
            return int(main_only(self._db, "SELECT number FROM main.archive_change").fetchone()[0])

    def _read(self, change: int, names: Sequence[str], since: int, until: int) -> None:
        """Fill the tables with the months of these files that have runs that ended in [since, until)."""
        with self._unguarded():
            self._forget(change)
            there = set(main_only(self._db, "SELECT cluster, month, name FROM temp.archive_read"))
            missing = [
                one
                for name in names
                for one in archived.files(self._db, name)
                if (*one[:3],) not in there and begin_of(one.month) < until and begin_of(next_month(one.month)) > since
            ]
            if missing:
                with _writing(self._db):
                    self._fill(change, missing)

    def _forget(self, change: int) -> None:
        """Empty the tables where they are of another archive."""
        old = main_only(self._db, "SELECT 1 FROM temp.archive_read WHERE number <> ? LIMIT 1", (change,)).fetchone()
        if old:
            with _writing(self._db):
                for table in ("archived_job", "archived_step", "archive_read"):
                    main_only(self._db, f"DELETE FROM temp.{table}")

    def _fill(self, change: int, missing: Sequence[MonthFile]) -> None:
        tables = {file: table for table, file in FILES.items()}
        begun = not self._db.in_transaction
        if begun:
            main_only(self._db, "BEGIN")
        try:
            with read_files(self._trace, missing) as read:
                for one in missing:
                    insert(self._db, f"temp.archived_{tables[one.name]}", tables[one.name], read, one)
                    main_only(self._db, "INSERT INTO temp.archive_read VALUES (?, ?, ?, ?)", (change, *one[:3]))
        finally:
            if begun and self._db.in_transaction:
                main_only(self._db, "COMMIT")

    @contextmanager
    def _unguarded(self) -> Iterator[None]:
        """Without the authorizer that is for statements of others."""
        guard = self._db.authorizer
        if guard is None:
            yield
            return
        sqlite3.Connection.set_authorizer(self._db, None)
        try:
            yield
        finally:
            sqlite3.Connection.set_authorizer(self._db, guard)


@contextmanager
def _writing(db: sqlite3.Connection) -> Iterator[None]:
    (query_only,) = main_only(db, "PRAGMA query_only").fetchone()
    main_only(db, "PRAGMA query_only = 0")
    try:
        yield
    finally:
        main_only(db, f"PRAGMA query_only = {query_only}")


def span(db: sqlite3.Connection) -> tuple[int | None, int | None]:
    """When the first run ended that this connection shows, and when the last one; epoch seconds, None without any. No
    file is read.
    """
    if not _knows_ends(db):
        first = db.execute("SELECT min(end_time) FROM run").fetchone()[0]
        return first, db.execute("SELECT max(end_time) FROM run").fetchone()[0]
    one = "SELECT {how}(at) FROM (SELECT {how}(end_time) AS at FROM main.job UNION ALL SELECT {at} FROM main.archived)"
    first, last = (
        main_only(db, one.format(how=how, at=at)).fetchone()[0]
        for how, at in (("min", "first_end"), ("max", "last_end"))
    )
    return first, last


def count(db: sqlite3.Connection) -> int:
    """How many runs this connection shows. No file is read."""
    if not _knows_ends(db):
        return int(db.execute("SELECT count(*) FROM run").fetchone()[0])
    sql = "SELECT (SELECT count(*) FROM main.job) + (SELECT coalesce(sum(rows), 0) FROM main.archived WHERE name = ?)"
    return int(main_only(db, sql, (RUNS,)).fetchone()[0])


def clusters(db: sqlite3.Connection) -> list[str]:
    """The clusters of the runs that this connection shows, by name: one look into the key's index for each."""
    if _knows_ends(db):
        there = {name for (name,) in main_only(db, "SELECT DISTINCT cluster FROM main.archived WHERE rows > 0")}
        return sorted({*manifest.clusters(db), *there}, key=str.encode)
    found: list[str] = []
    (name,) = db.execute("SELECT min(cluster) FROM run").fetchone()
    while name is not None:
        found.append(name)
        (name,) = db.execute("SELECT min(cluster) FROM run WHERE cluster > ?", (name,)).fetchone()
    return found


def _knows_ends(db: sqlite3.Connection) -> bool:
    """Whether the trace's tables say of the archive what this connection shows of it."""
    archive = db.archive if isinstance(db, Connection) else None
    return archive is not None and archive.is_all and not archived.back(db)


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
