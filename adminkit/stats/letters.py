"""What became of letters: how many of each kind were sent, which failed, which expired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3

_COUNTS: Final = """
SELECT kind, state, count(*), count(DISTINCT uid) FROM outbox
WHERE cluster = ? AND coalesce(sent_at, due_at) >= ? AND coalesce(sent_at, due_at) < ? AND kind <> 'operator'
GROUP BY kind, state ORDER BY kind, state
"""
_FAILURES: Final = """
SELECT said, count(*) FROM outbox
WHERE cluster = ? AND due_at < ? AND (state = 'refused' AND due_at >= ? OR state = 'due' AND attempts > 0)
    AND said IS NOT NULL
GROUP BY said ORDER BY count(*) DESC, said LIMIT ?
"""
_LATE: Final = """
SELECT job_name, job_id_raw, submit_time, is_array FROM outbox
WHERE cluster = ? AND uid = ? AND kind = 'end' AND state = 'expired' AND until >= ? AND until < ?
ORDER BY until, run LIMIT ?
"""
_STATES: Final = """
SELECT cluster, kind, CASE WHEN state IN ('due', 'claimed') THEN 'waiting' ELSE state END AS became, count(*)
FROM outbox GROUP BY cluster, kind, became ORDER BY cluster, kind, became
"""


class Sent(NamedTuple):
    """Letters of one kind in one state: due, claimed, sent, refused, expired."""

    kind: str
    state: str
    letters: int
    users: int


class Failure(NamedTuple):
    """Letters that did not leave, by the answer of the mail server or the reason of adminkit."""

    said: str
    letters: int


@dataclass(frozen=True, slots=True)
class Late:
    """A letter about a run, or an array, that expired."""

    job_name: str | None
    job_id_raw: int
    submit_time: int
    is_array: bool


def went_out(db: sqlite3.Connection, cluster: str, since: int, until: int) -> list[Sent]:
    """Letters to users by kind and state: those sent in [since, until), and unsent ones that were due in it."""
    return [Sent(*row) for row in db.execute(_COUNTS, (cluster, since, until))]


def failures(db: sqlite3.Connection, cluster: str, since: int, until: int, most: int = 5) -> list[Failure]:
    """Why letters were refused that were due in [since, until), and why any still wait; the most frequent reasons."""
    return [Failure(*row) for row in db.execute(_FAILURES, (cluster, until, since, most))]


def late(db: sqlite3.Connection, cluster: str, uid: int, since: int, until: int, most: int = 10) -> list[Late]:
    """Expired letters to a user about runs and arrays that ended in [since, until)."""
    rows = db.execute(_LATE, (cluster, uid, since, until, most))
    return [Late(name, number, submit, bool(is_array)) for name, number, submit, is_array in rows]


def outbox_states(db: sqlite3.Connection) -> list[tuple[str, str, str, int]]:
    """(cluster, kind, state, letters) of the whole outbox; the state is waiting, sent, refused or expired."""
    return [(row[0], row[1], row[2], row[3]) for row in db.execute(_STATES)]
