"""The monthly letter about an account, to its owners: what its users used, asked for and lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from adminkit.config import Config
from adminkit.errors import AdminkitError
from adminkit.feedback import format
from adminkit.feedback.calendar import WEEK, last_month
from adminkit.feedback.charge_letters import Recipient, Undone
from adminkit.feedback.letter import GroupLetter
from adminkit.files import read_named
from adminkit.quote import quote
from adminkit.slurm.coordinators import every_coordinator
from adminkit.sqlite import sqlite3
from adminkit.stats.groups import Member, groups
from adminkit.stats.weeks import Reserved
from adminkit.users import NamesAway, uid_of

#: Users who are named in a letter, those with the most hours.
MOST: Final = 20
#: Bytes of the file of owners.
MOST_OWNERS: Final = 4 << 20
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """The runs of one user of the account in a month, or of all its users."""

    name: str  # empty: of all
    runs: int
    used: Reserved
    used_fraction: float | None  # elapsed / limit of the runs that reports count, all added up
    unused: Reserved
    lost: int
    lost_hours: Reserved


def due_groups(
    db: sqlite3.Connection, settings: Config, cluster: str, on: int, now: int, recipient: Recipient, tz: tzinfo | None
) -> Iterator[GroupLetter | Undone | str]:
    """A letter for each owner of each account with runs in the last month; why not, for the others.

    None about a month that began before `on`, nor later than a week after its end.
    """
    month = last_month(now, tz)
    if not settings.feedback.groups or month.since < on or now - month.until >= WEEK:
        return
    found = groups(db, cluster, month.since, month.until)
    if not found:
        return
    try:
        owners = read_owners(settings.feedback.group_owners)
    except AdminkitError as error:
        yield Undone(f"no letter about an account is sent: {error.message}")
        return
    known: Mapping[str, Sequence[str]] = {}
    if any(account not in owners for account in found):
        try:
            known, doubtful = every_coordinator()
            yield from (f"couldn't read who coordinates {quote(one)}: no letter about it" for one in doubtful)
        except AdminkitError as error:
            yield Undone(f"couldn't ask who coordinates accounts: {error.message}")
    for account in sorted(found):
        for name in owners.get(account) or known.get(account, ()):
            if set(found[account]) == {name}:
                continue  # the weekly letter has one's own
            try:
                uid = uid_of(name)
            except NamesAway as error:
                yield Undone(f"{error.message}; the letter about {quote(account)} waits")
                continue
            to = recipient(name, uid, account, "statement")
            if isinstance(to, str) or uid is None:
                yield to if isinstance(to, str) else "unknown"
                continue
            yield GroupLetter(
                cluster=cluster, user=name, uid=uid, language=to[0], address=to[1], week=month.name,
                since=month.since, until=month.until, about=f"{month.name}/account/{uid}/{account}",
            )  # fmt: skip


#: (cluster, since, until) -> account -> user -> runs.
Months = dict[tuple[str, int, int], Mapping[str, Mapping[str, Member]]]


def values(db: sqlite3.Connection, due: GroupLetter, known: Months, tz: tzinfo | None) -> dict[str, Any]:
    """The values of group.*.j2. `known` is filled: one read serves all accounts of a month."""
    before = last_month(due.since, tz)
    account = due.about.split("/", 3)[3]
    for since, until in ((due.since, due.until), (before.since, before.until)):
        if (due.cluster, since, until) not in known:
            known[due.cluster, since, until] = groups(db, due.cluster, since, until)
    members = known[due.cluster, due.since, due.until].get(account)
    if not members:
        raise AdminkitError(f"no run of the account {quote(account)} ended in {due.week}", "nothing to do")
    earlier = known[due.cluster, before.since, before.until].get(account, {})
    ordered = sorted(members.items(), key=lambda one: (-one[1].used.weight, one[0]))
    whole = _sum(members)
    return {
        "account": format.harmless(account), "month": due.week, "since": due.since, "last": due.until - _DAY // 2,
        "members": [_grouped(name, one) for name, one in ordered[:MOST]], "more": max(len(ordered) - MOST, 0),
        "users": len(ordered), "whole": _grouped("", whole), "unsized": whole.unsized,
        "before": _grouped("", _sum(earlier)) if earlier else None,
    }  # fmt: skip


def _sum(members: Mapping[str, Member]) -> Member:
    total = Member()
    for one in members.values():
        total = total.plus(one)
    return total


def _grouped(name: str, one: Member) -> Grouped:
    return Grouped(
        name=format.harmless(name) if name else "", runs=one.runs, used=one.used, used_fraction=one.used_fraction,
        unused=one.unused, lost=one.lost, lost_hours=one.lost_hours,
    )  # fmt: skip


def read_owners(path: Path | None) -> dict[str, tuple[str, ...]]:
    """The file of owners: lines of ACCOUNT USER…, comments after #. AdminkitError names the line of a mistake."""
    if path is None:
        return {}
    text = read_named(path, MOST_OWNERS, "correct [feedback] group_owners").decode("utf-8", "replace")
    owners: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        account, *users = line.partition("#")[0].replace(":", " ", 1).split() or [""]
        if not account:
            continue
        if not users or account.lower() in owners:
            why = "the account is named twice" if users else "not ACCOUNT USER…"
            raise AdminkitError(f"{path}, line {number}: {why}", "write it as: physics ada mei")
        owners[account.lower()] = tuple(dict.fromkeys(users))
    return owners
