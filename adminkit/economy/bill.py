"""The bill of a month: for each run, what it owes for the months up to this one, less what the ledger has of it.

Late rows, corrected rows and runs that ended after their month was closed need no rule of their own: all are such
differences. docs/adr/0016-charges-are-entries-of-a-chain.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from adminkit.economy.charges import NOTHING, Charge, Share, charge
from adminkit.economy.formula import NotChargeable
from adminkit.economy.months import following, preceding
from adminkit.economy.schemes import ChargeFile, Scheme, scheme_of
from adminkit.errors import AdminkitError
from adminkit.sqlite import sqlite3
from adminkit.stats.charged_jobs import Piece, WholeJob, how_many, whole_jobs
from adminkit.stats.ledger import closes
from adminkit.stats.select import span
from adminkit.trace import ledger
from adminkit.trace.ledger import Entry, Head
from adminkit.units import show_time

#: Called with what is done, the total and the jobs so far.
Tick = Callable[[float, float | None, int], None]
#: Jobs between two calls of a Tick.
_EVERY = 1000


class Due(NamedTuple):
    """An entry to be written; `person` is None where the ledger does not know the user yet."""

    kind: str
    cluster: str
    job_id_raw: int
    submit_time: int  # of the job's first run
    last_submit: int  # of this one
    runs: int  # up to this one
    period: str
    seconds: int
    user: str | None
    uid: int | None
    person: str | None
    account: str | None
    amount: str
    scheme: Scheme


@dataclass(frozen=True, slots=True)
class Refused:
    """Jobs without a charge for one reason, and the first of them."""

    jobs: int
    cluster: str
    job_id_raw: int


@dataclass(slots=True)
class Bill:
    """What closing `month` writes, on top of `head`. `jobs` were looked at; `free` ran for nothing, or not at all."""

    month: str
    scheme: Scheme
    head: Head
    until: int  # when the month is over, epoch seconds
    last_end: int | None  # of any job of the trace
    dues: list[Due] = field(default_factory=list)
    jobs: int = 0
    free: int = 0
    charged: int = 0  # runs that the ledger has, computed again
    changed: int = 0  # of these, with another result than the ledger's
    running: int = 0  # jobs with an open run that began before the month was over
    kept: int = 0  # jobs with a run that was charged before and is no longer chargeable: left as it is
    refused: dict[str, Refused] = field(default_factory=dict)

    def total(self) -> Decimal:
        """The sum of the entries in the scheme's own unit."""
        return sum((Decimal(due.amount) for due in self.dues if due.scheme.unit == self.scheme.unit), Decimal(0))


def next_month(db: sqlite3.Connection) -> str | None:
    """The only month that can be closed; None where the ledger is empty, and any can be the first."""
    done = [one.month for one in closes(db)]
    return following(done[-1]) if done else None


def default_month(db: sqlite3.Connection, scheme: Scheme, now: int) -> str:
    """The next month to close; of an empty ledger the last one in which a job ended and that is over."""
    wanted = next_month(db)
    if wanted is not None:
        return wanted
    _, last = span(db)
    this = scheme.calendar.of(now)
    month = this if last is None else min(scheme.calendar.of(last), this)
    return preceding(month) if month == this else month


def check_month(db: sqlite3.Connection, month: str, scheme: Scheme, now: int, *, preview: bool) -> None:
    """AdminkitError where the month is not over, or another one has to be closed before it.

    A preview is of any month that has begun, and that the ledger does not have or skip.
    """
    over = scheme.calendar.begin(following(month))
    if now < scheme.calendar.begin(month) or (now < over and not preview):
        raise AdminkitError(
            f"{month} is not over", f"it ends at {show_time(over)}; adminkit charge preview shows it as it stands"
        )
    wanted = next_month(db)
    if wanted is not None and month != wanted:
        raise AdminkitError(f"{month} is not the month to close", f"the next one is {wanted}: months close in order")


def bill(db: sqlite3.Connection, file: ChargeFile, month: str, tick: Tick = lambda *_: None) -> Bill:
    """What closing that month would write, of the rows that the trace has now. Read it in one snapshot."""
    scheme = file.named(None)
    done = [one.month for one in closes(db)]
    found = Bill(month, scheme, ledger.head(db), scheme.calendar.begin(following(month)), span(db)[1])
    first = min([*done, month])
    since = scheme.calendar.begin(first)
    whole = how_many(db, since)
    known = _kept(ledger.schemes(db))
    for number, job in enumerate(whole_jobs(db, file.clusters, since)):
        if number % _EVERY == 0:
            tick(number, whole, number)
        if any(run.is_over or _began(run, found.until) for run in job.pieces):
            _add(found, job, _charged(db, job, found.head), known, (first, month))
    _withdraw(db, found, known)
    found.dues.sort(key=lambda due: (due.cluster, due.job_id_raw, due.last_submit, due.period))
    return found


