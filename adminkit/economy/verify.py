"""Whether the ledger is what was written: its chain, its bills, the heads that were recorded, the amounts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from decimal import Decimal
from typing import Any, Final

from adminkit.economy.bill import Bill, Tick, bill
from adminkit.economy.charges import LATEST
from adminkit.economy.close import WHAT
from adminkit.economy.schemes import ChargeFile, scheme_of
from adminkit.errors import AdminkitError
from adminkit.render.format import plural
from adminkit.sqlite import sqlite3
from adminkit.stats.ledger import EXACT, acts, charged_runs, closes
from adminkit.trace import ledger
from adminkit.trace.ledger import ZEROS, Entry, hash_of
from adminkit.units import show_time

#: Problems of a kind that are named; the others are counted.
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how many of it, and what is wrong with it."""

    name: str
    seen: int
    wrong: list[str]


@dataclass(frozen=True, slots=True)
class Verified:
    """The checks; where they are right the last closed bill, computed again; how many runs were charged."""

    checks: list[Check]
    again: Bill | None
    runs: int


def verify(
    db: sqlite3.Connection,
    file: ChargeFile,
    log: Iterable[Mapping[str, Any]],
    kept: Iterable[str],
    tick: Tick = lambda *_: None,
) -> Verified:
    """Check the ledger, by the acts of the trace and of a host's log, and by hashes that somebody kept.

    Whoever may write the file may have put anything anywhere: whatever a value is, it is a finding and no exception.
    """
    db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    checks = [*check_chain(db), check_heads(db, [*acts(db, WHAT), *log], kept)]
    done = closes(db)
    if not done or any(one.wrong for one in checks):
        return Verified(checks, None, charged_runs(db))
    try:
        return Verified(checks, bill(db, file, done[-1].month, tick), charged_runs(db))
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        wrong = Check("amounts", 0, [f"a row of a job is not what adminkit writes: {error!r:.100}"])
        return Verified([*checks, wrong], None, charged_runs(db))


def check_chain(db: sqlite3.Connection) -> list[Check]:
    """Every hash, and every bill: its entries, their number and sum, and the scheme of each."""
    texts = ledger.schemes(db)
    chain, bills, schemes = Check("chain", 0, []), Check("bills", 0, []), Check("schemes", len(texts), [])
    last, number, billed, month = ZEROS, 0, list[Entry](), ""
    used = dict[str, None]()
    for n, entry, previous, own in ledger.entries(db):
        number += 1
        right = ledger.well_formed(entry)
        if not right or n != number or previous != last or own != hash_of((n, *astuple(entry), previous)):
            chain.wrong.append(f"entry {n!r:.40} is not what was written, or not where it was")
        last = own if isinstance(own, str) else ZEROS
        if not right:
            continue
        used[entry.scheme] = None
        if entry.kind == "close":
            bills.wrong.extend(_bill_wrong(entry, billed, month))
            bills, billed, month = Check("bills", bills.seen + 1, bills.wrong), [], entry.billed
        else:
            billed.append(entry)
    if billed:
        bills.wrong.append(f"{plural(len(billed), 'entry', 'entries')} after the last close")
    schemes.wrong.extend(f"the text of scheme {one[:12]} is not what it was" for one in used if not _kept(texts, one))
    return [Check("chain", number, chain.wrong), bills, schemes]


def _kept(texts: Mapping[str, Any], digest: str) -> bool:
    text = texts.get(digest)
    if not isinstance(text, str) or hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest() != digest:
        return False
    try:
        scheme_of(text)
    except AdminkitError:
        return False
    return True


def _bill_wrong(close: Entry, billed: list[Entry], before: str) -> Iterator[str]:
    if close.billed <= before:
        yield f"{close.billed} was closed after {before}"
    if any(entry.billed != close.billed for entry in billed) or len(billed) != close.runs:
        yield f"{close.billed} has {plural(len(billed), 'entry', 'entries')}, its close says {close.runs}"
    total = Decimal(0)
    for one in billed:
        if one.unit == close.unit:
            total = EXACT.add(total, Decimal(one.amount))
    if total != Decimal(close.amount):
        yield f"{close.billed} adds up to {total}, its close says {close.amount}"


def check_heads(db: sqlite3.Connection, acts: Iterable[Mapping[str, Any]], kept: Iterable[str]) -> Check:
    """Whether each close that is on record as an act, and each head that somebody kept, is in the chain."""
    closed = {own for _, entry, _, own in ledger.entries(db) if entry.kind == "close" and isinstance(own, str)}
    wrong, seen = list[str](), set[str]()
    for act in acts:
        found = act.get("generation")
        if act.get("what") != WHAT or not isinstance(found, str) or found in seen:
            continue
        seen.add(found)
        if found not in closed:
            month, when = act.get("month"), act.get("at")
            at = show_time(when) if isinstance(when, int) and 0 <= when < LATEST else "an unknown time"
            wrong.append(f"the close of {month!s:.20}, recorded at {at}, is not in the ledger: {found[:12]}")
    for word in kept:
        seen.add(word)
        if not any(own.startswith(word.lower()) for own in closed):
            wrong.append(f"no close has the hash {word[:64]}")
    return Check("heads", len(seen), wrong)


def check_word(word: str) -> str:
    """A head as somebody typed it: 12 or more of its digits. AdminkitError for anything else."""
    if not 12 <= len(word) <= 64 or set(word.lower()) - set("0123456789abcdef"):
        raise AdminkitError(f"not a hash: {word[:70]}", "type what `adminkit charge close` printed: 12 digits or more")
    return word


def shown(wrong: list[str]) -> str:
    """The first problems, and how many more there are."""
    more = len(wrong) - _NAMED
    return "; ".join(wrong[:_NAMED]) + (f"; {more} more" if more > 0 else "")
