"""Whether the ledger is what was written: its chain, its bills, the heads that were recorded, the amounts."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from decimal import Decimal
from typing import Any, Final

from adminkit.economy.close import WHAT
from adminkit.errors import AdminkitError
from adminkit.render.format import plural
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


def check_chain(db: sqlite3.Connection) -> list[Check]:
    """Every hash, and every bill: its entries, their number and sum, and the scheme of each."""
    texts = ledger.schemes(db)
    chain, bills, schemes = Check("chain", 0, []), Check("bills", 0, []), Check("schemes", len(texts), [])
    last, number, billed, month = ZEROS, 0, list[Entry](), ""
    used = set[str]()
    for n, entry, previous, own in ledger.entries(db):
        number += 1
        if n != number or previous != last or own != hash_of((n, *astuple(entry), previous)):
            chain.wrong.append(f"entry {n} is not what was written, or not where it was")
        last = own
        used.add(entry.scheme)
        if entry.kind == "close":
            bills.wrong.extend(_bill_wrong(entry, billed, month))
            bills, billed, month = Check("bills", bills.seen + 1, bills.wrong), [], entry.billed
        else:
            billed.append(entry)
    if billed:
        bills.wrong.append(f"{plural(len(billed), 'entry', 'entries')} after the last close")
    for digest in sorted(used):
        text = texts.get(digest)
        if text is None or hashlib.sha256(text.encode()).hexdigest() != digest:
            schemes.wrong.append(f"the text of scheme {digest[:12]} is not what it was")
    return [Check("chain", number, chain.wrong), bills, schemes]


def _bill_wrong(close: Entry, billed: list[Entry], before: str) -> Iterator[str]:
    if close.billed <= before:
        yield f"{close.billed} was closed after {before}"
    if any(entry.billed != close.billed for entry in billed) or len(billed) != close.runs:
        yield f"{close.billed} has {plural(len(billed), 'entry', 'entries')}, its close says {close.runs}"
    total = sum((Decimal(one.amount) for one in billed if one.unit == close.unit), Decimal(0))
    if total != Decimal(close.amount):
        yield f"{close.billed} adds up to {total}, its close says {close.amount}"


def check_heads(db: sqlite3.Connection, acts: Iterable[Mapping[str, Any]], kept: Iterable[str]) -> Check:
    """Whether each close that is on record as an act, and each head that somebody kept, is in the chain."""
    closes = {own: n for n, entry, _, own in ledger.entries(db) if entry.kind == "close"}
    wrong, seen = list[str](), set[str]()
    for act in acts:
        found = act.get("generation")
        if act.get("what") != WHAT or not isinstance(found, str) or found in seen:
            continue
        seen.add(found)
        if found not in closes:
            when = show_time(int(act.get("at") or 0))
            wrong.append(f"the close of {act.get('month')}, recorded at {when}, is not in the ledger: {found[:12]}")
    for word in kept:
        seen.add(word)
        if not any(own.startswith(word.lower()) for own in closes):
            wrong.append(f"no close has the hash {word[:64]}")
    return Check("heads", len(seen), wrong)


def check_word(word: str) -> str:
    """A head as somebody typed it: 12 or more of its digits. AdminkitError for anything else."""
    if not 12 <= len(word) <= 64 or set(word.lower()) - set("0123456789abcdef"):
        raise AdminkitError(f"no hash: {word[:70]}", "type what `adminkit charge close` printed: 12 digits or more")
    return word


def shown(wrong: list[str]) -> str:
    """The first problems, and how many more there are."""
    more = len(wrong) - _NAMED
    return "; ".join(wrong[:_NAMED]) + (f"; {more} more" if more > 0 else "")
