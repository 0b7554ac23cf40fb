"""SQL on a trace past adminkit, for tests that damage a trace or look into it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def change(db: Path, *statements: str) -> None:
    """Run the statements and commit them together."""
    with closing(sqlite3.connect(db)) as trace, trace:
        for statement in statements:
            trace.execute(statement)


def read(db: Path, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a SELECT."""
    with closing(sqlite3.connect(db)) as trace:
        return trace.execute(sql).fetchall()
