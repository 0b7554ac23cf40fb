"""A site with letters, for tests: settings, people, a trace that was synced, a transport that keeps what it gets."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adminkit.config import Config, Feedback
from adminkit.feedback.letter import Due, Letter, user_of
from adminkit.feedback.prefs import make_folder
from adminkit.feedback.recipients import People
from adminkit.feedback.send import Clock, Tools
from adminkit.job import Job
from adminkit.trace import ledger
from adminkit.trace.outbox import SWITCHED_ON
from adminkit.trace.person import person_of
from adminkit.trace.windows import JOBS, RecordedWindow, record, set_fact
from tests.support.builders import HOUR, MONDAY, job, ledger_entry, make_trace

DAY = 24 * HOUR
#: Wednesday, 12:00 UTC. Monday and Tuesday before it are no quiet days either.
NOW = MONDAY + 2 * DAY + 12 * HOUR
#: When a month was closed.
CLOSED = NOW - 2 * DAY
USERS = {1001: "ada", 1002: "bob", 1003: "cyd", 30: "svc"}

FEEDBACK = Feedback(clusters=("aaic",), domain="example.org", operators=("ops@example.org",), per_minute=6000.0)
SETTINGS = Config(feedback=FEEDBACK)


def settings(**changes: Any) -> Config:
    return Config(feedback=replace(FEEDBACK, **changes))


def ended(number: int = 1, ago: int = HOUR, **changes: Any) -> Job:
    """A run of ada's that ended so many seconds before NOW and is worth a letter: it used an hour of ten."""
    elapsed = changes.pop("elapsed", HOUR)
    start = NOW - ago - elapsed
    given = {"submit_time": start - 60, "start_time": start, "end_time": NOW - ago, "uid": 1001, "job_name": "train"}
    given |= {"source": "slurmdbd", "time_limit": 10 * HOUR, "elapsed": elapsed, "submitted_by": "sbatch"}
    return job(number, **{**given, **changes})


def people(chosen: Config = SETTINGS, addresses: dict[str, str] | None = None) -> People:
    return People(chosen.feedback, USERS.get, addresses or {})


def synced(path: Path, jobs: Iterable[Job] = (), on: int | None = NOW - 30 * DAY) -> Path:
    """A trace of these jobs, whose cluster was synced and, unless `on` is None, switched on then."""
    make_trace(path, jobs)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        record(db, "aaic", JOBS, RecordedWindow(MONDAY - 90 * DAY, NOW, False, NOW))
        if on is not None:
            set_fact(db, "aaic", SWITCHED_ON, str(on), on)
    return path


def close(db: sqlite3.Connection, month: str, charged: list[tuple[str, str, str]], at: int = CLOSED) -> None:
    """A month that was closed: (user, account, amount) of each job."""
    uids = {name: uid for uid, name in USERS.items()}
    people = [(person_of(db, "aaic", user, now=1, uid=uids.get(user)), *rest) for user, *rest in charged]
    entries = [ledger_entry(month, person, account=account, amount=amount, at=at) for person, account, amount in people]
    empty = dict.fromkeys(("cluster", "job_id_raw", "submit_time", "last_submit", "person", "account"))
    end = replace(ledger_entry(month, ""), kind="close", at=at, **empty)
    ledger.append(db, [*entries, end])


def folder(place: Path) -> Path:
    """An empty folder for users' choices."""
    make_folder(place / "prefs")
    return place / "prefs"


def opened(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(path, isolation_level=None))


def composing(db: sqlite3.Connection, settings: Config, now: int, dues: Sequence[Due]) -> Callable[[Due], Letter]:
    """Letters that say what they are about."""
    return lambda due: Letter(f"Job {due.run}", f"{user_of(due)}: {due.run}\n", f"<p>{due.run}</p>")


@dataclass
class Kept:
    """A transport that keeps every message; `fails` is raised instead, for as long as there are any left."""

    fails: list[Exception] = field(default_factory=list)
    messages: list[tuple[tuple[str, ...], bytes]] = field(default_factory=list)

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, sender: str, recipients: Sequence[str], message: bytes, key: str) -> str:
        if self.fails:
            raise self.fails.pop(0)
        self.messages.append((tuple(recipients), message))
        return "250 kept"


class Hand:
    """A clock that only moves when somebody sleeps or a test says so."""

    def __init__(self, at: float = NOW) -> None:
        self.at = at

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds

    @property
    def clock(self) -> Clock:
        return Clock(self.now, self.sleep)


def tools(place: Path, transport: Any, clock: Clock | None = None, chosen: Config = SETTINGS, **more: Any) -> Tools:
    """What a run works with; `place` holds users' choices."""
    made = Tools(composing, transport, people(chosen), place, clock or Hand().clock)
    return replace(made, **more)
