"""Charging in tests: a file of schemes, a month that is closed, what the ledger then has."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from adminkit.economy.bill import Bill, bill
from adminkit.economy.close import close
from adminkit.economy.schemes import load_schemes
from adminkit.job import Job
from adminkit.stats.select import snapshot
from adminkit.trace.schema import lay_out
from tests.support.builders import job

#: Long after every month of the tests.
NOW: Final = 1_900_000_000
#: (billed, kind, period, job, amount)
Short = tuple[str, str, str, int | None, str]


def at(text: str) -> int:
    """2026-01-31T12:00 of UTC as epoch seconds."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def ran(number: int, start: str, seconds: int | None, **changes: Any) -> Job:
    """A run that began then and took so many seconds."""
    begin = at(start)
    given = {"submit_time": begin - 60, "start_time": begin, "end_time": begin + (seconds or 0)}
    return job(number, **{"elapsed": seconds, **given, **changes})


def schemes(folder: Path, formula: str = "elapsed", **more: object) -> Path:
    """A charge.toml with one scheme in points, without digits after the point."""
    given = {"digits": 0, "free_states": ["NODE_FAIL"], **more}
    lines = [f"{key} = {str(value).replace(chr(39), chr(34))}" for key, value in given.items() if key != "top"]
    path = folder / "charge.toml"
    path.write_text(
        f'version = 1\nscheme = "test"\n{more.get("top", "")}\n[schemes.test]\nformula = "{formula}"\n'
        'unit = "points"\n' + "\n".join(lines)
    )
    return path


def fresh(jobs: Iterable[Job] = ()) -> sqlite3.Connection:
    """A trace in memory with these jobs."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.deserialize(_empty())
    add_jobs(db, jobs)
    return db


@cache
def _empty() -> bytes:
    """A trace without rows; to lay it out takes longer than what most tests do with it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        lay_out(db)
        return db.serialize()


def billed(db: sqlite3.Connection, file: Path, month: str) -> Bill:
    with snapshot(db):
        return bill(db, load_schemes(file), month)


def closed(db: sqlite3.Connection, file: Path, *months: str) -> list[Short]:
    """Close these months. Returns the entries of the last, without its close."""
    for month in months:
        close(db, billed(db, file, month), NOW)
    return [line for line in ledger(db) if line[0] == months[-1] and line[1] != "close"]


def ledger(db: sqlite3.Connection) -> list[Short]:
    return db.execute("SELECT billed, kind, period, job_id_raw, amount FROM ledger ORDER BY n").fetchall()


def add_jobs(db: sqlite3.Connection, jobs: Iterable[Job]) -> None:
    names = [field.name for field in fields(Job)]
    columns = ", ".join(f'"{name}"' for name in names)
    db.executemany(f"INSERT INTO job ({columns}) VALUES ({', '.join('?' * len(names))})", map(attrgetter(*names), jobs))
