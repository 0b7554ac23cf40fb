"""The runs themselves, for whoever computes with them: rows of the view run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from adminkit.errors import unknown_word
from adminkit.job import KEY, Job
from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select
from adminkit.trace.run_view import DERIVED

#: Every column of the view run, in its order.
COLUMNS: Final = (*(one.name for one in fields(Job)), *DERIVED)


def jobs(db: sqlite3.Connection, filter: Filter, columns: Sequence[str] = COLUMNS) -> list[tuple[Any, ...]]:
    """These columns of the runs that `filter` takes, by cluster, job and submission. UsageError for another column."""
    for name in columns:
        if name not in COLUMNS:
            raise unknown_word("column", name, COLUMNS)
    selection = select(filter, limits=False)
    names, order = (", ".join(f'"{name}"' for name in some) for some in (columns, KEY))
    return db.execute(f"SELECT {names} FROM run WHERE {selection.where} ORDER BY {order}", selection.params).fetchall()
