"""Connections that run SELECTs which other people type: what these may read is listed here; the rest is refused.

SQLite asks an authorizer about every table, column, function and PRAGMA while it compiles a statement, by the names of
the schema, whatever the statement calls them. Table-valued functions (dbstat, pragma_…) need more than a reader has.
The connection is read-only besides: for the file, and for the session.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adminkit.sqlite import ATTACHED, LENGTH, open_limited, sqlite3
from adminkit.trace import gpu_words, rollup
from adminkit.trace.connect import BUSY_SECONDS
from adminkit.trace.permissions import refuse_strange_files

#: The tables and views about jobs and machines. The others are for no reader: letters with their addresses, rejected
#: lines whole, rows set aside, who did what, facts and loads with what adminkit needs for itself.
READABLE: Final = frozenset(
    {"run", "trace", "job", "step", "queue", "node", "node_event", "window"} | {*rollup.NAMES, *gpu_words.NAMES}
)  # fmt: skip
_SCHEMA: Final = frozenset({"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"})
#: PRAGMAs that describe, with a name in parentheses …
_DESCRIBING: Final = frozenset(
    {"table_info", "table_xinfo", "foreign_key_list", "index_list", "index_info", "index_xinfo"}
)  # fmt: skip
#: … and those that answer without a value; with one they would set something.
_ASKING: Final = frozenset({"schema_version", "database_list", "user_version"})
#: Functions that some builds of SQLite have, and that load code or open files.
_UNSAFE: Final = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "lsdir", "fsdir"})
#: Bytes: no value and no row of an answer is longer.
LONGEST: Final = 1 << 24
_LIMITS: Final = {LENGTH: LONGEST, ATTACHED: 0}


def exposed(path: Path) -> sqlite3.Connection:
    """A connection to an existing trace for one thread at a time. connect.reader() has looked at the file before."""
    refuse_strange_files(path)
    db = open_limited(
        f"{path.absolute().as_uri()}?mode=ro", _LIMITS, uri=True, timeout=BUSY_SECONDS, check_same_thread=False
    )
    db.execute("PRAGMA query_only = 1")
    db.set_authorizer(_judged)
    return db


def _judged(action: int, first: str | None, second: str | None, database: str | None, source: str | None) -> int:
    """What SQLite asks of each part of a statement. Trap: an exception here means no, without a word."""
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
        allowed = True
    elif action == sqlite3.SQLITE_READ:
        allowed = (first or "").lower() in READABLE | _SCHEMA
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in _UNSAFE
    elif action == sqlite3.SQLITE_PRAGMA:
        name = (first or "").lower()
        allowed = name in _DESCRIBING or (name in _ASKING and second is None)
    else:
        allowed = False
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
