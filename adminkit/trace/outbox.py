"""The outbox: one row per letter, from the moment it is due. Each step of a letter is one commit of its own.

    due ──claim──▶ claimed ──sent──▶ sent        expired: too late to be of use; the digest mentions it
     ▲                │  └──refuse──▶ refused     refused: the mail server will never take it
     └──── later ─────┘

A row that is claimed while no process holds the lock of the outbox was left by a killed one: `recover` makes it due.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from typing import Any, Final

from adminkit.sqlite import sqlite3
from adminkit.trace.transaction import transaction

STATES: Final = ("due", "claimed", "sent", "refused", "expired")
#: Key of the fact since when a cluster's users get letters.
SWITCHED_ON: Final = "feedback_since"
#: A letter that was handed over is written down however long another writer takes; tries of BUSY_SECONDS each.
_PATIENCE: Final = 20
#: A letter is given up after more tries than this and longer than that (seconds). Trap: while a server is away every
#: run is a try, so only a number of tries would be reached within hours.
MOST_TRIES: Final = 24
LONGEST: Final = 3 * 86_400
#: What a killed run leaves behind.
KILLED: Final = "a run was killed while it sent this letter; it may arrive twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row: what is due to whom, then what became of it; see docs/trace.md.

    None: unknown, or not of this kind of letter.
    """

    cluster: str
    run: str
    kind: str
    until: int
    language: str
    address: str
    user: str | None = None
    uid: int | None = None
    job_id_raw: int | None = None
    submit_time: int | None = None
    is_array: int | None = None
    job_name: str | None = None
    week: str | None = None
    since: int | None = None
    notes: str | None = None  # a JSON list of sentences
    state: str = "due"
    attempts: int = 0
    copy: int = 0
    due_at: int
    next_at: int
    claimed_at: int | None = None
    sent_at: int | None = None
    said: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return self.cluster, self.run, self.kind


_NAMES: Final = tuple(f.name for f in fields(Entry))
_COLUMNS: Final = ", ".join(_NAMES)
_PUT: Final = f"""
INSERT INTO outbox ({_COLUMNS}) VALUES ({", ".join("?" * len(_NAMES))})
ON CONFLICT (cluster, run, kind) DO NOTHING
"""
_MOVE: Final = """
UPDATE outbox SET state = ?, next_at = coalesce(?, next_at), sent_at = coalesce(?, sent_at), said = ?
WHERE cluster = ? AND run = ? AND kind = ? AND state = ?
"""
_CLAIM: Final = """
UPDATE outbox SET state = 'claimed', attempts = attempts + 1, claimed_at = ?
WHERE cluster = ? AND run = ? AND kind = ? AND state = 'due'
"""
_AGAIN: Final = """
UPDATE outbox SET copy = copy + 1, state = 'due', due_at = ?, next_at = ?, attempts = 0
WHERE cluster = ? AND run = ? AND kind = ? AND state <> 'claimed'
"""
_EXPIRE: Final = """
UPDATE outbox SET state = 'expired', said = coalesce(said || '; ', '') || ?
WHERE state = 'due' AND (attempts > ? AND due_at < ? OR copy = 0 AND until < CASE kind WHEN 'end' THEN ? ELSE ? END)
"""
# Letters with the fewest tries come first, so that one that fails, or kills its run, delays no other. A user's letters
# come together: what was read of the trace for one serves the next.
_OPEN: Final = f"""
SELECT {_COLUMNS} FROM outbox WHERE state = 'due' AND next_at <= ? ORDER BY attempts, cluster, uid, due_at, run
"""
_LAST: Final = """
SELECT uid, job_name, max(coalesce(sent_at, due_at)) FROM outbox
WHERE cluster IN ({clusters}) AND kind = 'end' AND state IN ('due', 'claimed', 'sent') AND coalesce(sent_at, due_at) > ?
GROUP BY uid, job_name
"""


def _entry(row: Sequence[Any]) -> Entry:
    return Entry(**dict(zip(_NAMES, row, strict=True)))


def durable(db: sqlite3.Connection) -> None:
    """Make every later commit survive a crash of the host, not only one of this process."""
    db.execute("PRAGMA synchronous = FULL")


def put(db: sqlite3.Connection, entries: Iterable[Entry]) -> int:
    """Add rows, all or none; a known key keeps its row. Returns how many were new."""
    before = db.total_changes
    with transaction(db):
        db.executemany(_PUT, (astuple(one) for one in entries))
    return db.total_changes - before


