"""What the runs of one job cost: what the ledger has of them, else what the scheme in force would charge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from adminkit.economy.charges import charge
from adminkit.economy.formula import NotChargeable
from adminkit.economy.schemes import Scheme
from adminkit.sqlite import sqlite3
from adminkit.stats.charged_jobs import whole_jobs_of
from adminkit.trace import ledger

#: The kind of a cost that no bill has yet.
ESTIMATE: Final = "estimate"


@dataclass(frozen=True, slots=True)
class Cost:
    """An entry of the ledger, or an estimate. `amount` None: the run cannot be charged, for the reason in `note`."""

    job_id_raw: int
    submit_time: int  # of the run
    kind: str  # charge, late, correction; ESTIMATE
    month: str | None  # in which the run ran; None of an estimate
    amount: str | None
    unit: str
    note: str = ""


def costs(db: sqlite3.Connection, runs: Iterable[tuple[str, int, int]], scheme: Scheme | None) -> list[Cost]:
    """The costs of these runs (cluster, job_id_raw, submit_time); without a `scheme` only what the ledger has."""
    wanted: dict[tuple[str, int], set[int]] = {}
    for cluster, number, submit in runs:
        wanted.setdefault((cluster, number), set()).add(submit)
    found: list[Cost] = []
    for (cluster, number), submits in wanted.items():
        billed = set[int]()
        for entry in ledger.of_job(db, cluster, number):
            if entry.last_submit in submits:
                billed.add(entry.last_submit)
                found.append(
                    Cost(number, entry.last_submit, entry.kind, entry.period, entry.amount, entry.unit)
                )  # fmt: skip
        if scheme is not None and submits - billed:
            found += _estimates(db, cluster, number, submits - billed, scheme)
    return sorted(found, key=lambda one: (one.submit_time, one.job_id_raw, one.month or "9"))


def _estimates(db: sqlite3.Connection, cluster: str, number: int, submits: set[int], scheme: Scheme) -> Iterable[Cost]:
    for job in whole_jobs_of(db, cluster, number):
        for place, run in enumerate(job.pieces):
            if run.submit_time not in submits or not run.is_over:
                continue
            try:
                amount: str | None = scheme.written(charge(job, place, scheme).amount)
                note = f"by the scheme {scheme.name}; no bill has it yet"
            except NotChargeable as reason:
                amount, note = None, f"not chargeable: {reason}"
            yield Cost(number, run.submit_time, ESTIMATE, None, amount, scheme.unit, note)