def _began(run: Piece, until: int) -> bool:
    return run.start_time is not None and run.start_time < until


def _kept(texts: Mapping[str, str]) -> Callable[[str], Scheme]:
    return cache(lambda digest: scheme_of(texts[digest]))


def _charged(db: sqlite3.Connection, job: WholeJob, head: Head) -> Mapping[int | None, list[Entry]]:
    """What the ledger has of runs of this number, by their submission."""
    found: dict[int | None, list[Entry]] = {}
    for entry in ledger.of_job(db, job.last.cluster, job.last.job_id_raw) if head.n else ():
        found.setdefault(entry.last_submit, []).append(entry)
    return found


def _add(
    found: Bill,
    job: WholeJob,
    charged: Mapping[int | None, Sequence[Entry]],
    known: Callable[[str], Scheme],
    span: tuple[str, str],
) -> None:
    """The entries of all runs of the job that are over, whether or not it is."""
    found.jobs += 1
    found.running += any(not run.is_over and _began(run, found.until) for run in job.pieces)
    reasons, free, kept = set[str](), job.ended, False
    for place, run in enumerate(job.pieces):
        before = charged.get(run.submit_time, ())
        scheme = known(before[0].scheme) if before else found.scheme
        if not run.is_over:
            continue
        try:
            owed = charge(job, place, scheme)
        except NotChargeable as reason:
            free = False
            if before:
                kept = True  # what it was charged
            else:
                reasons.add(str(reason))
            continue
        free &= not owed.shares
        dues = [*_differences((job, place), owed, before, scheme, span)]
        found.charged += bool(before)
        found.changed += bool(before and dues)
        found.dues += dues
    found.free += free
    found.kept += kept
    for text in reasons:
        _refuse(found, job, text)


def _refuse(found: Bill, job: WholeJob, reason: str) -> None:
    before = found.refused.get(reason)
    last = job.last
    found.refused[reason] = (
        replace(before, jobs=before.jobs + 1) if before else Refused(1, last.cluster, last.job_id_raw)
    )


def _differences(
    of: tuple[WholeJob, int], owed: Charge, charged: Sequence[Entry], scheme: Scheme, span: tuple[str, str]
) -> Iterator[Due]:
    (job, place), (first, month) = of, span
    run = job.pieces[place]
    person, account = (charged[0].person, charged[0].account) if charged else (None, run.account)
    if person is not None and account == person:
        account = run.user  # an account of the user's own name; close writes the id again
    key = (run.cluster, run.job_id_raw, job.first_submit, run.submit_time, place + 1)
    for share in _missing(owed, charged, scheme):
        if first <= share.month <= month and (share.amount or share.seconds):
            kind = "correction" if any(entry.period == share.month for entry in charged) else "charge"
            kind = "late" if kind == "charge" and share.month < month else kind
            yield Due(
                kind, *key, share.month, share.seconds, run.user, run.uid, person, account,
                scheme.written(share.amount), scheme,
            )  # fmt: skip


def _missing(owed: Charge, charged: Sequence[Entry], scheme: Scheme) -> list[Share]:
    """The shares of `owed` less what was charged, month by month."""
    amounts, seconds = Counter[str](), Counter[str]()
    for share in owed.shares:
        amounts[share.month] += share.amount
        seconds[share.month] += share.seconds
    for entry in charged:
        amounts[entry.period] -= int(Decimal(entry.amount).scaleb(scheme.digits))
        seconds[entry.period] -= entry.seconds
    return [Share(month, seconds[month], amounts[month]) for month in sorted({*amounts, *seconds})]


def _withdraw(db: sqlite3.Connection, found: Bill, known: Callable[[str], Scheme]) -> None:
    """Give back what runs were charged that an audit has taken out of the count."""
    for cluster, number, submit in ledger.withdrawn(db):
        charged = [entry for entry in ledger.of_job(db, cluster, number) if entry.last_submit == submit]
        last, scheme = charged[-1], known(charged[0].scheme)
        dues = [
            Due("correction", cluster, number, last.submit_time or 0, submit, last.runs, share.month,
                share.seconds, None, None, last.person, last.account, scheme.written(share.amount), scheme)
            for share in _missing(NOTHING, charged, scheme)
            if share.amount or share.seconds
        ]  # fmt: skip
        found.charged += 1
        found.changed += bool(dues)
        found.dues += dues
