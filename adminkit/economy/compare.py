"""Two schemes on the same jobs: what each account or user would pay by one and by the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.economy.charges import charge
from adminkit.economy.formula import NotChargeable
from adminkit.economy.schemes import Scheme
from adminkit.sqlite import sqlite3
from adminkit.stats.charged_jobs import Piece, WholeJob, how_many, whole_jobs

#: Called with what is done, the total and the jobs so far.
Tick = Callable[[float, float | None, int], None]
_EVERY: Final = 1000
#: What there may be a row for -> its name in a run.
PARTS: Final[dict[str, Callable[[Piece], str | None]]] = {
    "account": lambda run: run.account,
    "user": lambda run: run.user,
    "queue": lambda run: run.queue,
}


@dataclass(slots=True)
class Payer:
    """One account, user or queue: its jobs, and what they cost in the smallest unit of each scheme."""

    name: str | None
    cluster: str
    jobs: int = 0
    first: int = 0
    second: int = 0


@dataclass(slots=True)
class Compared:
    """Jobs that ended in the window and that both schemes can charge; `refused` counts others, by scheme and reason."""

    first: Scheme
    second: Scheme
    payers: list[Payer] = field(default_factory=list)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    jobs: int = 0
    free: int = 0  # that neither scheme charges

    @property
    def income(self) -> tuple[int, int]:
        return sum(one.first for one in self.payers), sum(one.second for one in self.payers)

    def change(self, payer: Payer) -> float | None:
        """How much more a payer pays, 0.1 for a tenth; in different units of the share of all."""
        before, after = float(payer.first), float(payer.second)
        if self.first.unit != self.second.unit:
            whole = self.income
            before, after = (before / whole[0] if whole[0] else 0), (after / whole[1] if whole[1] else 0)
        else:
            before, after = before / 10**self.first.digits, after / 10**self.second.digits
        return after / before - 1 if before else None


def compare(
    db: sqlite3.Connection,
    schemes: tuple[Scheme, Scheme],
    clusters: Sequence[str],
    window: tuple[int | None, int | None],
    part: str,
    tick: Tick = lambda *_: None,
) -> Compared:
    """What jobs that ended in [since, until) cost by both schemes, those who pay most by the first one first."""
    found = Compared(*schemes)
    payers: dict[tuple[str, str | None], Payer] = {}
    for job in _ended(db, clusters, window, tick):
        amounts = [*_amounts(job, schemes, found)]
        if len(amounts) < 2:
            continue
        found.jobs += 1
        found.free += not any(map(any, amounts))
        names = [PARTS[part](run) for run in job.pieces]
        for name in dict.fromkeys(names):
            payer = payers.setdefault((job.last.cluster, name), Payer(name, job.last.cluster))
            payer.jobs += 1
        for name, first, second in zip(names, *amounts, strict=True):
            payers[job.last.cluster, name].first += first
            payers[job.last.cluster, name].second += second
    found.payers = sorted(payers.values(), key=lambda one: (-one.first, -one.second, one.cluster, one.name or ""))
    return found


def _ended(
    db: sqlite3.Connection, clusters: Sequence[str], window: tuple[int | None, int | None], tick: Tick
) -> Iterator[WholeJob]:
    since, until = window
    whole = how_many(db, since or 0)
    for number, job in enumerate(whole_jobs(db, clusters, since or 0)):
        if number % _EVERY == 0:
            tick(number, whole, number)
        end = job.last.end_time
        if job.ended and end is not None and end >= (since or 0) and (until is None or end < until):
            yield job


def _amounts(job: WholeJob, schemes: Sequence[Scheme], found: Compared) -> Iterator[list[int]]:
    """What each run owes by each scheme; ends at the first scheme that cannot charge all of them."""
    for scheme in schemes:
        try:
            yield [charge(job, place, scheme).amount for place in range(len(job.pieces))]
        except NotChargeable as reason:
            found.refused[scheme.name, str(reason)] += 1
            return
