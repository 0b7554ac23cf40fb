"""One user's use in periods that end now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.lost import UNSAVED
from adminkit.stats.own import Owner
from adminkit.trace.run_view import TOO_LONG

_OF: Final = "cluster = :cluster AND (uid = :uid OR uid IS NULL AND user = :user)"
_ENDED: Final = f"""
FROM run WHERE end_time >= :since AND end_time < :until AND +cluster = :cluster
    AND (uid = :uid OR uid IS NULL AND user = :user)
    AND start_time IS NOT NULL AND elapsed >= 0 AND elapsed < {TOO_LONG}
"""
#: Hours of runs with GPUs, and of CPUs for runs without; of runs whose size is unknown neither.
_USE: Final = f"""
SELECT count(*), total(size_gpus IS NULL), total(elapsed * size_gpus) / 3600.0,
    total(CASE WHEN size_gpus = 0 THEN elapsed * size_cpus END) / 3600.0,
    avg(CASE WHEN study_counted THEN 1.0 * elapsed / req_limit END),
    total(CASE WHEN req_limit > elapsed THEN (req_limit - elapsed) * size_gpus END) / 3600.0,
    total(state = 'COMPLETED'), total(state = 'FAILED'), total({UNSAVED}),
    total(CASE WHEN {UNSAVED} THEN elapsed * size_gpus END) / 3600.0, avg(max(wait, 0))
{_ENDED}
"""
_ACCOUNTS: Final = f"""
SELECT account, count(*), total(elapsed * size_gpus) / 3600.0,
    total(CASE WHEN size_gpus = 0 THEN elapsed * size_cpus END) / 3600.0
{_ENDED} GROUP BY account ORDER BY 3 DESC, 4 DESC, account
"""
_LETTERS: Final = f"""
SELECT kind, state, due_at, sent_at, attempts FROM outbox WHERE {_OF} ORDER BY due_at DESC LIMIT :most
"""
_UID: Final = "SELECT uid FROM run WHERE user = ? AND uid IS NOT NULL ORDER BY end_time DESC LIMIT 1"


class Use(NamedTuple):
    """The runs that ended in a period. Hours of GPUs (equivalents); of CPUs only for runs without GPUs; None where the
    GPUs of all of them are unknown.
    """

    jobs: int
    unsized: int  # their GPUs are unknown, and in none of the hours
    gpu_hours: float | None
    cpu_hours: float | None
    accuracy: float | None  # mean of elapsed / limit, of the runs that reports count
    unused_gpu_hours: float | None
    completed: int
    failed: int
    lost: int  # ended at the limit, for lack of memory, by a node; not warned in time
    lost_gpu_hours: float | None
    wait: float | None  # seconds, the mean


class InAccount(NamedTuple):
    """The same runs under one account."""

    account: str | None
    jobs: int
    gpu_hours: float
    cpu_hours: float


@dataclass(frozen=True, slots=True)
class LetterTo:
    """A letter to the user. Times are epoch seconds."""

    kind: str
    state: str
    due_at: int
    sent_at: int | None
    attempts: int


def use(db: sqlite3.Connection, owner: Owner, since: int, until: int) -> Use:
    """The runs that ended in [since, until)."""
    row = db.execute(_USE, _values(owner, since, until)).fetchone()
    whole = {1, 6, 7, 8}  # SQLite's total() is a float
    found = Use(*(int(value) if place in whole else value for place, value in enumerate(row)))
    if found.unsized and found.unsized == found.jobs:
        return found._replace(gpu_hours=None, cpu_hours=None, unused_gpu_hours=None, lost_gpu_hours=None)
    return found


def by_account(db: sqlite3.Connection, owner: Owner, since: int, until: int) -> list[InAccount]:
    """The same by account, the one with the most hours first."""
    return [InAccount(*row) for row in db.execute(_ACCOUNTS, _values(owner, since, until))]


def letters_to(db: sqlite3.Connection, owner: Owner, most: int) -> Sequence[LetterTo]:
    """The last letters to the user, the newest first."""
    return [LetterTo(*row) for row in db.execute(_LETTERS, {**_values(owner, 0, 0), "most": most})]


def uid_in_trace(db: sqlite3.Connection, user: str) -> int | None:
    """The uid of the user's last run that has one. The host may no longer know it."""
    row = db.execute(_UID, (user,)).fetchone()
    return None if row is None else int(row[0])


def _values(owner: Owner, since: int, until: int) -> dict[str, str | int]:
    return {"cluster": owner.cluster, "uid": owner.uid, "user": owner.user, "since": since, "until": until}
