"""What the ledger says: sums of its entries by month, account and user, and the entries themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any, Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.trace.person import names

#: Digits in which sums are exact: 10^18 entries of 10^18.
EXACT: Final = Context(prec=60)
_LINES: Final = """
SELECT n, billed, kind, period, cluster, job_id_raw, submit_time, seconds, person, account, amount, unit, at
FROM ledger WHERE {} ORDER BY n
"""
_CLOSES: Final = "SELECT billed, at, runs, amount, unit, n, hash FROM ledger WHERE kind = 'close' ORDER BY n"
_RUNS: Final = """
SELECT count(*) FROM (SELECT DISTINCT cluster, job_id_raw, last_submit FROM ledger WHERE job_id_raw IS NOT NULL)
"""
_ACTS: Final = "SELECT line FROM action WHERE what = ? ORDER BY at"


class Line(NamedTuple):
    """An entry that charges a job; no `user` is somebody who was forgotten."""

    n: int
    billed: str
    kind: str
    period: str
    cluster: str
    job_id_raw: int
    submit_time: int
    seconds: int
    user: str | None
    account: str | None
    amount: str
    unit: str
    at: int


class CloseOf(NamedTuple):
    """The end of a month's bill."""

    month: str
    at: int
    entries: int
    amount: str
    unit: str
    n: int
    hash: str


@dataclass(slots=True)
class Sum:
    """What several entries add up to."""

    jobs: set[tuple[str, int, int]] = field(default_factory=set)
    seconds: int = 0
    charge: Decimal = Decimal(0)
    late: Decimal = Decimal(0)
    correction: Decimal = Decimal(0)

    @property
    def amount(self) -> Decimal:
        return EXACT.add(EXACT.add(self.charge, self.late), self.correction)

    def add(self, line: Line) -> None:
        self.jobs.add((line.cluster, line.job_id_raw, line.submit_time))
        self.seconds += line.seconds
        amount = Decimal(line.amount)
        if line.kind == "charge":
            self.charge = EXACT.add(self.charge, amount)
        elif line.kind == "late":
            self.late = EXACT.add(self.late, amount)
        else:
            self.correction = EXACT.add(self.correction, amount)


def closes(db: sqlite3.Connection) -> list[CloseOf]:
    """The months that are closed, the oldest first."""
    return [CloseOf(*row) for row in db.execute(_CLOSES)]


def charged_runs(db: sqlite3.Connection) -> int:
    """How many runs the ledger has."""
    return int(db.execute(_RUNS).fetchone()[0])


def acts(db: sqlite3.Connection, what: str) -> Iterator[dict[str, Any]]:
    """The acts of that name on record in the trace; a line that is not an act is skipped."""
    for (line,) in db.execute(_ACTS, (what,)):
        try:
            act = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if isinstance(act, dict):
            yield act


def lines(
    db: sqlite3.Connection,
    *,
    months: Sequence[str] = (),
    users: Sequence[str] = (),
    accounts: Sequence[str] = (),
    clusters: Sequence[str] = (),
) -> Iterator[Line]:
    """The entries of these bills, users, accounts and clusters, all of them for none, in the order of the chain.

    Who is named is looked up before the ledger is read: it has random ids for users, and for accounts of their name.
    """
    known = names(db)
    ids: dict[str, list[str]] = {}
    for person, name in known.items():
        ids.setdefault(name, []).append(person)

    def of(named: Sequence[str]) -> list[str]:
        return [person for name in named for person in ids.get(name, ())]

    wanted = {
        "billed": (months, months),
        "cluster": (clusters, clusters),
        "person": (users, of(users)),
        "account": (accounts, [*(one for one in accounts if one not in known), *of(accounts)]),
    }
    rules, values = ["kind <> 'close'"], list[str]()
    for column, (asked, those) in wanted.items():
        if asked:
            rules.append(f"{column} IN ({', '.join('?' * len(those))})")
            values += those
    for line in map(Line._make, db.execute(_LINES.format(" AND ".join(rules)), values)):
        yield line._replace(user=known.get(line.user or ""), account=known.get(line.account or "", line.account))


def uids(db: sqlite3.Connection, cluster: str) -> dict[str, int]:
    """User -> uid, of the persons of that cluster whose uid is known."""
    return dict(db.execute("SELECT user, uid FROM person WHERE cluster = ? AND uid IS NOT NULL", (cluster,)).fetchall())


#: Month, cluster, account, user, unit.
Group = tuple[str, str, str | None, str | None, str]


def sums(of: Iterable[Line]) -> dict[Group, Sum]:
    """The entries added up by month, cluster, account, user and unit, in this order."""
    found: dict[Group, Sum] = {}
    for line in of:
        key = (line.billed, line.cluster, line.account, line.user, line.unit)
        found.setdefault(key, Sum()).add(line)
    return dict(sorted(found.items(), key=lambda item: tuple((one is None, one or "") for one in item[0])))
