"""One letter of each kind, as a sample: whether or not letters are switched on, and whatever was sent before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Final

from adminkit.config import Config
from adminkit.feedback.calendar import last_week
from adminkit.feedback.letter import DigestLetter, JobLetter, OperatorLetter
from adminkit.feedback.letter_data import counted, worth_a_letter
from adminkit.feedback.plan import HABIT, Plan, PlannedLetter
from adminkit.feedback.prefs import is_address
from adminkit.findings.overestimate import Measure, check
from adminkit.stats import due
from adminkit.stats.select import clusters
from adminkit.stats.weeks import weeks

#: The domain of addresses where [feedback] domain is unset; reserved by RFC 2606.
DOMAIN: Final = "example.org"
_ABOUT: Final = "one letter of each kind, as it would read, whoever gets letters, whatever was sent before"


def sample(
    db: sqlite3.Connection, settings: Config, now: int, users: Sequence[str] = (), tz: tzinfo | None = None
) -> Plan:
    """The letter after the job of the last 30 days that left most unused, a digest of last week and the operators' one.

    Each is of the first cluster that has such a letter: of those in [feedback], else of the trace's. `users`: of these
    only.
    """
    letters: list[PlannedLetter] = []
    notes = [_ABOUT]
    where = settings.feedback.clusters or clusters(db)
    for kind, make, missing in (
        ("end", _end, "no job of the last 30 days causes one"),
        ("digest", _digest, "no user has a run that counts in last week"),
        ("operator", _operator, "the trace has no cluster"),
    ):
        one = next((one for cluster in where for one in make(db, settings, cluster, now, users, tz)), None)
        if one is None:
            notes.append(f"no {kind} letter: {missing}")
        else:
            letters.append(one)
    return Plan(tuple(letters), {}, tuple(notes))


def _end(
    db: sqlite3.Connection, settings: Config, cluster: str, now: int, users: Sequence[str], tz: tzinfo | None
) -> Iterator[PlannedLetter]:
    feedback = settings.feedback
    limits = worth_a_letter(settings)
    habits = due.habits(db, counted(settings, cluster, now - HABIT, now + 1))
    worth = [
        (run, finding)
        for run in due.ended(db, cluster, max(now - HABIT, 0), now, settings.checkpoint.code)
        if run.uid is not None and run.user and (not users or run.user in users)
        for finding in check(Measure(cluster, run, habits.get(run.uid)), limits)
    ]
    for run, finding in sorted(worth, key=lambda one: (-one[1].evidence["unused"], one[0].job_id_raw))[:1]:
        due_letter = JobLetter(
            cluster=cluster, user=str(run.user), uid=int(run.uid or 0), language=feedback.language,
            address=_address(settings, str(run.user)), job_id_raw=run.job_id_raw, submit_time=run.submit_time,
            until=run.until, is_array=bool(run.is_array), job_name=run.job_name,
        )  # fmt: skip
        yield PlannedLetter(due_letter, finding)


def _digest(
    db: sqlite3.Connection, settings: Config, cluster: str, now: int, users: Sequence[str], tz: tzinfo | None
) -> Iterator[PlannedLetter]:
    week = last_week(now, tz)
    filter = counted(settings, cluster, week.since, week.until, users)
    unused = {user: sum(one[-1].unused) for user, one in weeks(db, filter, 1, by_user=True).items()}
    active = sorted(due.active(db, filter), key=lambda one: (-unused.get(one[1], 0), one[0]))
    for uid, user, _ in active[:1]:
        yield PlannedLetter(
            DigestLetter(
                cluster=cluster, user=user, uid=uid, language=settings.feedback.language,
                address=_address(settings, user), week=week.name, since=week.since, until=week.until,
            )
        )  # fmt: skip


def _operator(
    db: sqlite3.Connection, settings: Config, cluster: str, now: int, users: Sequence[str], tz: tzinfo | None
) -> Iterator[PlannedLetter]:
    week = last_week(now, tz)
    to = ", ".join(settings.feedback.operators) or f"operators@{DOMAIN}"
    yield PlannedLetter(
        OperatorLetter(
            cluster=cluster, language=settings.feedback.language, address=to, week=week.name, since=week.since,
            until=week.until,
        )
    )  # fmt: skip


def _address(settings: Config, user: str) -> str:
    """user@domain; "user" for a name that makes no address."""
    address = f"{user}@{settings.feedback.domain or DOMAIN}"
    return address if is_address(address) else f"user@{DOMAIN}"
