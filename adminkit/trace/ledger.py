"""The ledger of charges: entries that are only ever added, each with the SHA-256 of the one before.

The hash of an entry is that of a list in JSON: FIELDS in their order, in ASCII and without blanks. The last of them is
the hash of the entry before, 64 zeros for the first. Triggers refuse any other entry. docs/charge.md.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from typing import Final

from adminkit.sqlite import sqlite3

#: What an entry is: of a month in its own bill, of a closed month, of what was charged before, or the end of a bill.
KINDS: Final = ("charge", "late", "correction", "close")
#: `billed` is the month of the bill, `period` the one in which the job ran: 2026-01. Seconds and amount of
#: a correction are what is new; an amount is a decimal number. `runs` of a close are the entries of its bill.
_LEDGER: Final = """
CREATE TABLE ledger (
    n INTEGER PRIMARY KEY, billed TEXT NOT NULL, kind TEXT NOT NULL,
    cluster TEXT, job_id_raw INTEGER, submit_time INTEGER, last_submit INTEGER, runs INTEGER NOT NULL,
    period TEXT NOT NULL, seconds INTEGER NOT NULL, person TEXT, account TEXT,
    amount TEXT NOT NULL, unit TEXT NOT NULL, scheme TEXT NOT NULL, at INTEGER NOT NULL,
    previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
    CHECK (CASE kind
        WHEN 'close' THEN cluster IS NULL AND job_id_raw IS NULL AND person IS NULL
        WHEN 'charge' THEN period = billed AND job_id_raw IS NOT NULL AND person IS NOT NULL
        WHEN 'late' THEN period < billed AND job_id_raw IS NOT NULL AND person IS NOT NULL
        WHEN 'correction' THEN job_id_raw IS NOT NULL AND person IS NOT NULL
        ELSE FALSE END)
) STRICT
"""
#: The schemes that charged, whole, by the SHA-256 of their text: the column `scheme` of an entry.
_SCHEME: Final = """
CREATE TABLE ledger_scheme (scheme TEXT PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL) STRICT
"""
_REFUSED: Final = "BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END"
#: Trap: an INSERT OR REPLACE deletes without asking a trigger of DELETE.
_NEXT: Final = """
CREATE TRIGGER ledger_insert BEFORE INSERT ON ledger
WHEN new.n <> (SELECT coalesce(max(n), 0) + 1 FROM ledger)
    OR new.previous <> coalesce((SELECT hash FROM ledger ORDER BY n DESC LIMIT 1), '{zeros}')
BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END
"""
_MONTH: Final = re.compile(r"(?:19[7-9]|2[0-9]{2})[0-9]-(?:0[1-9]|1[0-2])", re.ASCII)
_AMOUNT: Final = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,6})?", re.ASCII)
#: The hash before the first entry.
ZEROS: Final = "0" * 64
#: What makes the ledger in an empty trace.
SCHEMA: Final = (
    _LEDGER,
    _SCHEME,
    # What has a job been charged already?
    "CREATE INDEX ledger_job ON ledger (cluster, job_id_raw) WHERE job_id_raw IS NOT NULL",
    # What is in a bill, and what of it is one user's?
    "CREATE INDEX ledger_bill ON ledger (billed, person)",
    _NEXT.format(zeros=ZEROS),
    f"CREATE TRIGGER ledger_update BEFORE UPDATE ON ledger {_REFUSED}",
    f"CREATE TRIGGER ledger_delete BEFORE DELETE ON ledger {_REFUSED}",
    "CREATE TRIGGER ledger_scheme_insert BEFORE INSERT ON ledger_scheme"
    f" WHEN EXISTS (SELECT 1 FROM ledger_scheme WHERE scheme = new.scheme) {_REFUSED}",
    f"CREATE TRIGGER ledger_scheme_update BEFORE UPDATE ON ledger_scheme {_REFUSED}",
    f"CREATE TRIGGER ledger_scheme_delete BEFORE DELETE ON ledger_scheme {_REFUSED}",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry but for its place in the chain: the columns of `ledger`."""

    billed: str
    kind: str
    cluster: str | None
    job_id_raw: int | None
    submit_time: int | None  # of the job's first run
    last_submit: int | None  # of the run that is charged
    runs: int  # of the job up to that one; of a close the entries of its bill
    period: str
    seconds: int
    person: str | None
    account: str | None
    amount: str
    unit: str
    scheme: str
    at: int


