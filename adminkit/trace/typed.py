"""One SELECT that the caller types, over what the caller may see, with an end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from adminkit.sqlite import sqlite3
from adminkit.trace.connect import reader
from adminkit.trace.exposed import exposed, exposed_copy
from adminkit.trace.sight import sees_others

#: Rows that are read at a time.
_CHUNK: Final = 1000
#: Steps of SQLite's machine between two looks at the clock.
_STEPS: Final = 20_000


class TooLong(Exception):
    """The statement did not end in its time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The first rows of a statement; `more`: there are others."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool


@contextmanager
def typed(path: Path, as_of: int | None = None) -> Iterator[sqlite3.Connection]:
    """A read-only connection for `answer`. For users who may not see others' jobs it is one to a copy of their own
    rows, as a statement could name the table behind a view.
    """
    with reader(path, as_of) as trace:
        db = exposed(path, as_of, pragmas=False) if sees_others(path) else exposed_copy(trace)
        with closing(db):
            db.text_factory = lambda text: text.decode(errors="replace")  # a statement can make a text of any bytes
            yield db


def answer(db: sqlite3.Connection, statement: str, most: int, seconds: float) -> Answer:
    """Run one SELECT and read `most` of its rows. TooLong where it takes longer; sqlite3.Error where it is refused.

    Trap: SQLite takes an exception of a callback for a stop, so Ctrl-C is raised again.
    """
    until, stopped = time.monotonic() + seconds, False

    def is_over() -> bool:
        nonlocal stopped
        try:
            return time.monotonic() > until
        except KeyboardInterrupt:
            stopped = True
            return True

    db.set_progress_handler(is_over, _STEPS)
    try:
        found = db.execute(statement)
        rows: list[tuple[Any, ...]] = []
        while len(rows) <= most and (some := found.fetchmany(_CHUNK)):
            rows += some
    except sqlite3.OperationalError as error:
        if stopped:
            raise KeyboardInterrupt from error
        if time.monotonic() > until:
            raise TooLong from error
        raise
    finally:
        db.set_progress_handler(None, 0)
    return Answer(tuple(one[0] for one in found.description or ()), rows[:most], len(rows) > most)
