"""The SQLite of this process: pysqlite3's where that is installed, else Python's own. sqlite-utils and Datasette choose
alike.

Trap: two copies of SQLite on one file in one process lose its locks (sqlite.org/howtocorrupt.html, 2.2.1), and neither
knows the other's errors. So the module and every connection come from here.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adminkit.errors import AdminkitError
from adminkit.owner import as_caller

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import pysqlite3 as sqlite3
    except ImportError:
        import sqlite3

__all__ = [
    "ATTACHED", "LENGTH", "OLDEST", "hint", "is_too_old", "library", "loaded", "open_database", "open_limited",
    "sqlite3", "version",
]  # fmt: skip

#: The first one with STRICT tables.
OLDEST: Final = (3, 37, 0)
#: Limits of a connection, by the numbers of sqlite3_limit(): bytes of a value or a row, and attached databases.
LENGTH: Final = 0
ATTACHED: Final = 7


def open_database(database: Any, **how: Any) -> sqlite3.Connection:
    """Like sqlite3.connect, in autocommit. AdminkitError where this SQLite can neither make nor read a trace."""
    if is_too_old():
        wanted = ".".join(map(str, OLDEST[:2]))
        raise AdminkitError(f"a trace needs SQLite {wanted}, and this Python has {sqlite3.sqlite_version}", hint())
    made: sqlite3.Connection = sqlite3.connect(database, isolation_level=None, **how)
    return made


def open_limited(database: Any, limits: Mapping[int, int], **how: Any) -> sqlite3.Connection:
    """The same, with limits that no statement can pass. AdminkitError where they cannot be set."""
    if hasattr(sqlite3.Connection, "setlimit"):
        db = open_database(database, **how)
        for limit, most in limits.items():
            db.setlimit(limit, most)
        return db
    _set_limits_at_opening()
    _opening.limits = limits
    try:
        return open_database(database, **how)
    finally:
        del _opening.limits


#: The limits of what this thread opens now.
_opening: Final = threading.local()


@cache
@as_caller()
def _set_limits_at_opening() -> object:
    """Have SQLite call a function for each new connection, which pysqlite3 has no other way to set limits of.

    Trap: a thread may be about to call it at any time, so it is never taken back and its answer has to be kept.
    """
    import ctypes

    pointer, number = ctypes.c_void_p, ctypes.c_int

    def set_limits(db: int, message: int, functions: int) -> int:
        for limit, most in getattr(_opening, "limits", {}).items():
            known_to.sqlite3_limit(db, limit, most)
        return 0

    called = ctypes.CFUNCTYPE(number, pointer, pointer, pointer)(set_limits)
    try:
        known_to = ctypes.CDLL(library())
        known_to.sqlite3_limit.argtypes = (pointer, number, number)
        known_to.sqlite3_auto_extension(called)
    except (OSError, AttributeError) as error:
        raise AdminkitError(f"couldn't set the limits of SQLite's connections: {error}", hint()) from error
    return called


def loaded(data: bytes) -> sqlite3.Connection:
    """A database in memory that holds what is in `data`, the bytes of a file."""
    db = open_database(":memory:")
    try:
        if hasattr(db, "deserialize"):
            db.deserialize(data)
        else:  # pysqlite3. Trap: SQLite follows links, so it opens no memfd by /proc/self/fd
            from tempfile import NamedTemporaryFile

            with NamedTemporaryFile(prefix="adminkit-") as file:
                file.write(data)
                file.flush()
                with closing(open_database(f"{Path(file.name).as_uri()}?mode=ro&immutable=1", uri=True)) as copy:
                    copy.backup(db)
    except BaseException:
        db.close()
        raise
    return db


def version() -> str:
    """SQLite's version, and its package where it is not Python's own."""
    return sqlite3.sqlite_version + ("" if _is_pythons() else f", of {sqlite3.__name__}")


def is_too_old() -> bool:
    """Whether this SQLite does not know all that a trace is made of."""
    return sqlite3.sqlite_version_info < OLDEST


def hint() -> str:
    """How to get a newer one, beside this Python."""
    return "pip install 'adminkit[sqlite]', which brings a newer one; no trace was touched"


def library() -> str:
    """The file that this SQLite is in, or is linked from. AttributeError where it is a part of Python itself."""
    name = "_sqlite3" if _is_pythons() else f"{sqlite3.__name__}._sqlite3"
    return str(import_module(name).__file__)


def _is_pythons() -> bool:
    return sqlite3.__name__ == "sqlite3"
