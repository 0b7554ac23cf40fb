"""Connections that run SELECTs which other people type: what these may read is listed here; the rest is refused.

SQLite asks an authorizer about every table, column, function and PRAGMA while it compiles a statement, by the names of
the schema, whatever the statement calls them. Table-valued functions (dbstat, pragma_…) need more than a reader has.
The connection is read-only besides: for the file, and for the session.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adminkit.sqlite import ATTACHED, LENGTH, open_limited, sqlite3
from adminkit.trace import gpu_words
from adminkit.trace.connect import BUSY_SECONDS
from adminkit.trace.permissions import refuse_strange_files
from adminkit.trace.schema import VIEWS, lay_out
from adminkit.trace.sight import shadow
from adminkit.trace.snapshot import is_snapshot
from adminkit.trace.transaction import transaction

#: The tables and views about jobs and machines. The others are for no reader: letters with their addresses, rejected
#: lines whole, rows set aside, who did what, facts and loads with what adminkit needs for itself.
READABLE: Final = frozenset(
    {"run", "trace", "job", "step", "queue", "node", "node_event", "window"} | set(gpu_words.NAMES)
)  # fmt: skip
_SCHEMA: Final = frozenset({"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"})
#: PRAGMAs that describe, with a name in parentheses …
_DESCRIBING: Final = frozenset(
    {"table_info", "table_xinfo", "foreign_key_list", "index_list", "index_info", "index_xinfo"}
)  # fmt: skip
#: … and those that answer without a value; with one they would set something.
_ASKING: Final = frozenset({"schema_version", "database_list", "user_version"})
#: Functions that some builds of SQLite have, and that load code or open files.
_UNSAFE: Final = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "lsdir", "fsdir"}
    | {"adminkit_columns", "adminkit_column"}  # of columns.py, which trusts its callers
)  # fmt: skip
#: Whatever a statement can name that is a table, a view, or a table-valued function.
_NAMES: Final = """SELECT name FROM main.sqlite_schema UNION SELECT name FROM temp.sqlite_schema
    UNION SELECT name FROM pragma_module_list UNION SELECT 'pragma_' || name FROM pragma_pragma_list"""
#: Bytes: no value and no row of an answer is longer.
LONGEST: Final = 1 << 24
_LIMITS: Final = {LENGTH: LONGEST, ATTACHED: 0}


def exposed(path: Path, as_of: int | None = None, *, pragmas: bool = True) -> sqlite3.Connection:
    """A connection to an existing trace for one thread at a time. connect.reader() has looked at the file before.

    `as_of`, epoch seconds: the trace as it was then. `pragmas`: those that describe the schema are answered.
    """
    refuse_strange_files(path)
    how = f"mode=ro{'&immutable=1' if is_snapshot(path) else ''}"
    db = open_limited(
        f"{path.absolute().as_uri()}?{how}", _LIMITS, uri=True, timeout=BUSY_SECONDS, check_same_thread=False
    )
    if as_of is not None:
        shadow(db, own=False, as_of=as_of)
    return _closed(db, pragmas)


def exposed_copy(trace: sqlite3.Connection) -> sqlite3.Connection:
    """A connection to what this one shows of READABLE, in a file of SQLite's own that has no name: no statement can
    name another row there.
    """
    db = open_limited("", _LIMITS)
    with transaction(db):
        lay_out(db)
        for table in sorted(READABLE - VIEWS.keys()):
            rows = trace.execute(f"SELECT * FROM {table}")
            places = ", ".join("?" for _ in rows.description)
            db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({places})", rows)
    return _closed(db, pragmas=False)


def _closed(db: sqlite3.Connection, pragmas: bool) -> sqlite3.Connection:
    taken = frozenset(name.lower() for (name,) in db.execute(_NAMES))

    def judged(action: int, first: str | None, second: str | None, database: str | None, source: str | None) -> int:
        """What SQLite asks of each part of a statement. Trap: an exception here means no, without a word."""
        name = (first or "").lower()
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            allowed = True
        elif action == sqlite3.SQLITE_READ:
            # Without a column: of a table no value is read, or the name is that of a WITH, which has no columns here.
            allowed = name.removeprefix("all_") in READABLE | _SCHEMA or (not second and name not in taken)
        elif action == sqlite3.SQLITE_FUNCTION:
            allowed = (second or "").lower() not in _UNSAFE
        elif action == sqlite3.SQLITE_PRAGMA:
            allowed = pragmas and (name in _DESCRIBING or (name in _ASKING and second is None))
        else:
            allowed = False
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    db.execute("PRAGMA query_only = 1")
    db.set_authorizer(judged)
    return db
