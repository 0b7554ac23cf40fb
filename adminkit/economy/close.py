"""Closing a month: all entries of its bill in one transaction, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adminkit import actions
from adminkit.economy.bill import Bill, Due
from adminkit.economy.months import Calendar, following
from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.sqlite import sqlite3
from adminkit.stats.reach import lacking
from adminkit.trace import ledger
from adminkit.trace.actions import record_actions
from adminkit.trace.ledger import Entry, Head
from adminkit.trace.person import person_of
from adminkit.trace.transaction import transaction
from adminkit.units import show_short, show_time

#: What a close is called among acts.
WHAT = "charge close"


@dataclass(frozen=True, slots=True)
class Closed:
    """A month that is closed: where the chain ended then, and the act, for the log of the host."""

    month: str
    head: Head
    act: Mapping[str, Any]


def close(db: sqlite3.Connection, bill: Bill, now: int) -> Closed:
    """Write the bill and its end, and the act. AdminkitError where the ledger has grown since the bill was computed."""
    with transaction(db):
        if ledger.head(db) != bill.head:
            raise AdminkitError("the ledger has grown since the bill was computed", "run the same command again")
        head = ledger.append(db, _entries(db, bill, now))
        act = actions.act(WHAT, head.hash, bill.head.hash, {}, month=bill.month, entries=head.n)
        record_actions(db, [act])
    return Closed(bill.month, head, act)


def refuse_incomplete(db: sqlite3.Connection, month: str, calendar: Calendar, now: int) -> None:
    """AdminkitError where the trace does not have all of the month: its bill would lack jobs in silence."""
    until = calendar.begin(following(month))
    for one in lacking(db, calendar.begin(month), until, now):
        if one.until is None:
            what = f"the trace of {quote(one.cluster)} has no job that ended"
        elif one.until < until:
            what = f"the trace of {quote(one.cluster)} ends at {show_time(one.until)}, {month} at {show_time(until)}"
        else:
            what = f"{show_short(one.gap_seconds)} of {month} are missing from the trace of {quote(one.cluster)}"
        raise AdminkitError(
            f"{month} is not closed: {what}",
            "run adminkit sync, or import the rest, then close it; --incomplete closes it as it is, and what arrives"
            " later is charged with the next month",
        )


def _entries(db: sqlite3.Connection, bill: Bill, now: int) -> list[Entry]:
    digests = {
        scheme.text: ledger.keep_scheme(db, scheme.name, scheme.text, now)
        for scheme in (bill.scheme, *(due.scheme for due in bill.dues))
    }
    entries = [
        Entry(
            bill.month, due.kind, due.cluster, due.job_id_raw, due.submit_time, due.last_submit, due.runs, due.period,
            due.seconds, *_whose(db, due, now), due.amount, due.scheme.unit, digests[due.scheme.text], now,
        )
        for due in bill.dues
    ]  # fmt: skip
    seconds = sum(entry.seconds for entry in entries)
    end = Entry(
        bill.month, "close", None, None, None, None, len(entries), bill.month, seconds, None, None,
        f"{bill.total():f}", bill.scheme.unit, digests[bill.scheme.text], now,
    )  # fmt: skip
    return [*entries, end]


def _whose(db: sqlite3.Connection, due: Due, now: int) -> tuple[str, str | None]:
    """(person, account) of an entry. An account of the user's own name is that person too: a name in the chain could
    never be taken out of it.
    """
    person = due.person or person_of(db, due.cluster, due.user or "", now=now, uid=due.uid)
    return person, person if due.account is not None and due.account == due.user else due.account
