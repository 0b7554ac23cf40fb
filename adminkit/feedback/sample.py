"""One letter of each kind, as a sample: whether or not letters are switched on, and whatever was sent before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from itertools import islice
from typing import Final

from adminkit.config import Config
from adminkit.economy.budgets import spent_of
from adminkit.economy.schemes import load_schemes
from adminkit.feedback.calendar import last_month, last_week
from adminkit.feedback.charge_letters import due_statements
from adminkit.feedback.group_letters import read_owners
from adminkit.feedback.letter import BudgetLetter, DigestLetter, GroupLetter, OperatorLetter
from adminkit.feedback.letter_data import counted, lost_enough
from adminkit.feedback.loss_letter import is_lost, lost_runs
from adminkit.feedback.plan import HABIT, Plan, job_letter, stake
from adminkit.feedback.planned import PlannedLetter
from adminkit.feedback.prefs import is_address
from adminkit.sqlite import sqlite3
from adminkit.stats import due
from adminkit.stats.groups import groups
from adminkit.stats.ledger import closes
from adminkit.stats.lost import STATES
from adminkit.stats.select import clusters
from adminkit.stats.weeks import weeks

#: The domain of addresses where [feedback] domain is unset; reserved by RFC 2606.
DOMAIN: Final = "example.org"
_ABOUT: Final = "one letter of each kind, regardless of who gets letters and of what has been sent"


def sample(
    db: sqlite3.Connection, settings: Config, now: int, users: Sequence[str] = (), tz: tzinfo | None = None
) -> Plan:
    """The letter after the job of the last 30 days that left most unused, after those that lost most by each way of
    losing, a digest of last week and the operators' one; about the last month of the account with most users, if it
    has several; where a month was closed also a statement, and a letter about the budget of which most is spent.

    Each is of the first cluster that has such a letter: of those in [feedback], else of the trace's. `users`: of these
    only.
    """
    letters: list[PlannedLetter] = []
    notes = [_ABOUT]
    where = settings.feedback.clusters or clusters(db)
    ends = [_ends(db, settings, cluster, now, users) for cluster in where]
    for kind, found, missing in (
        ("end", [one[None] for one in ends if None in one], "no job of the last 30 days triggers one"),
        *(("end", [one[state] for one in ends if state in one], "") for state in STATES),
        ("digest", _each(where, _digest, db, settings, now, users, tz), "no user has a run that counts in last week"),
        ("operator", _each(where, _operator, db, settings, now, users, tz), "the trace has no cluster"),
        ("group", _each(where, _group, db, settings, now, users, tz), ""),
        ("statement", _each(where, _statement, db, settings, now, users, tz), ""),
        ("budget", _each(where[:1], _budget, db, settings, now, users, tz), ""),
    ):
        one = next(iter(found), None)
        if one is None and missing:
            notes.append(f"no {kind} letter: {missing}")
        elif one is not None:
            letters.append(one)
    return Plan(tuple(letters), {}, tuple(notes))


def _each(
    where: Sequence[str],
    make: Callable[..., Iterator[PlannedLetter]],
    db: sqlite3.Connection,
    settings: Config,
    now: int,
    users: Sequence[str],
    tz: tzinfo | None,
) -> Iterator[PlannedLetter]:
    """The letters of that kind, cluster by cluster."""
    for cluster in where:
        yield from make(db, settings, cluster, now, users, tz)


def _ends(
    db: sqlite3.Connection, settings: Config, cluster: str, now: int, users: Sequence[str]
) -> dict[str | None, PlannedLetter]:
    """The letter about the job that left most unused, under None; for each state of stats/lost.py, that lost most."""
    habits = due.habits(db, counted(settings, cluster, now - HABIT, now + 1))
    most: dict[str | None, tuple[float, int, PlannedLetter]] = {}
    for run in due.ended(db, cluster, max(now - HABIT, 0), now, settings.checkpoint.code):
        if run.uid is None or not run.user or (users and run.user not in users):
            continue
        why, at_stake = stake(cluster, run, habits, settings)
        if why is not None:
            continue
        state = _costliest(db, settings, cluster, run)
        to = (settings.feedback.language, _address(settings, run.user))
        letter = PlannedLetter(job_letter(cluster, run, run.user, run.uid, to))
        if state not in most or (-at_stake, run.job_id_raw) < most[state][:2]:
            most[state] = (-at_stake, run.job_id_raw, letter)
    return {state: letter for state, (_, _, letter) in most.items()}


def _costliest(db: sqlite3.Connection, settings: Config, cluster: str, run: due.Ended) -> str | None:
    """The state of the run that lost most; None where the letter is about what was left unused."""
    if not is_lost(run, lost_enough(settings)):
        return None
    found = lost_runs(db, cluster, run.job_id_raw, run.submit_time, run.until, is_array=bool(run.is_array))
    return found[0].state if found else None


def _digest(
    db: sqlite3.Connection, settings: Config, cluster: str, now: int, users: Sequence[str], tz: tzinfo | None
) -> Iterator[PlannedLetter]:
    week = last_week(now, tz)
    filter = counted(settings, cluster, week.since, week.until, users)
    unused = {user: one[-1].unused.weight for user, one in weeks(db, filter, 1, by_user=True).items()}
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


def _group(
    db: sqlite3.Connection, settings: Config, cluster: str, now: int, users: Sequence[str], tz: tzinfo | None
) -> Iterator[PlannedLetter]:
    """As to an owner of the account; where no file names one, as to its user with the most hours."""
    month = last_month(now, tz)
    found = [
        (-len(members), account, max(members, key=lambda name: (members[name].used.weight, name)))
        for account, members in groups(db, cluster, month.since, month.until).items()
        if len(members) > 1 and (not users or members.keys() & {*users})
    ]
    for _, account, first in sorted(found)[:1]:
        name = next(iter(read_owners(settings.feedback.group_owners).get(account, ())), first)
        yield PlannedLetter(
            GroupLetter(
                cluster=cluster, user=name, uid=0, language=settings.feedback.language,
                address=_address(settings, name), week=month.name, since=month.since, until=month.until,
                about=f"{month.name}/account/0/{account}",
            )
        )  # fmt: skip


def _statement(
    db: sqlite3.Connection, settings: Config, cluster: str, now: int, users: Sequence[str], tz: tzinfo | None
) -> Iterator[PlannedLetter]:
    """The statement of the user who was charged first in the last bill."""

    def recipient(user: str | None, uid: int | None, account: str | None, kind: str) -> tuple[str, str] | str:
        wanted = user is not None and uid is not None and (not users or user in users)
        return (settings.feedback.language, _address(settings, user or "")) if wanted else "unknown"

    for last in closes(db)[-1:]:
        found = (one for one in due_statements(db, cluster, last, recipient) if not isinstance(one, str))
        yield from (PlannedLetter(one) for one in islice(found, 1))


def _budget(
    db: sqlite3.Connection, settings: Config, cluster: str, now: int, users: Sequence[str], tz: tzinfo | None
) -> Iterator[PlannedLetter]:
    """The letter to the operators about the budget of which most is spent."""
    for last in closes(db)[-1:]:
        file = load_schemes(settings.charge)
        found = [one for one in spent_of(db, file.budgets, file.clusters, file.named(None).unit) if one.share]
        for one in sorted(found, key=lambda spent: -spent.share)[:1]:
            to = ", ".join(settings.feedback.operators) or f"operators@{DOMAIN}"
            about = f"{one.budget.since}/{round(one.share * 100)}/operators/{one.budget.account}"
            yield PlannedLetter(
                BudgetLetter(
                    cluster=cluster, user=None, uid=None, language=settings.feedback.language, address=to, about=about,
                    week=last.month, since=last.at, until=last.at,
                )
            )  # fmt: skip


def _address(settings: Config, user: str) -> str:
    """user@domain; "user" for a name that makes no address."""
    address = f"{user}@{settings.feedback.domain or DOMAIN}"
    return address if is_address(address) else f"user@{DOMAIN}"
