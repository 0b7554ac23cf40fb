"""The table power_curve: measured configurations of trainings, as files of operators say. docs/power.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import Final

from adminkit.sqlite import sqlite3
from adminkit.trace.load import MAX_RAW
from adminkit.trace.transaction import transaction
from adminkit.trace.upsert import REJECT

#: One measurement a row. Seconds and joules are those of its iterations; where these are not known, of a piece of
#: work (an epoch, a window of time) that is the same in every row of the model. `cap` is the power limit of a GPU.
SCHEMA: Final = """
CREATE TABLE power_curve (
    source TEXT NOT NULL, line INTEGER NOT NULL, loaded_at INTEGER NOT NULL,
    model TEXT NOT NULL, gpu TEXT NOT NULL, gpus INTEGER NOT NULL, batch REAL, cap REAL,
    seconds REAL NOT NULL, joules REAL, iterations REAL,
    PRIMARY KEY (source, line, gpus)
) STRICT
"""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A row without where it came from: watts for `cap`, unknown is None; `gpu` is the kind of GPU, "" for unknown."""

    model: str
    gpu: str
    gpus: int
    batch: float | None  # of all GPUs together
    cap: float | None
    seconds: float
    joules: float | None
    iterations: float | None


_COLUMNS: Final = ", ".join(("source", "line", "loaded_at", *(one.name for one in fields(Measurement))))
_INSERT: Final = f"INSERT INTO power_curve ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def store(db: sqlite3.Connection, source: str, rows: Iterable[tuple[int, Measurement]], now: int) -> int:
    """Put these (line, measurement) in the place of all that `source` said before; how many it had said."""
    with transaction(db):
        before = int(db.execute("DELETE FROM power_curve WHERE source = ?", (source,)).rowcount)
        db.executemany(_INSERT, ((source, line, now, *astuple(row)) for line, row in rows))
    return before


def set_aside(db: sqlite3.Connection, source: str, rows: Iterable[tuple[int, str, str]], now: int) -> None:
    """Keep lines that could not be read: line, reason, text."""
    with transaction(db):
        db.executemany(
            REJECT,
            ((line, why, text.encode("utf-8", "surrogateescape")[:MAX_RAW], source, now) for line, why, text in rows),
        )