def known(db: sqlite3.Connection, keys: Sequence[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """The `keys` that have a row."""
    sql = "SELECT 1 FROM outbox WHERE cluster = ? AND run = ? AND kind = ?"
    return {key for key in keys if db.execute(sql, key).fetchone()}


def open_entries(db: sqlite3.Connection, now: int) -> list[Entry]:
    """What may be sent at `now`."""
    return [_entry(row) for row in db.execute(_OPEN, (now,))]


def find(db: sqlite3.Connection, states: Sequence[str], users: Sequence[str] = (), limit: int = -1) -> list[Entry]:
    """The rows in these states, of these users where any are named; the newest first."""
    where = f"state IN ({', '.join('?' * len(states))})"
    if users:
        where += f" AND user IN ({', '.join('?' * len(users))})"
    sql = f"SELECT {_COLUMNS} FROM outbox WHERE {where} ORDER BY due_at DESC, cluster, run, kind LIMIT ?"
    return [_entry(row) for row in db.execute(sql, (*states, *users, limit))]


def counts(db: sqlite3.Connection) -> list[tuple[str, str, str, int, int, int]]:
    """(cluster, kind, state, letters, first due, last due)."""
    sql = (
        "SELECT cluster, kind, state, count(*), min(due_at), max(due_at) FROM outbox GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    return [tuple(row) for row in db.execute(sql)]


def last_letters(
    db: sqlite3.Connection, clusters: Sequence[str], since: int
) -> list[tuple[int | None, str | None, int]]:
    """(uid, job name, when) of the letters about jobs since then, the last of each."""
    sql = _LAST.format(clusters=", ".join("?" * len(clusters)))
    return [(row[0], row[1], row[2]) for row in db.execute(sql, (*clusters, since))]


def claim(db: sqlite3.Connection, entry: Entry, now: int) -> bool:
    """Make it claimed. False where it is no longer due."""
    return db.execute(_CLAIM, (now, *entry.key)).rowcount == 1


def sent(db: sqlite3.Connection, entry: Entry, now: int, said: str) -> None:
    """The mail server has it. Trap: to give up here would send it twice, so a busy trace is waited for."""
    for _ in range(_PATIENCE):
        with suppress(sqlite3.OperationalError):
            db.execute(_MOVE, ("sent", None, now, said, *entry.key, "claimed"))
            return
        time.sleep(1)
    db.execute(_MOVE, ("sent", None, now, said, *entry.key, "claimed"))


def later(db: sqlite3.Connection, entry: Entry, next_at: int, said: str) -> None:
    """Make it due again, not before `next_at`."""
    db.execute(_MOVE, ("due", next_at, None, said, *entry.key, "claimed"))


def refuse(db: sqlite3.Connection, entry: Entry, said: str) -> None:
    """Make it refused: no later try can succeed."""
    db.execute(_MOVE, ("refused", None, None, said, *entry.key, "claimed"))


def drop(db: sqlite3.Connection, entry: Entry, said: str) -> None:
    """Make it expired: it is no longer wanted."""
    db.execute(_MOVE, ("expired", None, None, said, *entry.key, "claimed"))


def recover(db: sqlite3.Connection) -> int:
    """Make due what a killed run had claimed; returns how many. The caller holds the lock of the outbox."""
    return db.execute("UPDATE outbox SET state = 'due', said = ? WHERE state = 'claimed'", (KILLED,)).rowcount


def expire(db: sqlite3.Connection, now: int, ends_before: int, weeks_before: int, why: str) -> int:
    """Expire letters about runs and weeks that ended too early, and letters with too many tries; returns how many.

    A letter that an operator sends again never expires by its age.
    """
    return db.execute(_EXPIRE, (why, MOST_TRIES, now - LONGEST, ends_before, weeks_before)).rowcount


def last_claim(db: sqlite3.Connection) -> int:
    """The last claim of any letter, epoch seconds; 0 for none."""
    return int(db.execute("SELECT coalesce(max(claimed_at), 0) FROM outbox").fetchone()[0])


def give_up(db: sqlite3.Connection, why: str) -> int:
    """Expire every letter that still waits; returns how many."""
    sql = "UPDATE outbox SET state = 'expired', said = ? WHERE state IN ('due', 'claimed')"
    return db.execute(sql, (why,)).rowcount


def again(db: sqlite3.Connection, entries: Iterable[Entry], now: int) -> int:
    """Make these due again as another copy, whatever their state; returns how many."""
    return sum(db.execute(_AGAIN, (now, now, *one.key)).rowcount for one in entries)