_ENTRY: Final = tuple(field.name for field in fields(Entry))
#: What the hash of an entry is made of, in this order.
FIELDS: Final = ("n", *_ENTRY, "previous")
_COLUMNS: Final = ", ".join((*FIELDS, "hash"))
_INSERT: Final = f"INSERT INTO ledger ({_COLUMNS}) VALUES ({', '.join('?' * (len(FIELDS) + 1))})"
_HEAD: Final = "SELECT n, hash FROM ledger ORDER BY n DESC LIMIT 1"
_OF_JOB: Final = f"SELECT {', '.join(_ENTRY)} FROM ledger WHERE cluster = ? AND job_id_raw = ? ORDER BY n"
_KEEP: Final = """
INSERT INTO ledger_scheme (scheme, name, text, at) SELECT :scheme, :name, :text, :at
WHERE NOT EXISTS (SELECT 1 FROM ledger_scheme WHERE scheme = :scheme)
"""
#: Runs that were charged and that an audit has taken out of the count since.
_WITHDRAWN: Final = """
SELECT DISTINCT cluster, job_id_raw, last_submit FROM ledger AS charged
WHERE EXISTS (SELECT 1 FROM job_aside AS j WHERE j.cluster = charged.cluster AND j.job_id_raw = charged.job_id_raw
        AND j.submit_time = charged.last_submit)
    AND NOT EXISTS (SELECT 1 FROM job AS j WHERE j.cluster = charged.cluster AND j.job_id_raw = charged.job_id_raw
        AND j.submit_time = charged.last_submit)
ORDER BY cluster, job_id_raw, last_submit
"""


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry: its number and hash; 0 and ZEROS of an empty ledger."""

    n: int
    hash: str


def head(db: sqlite3.Connection) -> Head:
    """Where the chain ends."""
    row = db.execute(_HEAD).fetchone()
    return Head(0, ZEROS) if row is None else Head(*row)


def of_job(db: sqlite3.Connection, cluster: str, job_id_raw: int) -> list[Entry]:
    """The entries of the jobs with this number, the oldest first."""
    return [Entry(*row) for row in db.execute(_OF_JOB, (cluster, job_id_raw))]


def withdrawn(db: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """Cluster, number and submission of each charged run that an audit took out of the count."""
    return db.execute(_WITHDRAWN).fetchall()


def schemes(db: sqlite3.Connection) -> dict[str, str]:
    """The text of each scheme that charged, by its digest."""
    return dict(db.execute("SELECT scheme, text FROM ledger_scheme").fetchall())


def keep_scheme(db: sqlite3.Connection, name: str, text: str, now: int) -> str:
    """Store the text of a scheme, once. Returns its digest."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    db.execute(_KEEP, {"scheme": digest, "name": name, "text": text, "at": now})
    return digest


def append(db: sqlite3.Connection, entries: Iterable[Entry]) -> Head:
    """Write these entries after the last one, in the caller's transaction. Returns the new head."""
    last = head(db)
    for entry in entries:
        row = (last.n + 1, *astuple(entry), last.hash)
        last = Head(last.n + 1, hash_of(row))
        db.execute(_INSERT, (*row, last.hash))
    return last


def hash_of(row: Iterable[object]) -> str:
    """The hash of an entry whose FIELDS have these values."""
    return hashlib.sha256(json.dumps(list(row), ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def entries(db: sqlite3.Connection) -> Iterator[tuple[object, Entry, object, object]]:
    """Every row with its number, the hash before it and its own, in the order of the chain.

    Whoever may write the file may have put anything there: well_formed() says whether a row is an entry.
    """
    for n, *values, previous, own in db.execute(f"SELECT {_COLUMNS} FROM ledger ORDER BY n"):
        yield n, Entry(*values), previous, own


def well_formed(entry: Entry) -> bool:
    """Whether each value is of its kind, as `append` writes them."""
    of_job = (entry.cluster, entry.job_id_raw, entry.submit_time, entry.last_submit, entry.person)
    return (
        all(isinstance(one, str) for one in (entry.billed, entry.period, entry.amount, entry.unit, entry.scheme))
        and all(type(one) is int for one in (entry.runs, entry.seconds, entry.at))
        and isinstance(entry.account, str | None)
        and all(_MONTH.fullmatch(month) for month in (entry.billed, entry.period))
        and _AMOUNT.fullmatch(entry.amount) is not None
        and entry.kind in KINDS
        and (
            all(one is None for one in of_job)
            if entry.kind == "close"
            else [type(one) for one in of_job] == [str, int, int, int, str]
        )
    )
