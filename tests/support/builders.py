"""Small traces for tests: a job row with keyword defaults, and a trace made of such rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from adminkit.job import Job
from adminkit.owner import as_owner
from adminkit.trace.connect import FILE_MODE, create
from adminkit.trace.ledger import Entry as Charged
from adminkit.trace.outbox import Entry, put

HOUR = 3600
#: 2026-01-05T00:00:00Z, a Monday.
MONDAY = 1_767_571_200


def job(number: int = 1, **changes: Any) -> Job:
    """A single-GPU job in queue gq that used one of its four hours. `number` makes its ids and times unique.

    `elapsed` moves end_time with it; whatever is named in `changes` is taken as it is.
    """
    elapsed = changes.get("elapsed", HOUR)
    start = MONDAY + number * 60
    given: dict[str, Any] = {
        "cluster": "aaic",
        "source": "slurmdbd",
        "job_id_raw": number,
        "submit_time": start - 30,
        "job_id": str(number),
        "user": "ada",
        "account": "vision",
        "queue": "gq",
        "state": "COMPLETED",
        "start_time": start,
        "end_time": None if elapsed is None else start + elapsed,
        "elapsed": elapsed,
        "time_limit": 4 * HOUR,
        "limit_kind": "finite",
        "limit_source": "explicit",
        "nodes": 1,
        "cpus": 8,
        "gpus": 1,
    }
    return Job(**{**given, **changes})


def make_trace(
    path: Path, jobs: Iterable[Job] = (), queues: Iterable[tuple[str, str, int, int | None, int | None]] = ()
) -> Path:
    """A trace at `path` with these jobs, and queues as (cluster, queue, since, default limit, maximum limit)."""
    _create(path)
    names = [f.name for f in fields(Job)]
    columns = ", ".join(f'"{name}"' for name in names)
    values = ", ".join("?" for _ in names)
    with closing(sqlite3.connect(path)) as db, db:
        # Not by asdict, which copies every value and takes longer than all else here.
        db.executemany(f"INSERT INTO job ({columns}) VALUES ({values})", map(attrgetter(*names), jobs))
        db.executemany(
            "INSERT INTO queue (cluster, queue, since, default_limit, max_limit) VALUES (?, ?, ?, ?, ?)", queues
        )
    return path


def _create(path: Path) -> None:
    """Like create(), of which every trace but the first is a copy: to migrate an empty file takes 30 ms."""
    if not _created:
        create(path)
        _created.append(path.read_bytes())
        return
    with as_owner(path):
        path.unlink(missing_ok=True)
        path.touch(FILE_MODE)
        path.chmod(FILE_MODE)
        path.write_bytes(_created[0])


#: An empty trace, once it has been made.
_created: list[bytes] = []


def letter(uid: int = 1001, **changes: Any) -> Entry:
    """A row of the outbox: a letter about a job that left for this user on MONDAY."""
    given: dict[str, Any] = {
        "cluster": "aaic", "run": f"1@{uid}", "kind": "end", "until": 0, "user": "ada", "uid": uid, "language": "en",
        "address": "ada@example.org", "state": "sent", "due_at": MONDAY, "next_at": MONDAY, "sent_at": MONDAY,
    }  # fmt: skip
    if changes.get("kind", "end") == "end":
        given |= {"job_id_raw": 1, "submit_time": 0, "is_array": 0}
    else:
        given |= {"week": "2026-W02", "since": MONDAY}
    return Entry(**{**given, **changes})


def ledger_entry(billed: str, person: str, **changes: Any) -> Charged:
    """An entry of the ledger: an hour's charge of a job in that month."""
    given: dict[str, Any] = {
        "billed": billed, "kind": "charge", "cluster": "aaic", "job_id_raw": 1, "submit_time": 0, "last_submit": 0,
        "runs": 1, "period": billed, "seconds": HOUR, "person": person, "account": "vision", "amount": "1.00",
        "unit": "points", "scheme": "9f86d081", "at": MONDAY,
    }  # fmt: skip
    return Charged(**{**given, **changes})


def add_letters(path: Path, letters: Iterable[Entry]) -> Path:
    """The trace at `path` with these rows in its outbox."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        put(db, letters)
    return path
