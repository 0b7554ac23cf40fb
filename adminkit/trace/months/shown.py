"""Readers see archived months: temporary tables of their rows, filled when a statement may read them, and temporary
views `job`, `step`, `run` and `trace` that have the rows of SQLite and these.

SQLite keeps the tables in a temporary file of its own, which has no name. What a statement may read is said in
asked.py; a month is read whole. The rows of a run are either all in SQLite or all in the archive, with those of every
run that says something about it (move.py), so the view `run` is made of each side by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

from adminkit.errors import AdminkitError
from adminkit.sqlite import sqlite3
from adminkit.trace.continued_runs import IN_PIECES
from adminkit.trace.months import archived
from adminkit.trace.months.archived import COUNTS, RUNS, STEPS
from adminkit.trace.months.asked import Asked, asked
from adminkit.trace.months.manifest import MonthFile, begin_of, next_month
from adminkit.trace.months.reading import insert, main_only, read_files
from adminkit.trace.run_view import RUN_SELECT

#: Table -> the file that has its rows.
FILES: Final[Mapping[str, str]] = {"job": RUNS, "step": STEPS}
#: What the views are called that have the rows of both sides, for sight.py.
WHOLE: Final = "whole_{}"
#: What a reader has besides the views of sight.py: for who lets others type statements.
NAMES: Final = frozenset({"archived_job", "archived_step", "archived_run", "whole_job", "whole_step"})
#: Tries to read one archive, while others change it.
TRIES: Final = 5
_CREATE: Final = re.compile(r"CREATE TABLE\s+\"?(\w+)\"?\s*\(")
#: A statement that names rowid is about a table: Datasette turns its pages so.
_ROWID: Final = re.compile(r"\browid\b", re.IGNORECASE)
_PAGED: Final = re.compile(r"(\bFROM\s+)(\[?(?:job|step)\b\]?)", re.IGNORECASE)
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
        if archive.is_all and _ROWID.search(sql):
            sql = _PAGED.sub(r"\1main.\2", sql)
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
        archive.make()
    db.archive = archive


class Archive:
    """What a connection has read of the archive."""

    def __init__(self, db: Connection, trace: Path, whole: bool) -> None:
        self._db, self.trace, self._whole, self._is_open = db, trace, whole, False
        self._first = self._change()

    @property
    def is_plain(self) -> bool:
        """Whether the connection shows everybody's runs as they are now."""
        return not self._whole

    @property
    def is_all(self) -> bool:
        """Whether archived months are shown, with everybody's runs as they are now."""
        return self._is_open and not self._whole

    def make(self) -> None:
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
                    self._read(before, names, wanted)
                except AdminkitError:
                    if self._change() == before:
                        raise
                    continue
            elif before != self._first:
                if self._whole:
                    break
                self.make()
                continue
            execute()
            # The statement is at its first row, so what is read now is of the same moment, or of a later one.
            if self._change() == before:
                return
        raise AdminkitError(f"the archive of {self.trace} changed meanwhile", "run the same command again")

    def _change(self) -> int:
        with self._unguarded():
            return archived.change(self._db)

    def _read(self, change: int, names: Sequence[str], wanted: Asked) -> None:
        """Fill the tables with the months of these files that may have what is wanted."""
        with self._unguarded():
            self._forget(change)
            there = set(main_only(self._db, "SELECT cluster, month, name FROM temp.archive_read"))
            missing = [
                one
                for name in names
                for one in archived.files(self._db, name)
                if (*one[:3],) not in there
                and begin_of(one.month) < wanted.until
                and begin_of(next_month(one.month)) > wanted.since
            ]
            if missing:
                with _writing(self._db):
                    self._fill(change, missing, wanted.number)

    def _forget(self, change: int) -> None:
        """Empty the tables where they are of another archive."""
        old = main_only(self._db, "SELECT 1 FROM temp.archive_read WHERE number <> ? LIMIT 1", (change,)).fetchone()
        if old:
            with _writing(self._db):
                for table in ("archived_job", "archived_step", "archive_read"):
                    main_only(self._db, f"DELETE FROM temp.{table}")

    def _fill(self, change: int, missing: Sequence[MonthFile], number: int | None) -> None:
        """Insert month by month: where a time limit ends it, the next statement continues. `number`: only months that
        have this JobIDRaw, by which files are ordered.
        """
        tables = {file: table for table, file in FILES.items()}
        with read_files(self.trace, missing) as read:
            for one in missing:
                of_number = f"SELECT 1 FROM {{}} AS a WHERE job_id_raw = {number} LIMIT 1"
                if number is not None and read(one, of_number).fetchone() is None:
                    continue
                main_only(self._db, "SAVEPOINT archive_fill")
                try:
                    insert(self._db, f"temp.archived_{tables[one.name]}", tables[one.name], read, one)
                    main_only(self._db, "INSERT INTO temp.archive_read VALUES (?, ?, ?, ?)", (change, *one[:3]))
                except BaseException:
                    if self._db.in_transaction:
                        main_only(self._db, "ROLLBACK TO archive_fill")
                    raise
                finally:
                    if self._db.in_transaction:
                        main_only(self._db, "RELEASE archive_fill")

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
