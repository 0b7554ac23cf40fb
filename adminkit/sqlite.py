"""The SQLite of this process: pysqlite3's where that is installed, else Python's own. sqlite-utils and Datasette choose
alike.

Trap: two copies of SQLite on one file in one process lose its locks (sqlite.org/howtocorrupt.html, 2.2.1), and neither
knows the other's errors. So the module and every connection come from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from adminkit.errors import AdminkitError

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import pysqlite3 as sqlite3
    except ImportError:
        import sqlite3

__all__ = ["OLDEST", "hint", "is_too_old", "library", "open_database", "sqlite3"]

#: The first one with STRICT tables.
OLDEST: Final = (3, 37, 0)


def open_database(database: Any, **how: Any) -> sqlite3.Connection:
    """As sqlite3.connect, in autocommit. AdminkitError where this SQLite can neither make nor read a trace."""
    if is_too_old():
        wanted = ".".join(map(str, OLDEST[:2]))
        raise AdminkitError(f"a trace needs SQLite {wanted}, and this Python has {sqlite3.sqlite_version}", hint())
    made: sqlite3.Connection = sqlite3.connect(database, isolation_level=None, **how)
    return made


def is_too_old() -> bool:
    """Whether this SQLite does not know all that a trace is made of."""
    return sqlite3.sqlite_version_info < OLDEST


def hint() -> str:
    """How to get a newer one, beside this Python."""
    return "pip install 'adminkit[sqlite]', which brings a newer one; no trace was touched"


def library() -> str:
    """The file that this SQLite is in, or is linked from. AttributeError where it is a part of Python itself."""
    name = "_sqlite3" if sqlite3.__name__ == "sqlite3" else f"{sqlite3.__name__}._sqlite3"
    return str(import_module(name).__file__)
