"""One user on one page, for operators and for the user: use, accounts, jobs, findings, charges, letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from adminkit.findings.finding import Finding
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.reports.charge import money
from adminkit.reports.my import Asked
from adminkit.stats.ledger import Line, sums
from adminkit.stats.one_user import InAccount, LetterTo, Use

#: Days of the periods, each up to now.
PERIODS: Final = (7, 30, 90, 365)
USE: Final = (
    Field("days", "count", "the period: the last N days"),
    Field("jobs", "count", "runs that ended in it"),
    Field("gpu_hours", "quantity", "GPU-hours of runs with GPUs, in equivalents"),
    Field("cpu_hours", "quantity", "CPU-hours of runs without GPUs"),
    Field("accuracy", "ratio", "mean of elapsed / limit, of the runs that reports count"),
    Field("unused_gpu_hours", "quantity", "GPU-hours that were reserved by limits and not used"),
    Field("completed", "count", "runs that ended COMPLETED"),
    Field("failed", "count", "runs that ended FAILED"),
    Field("lost", "count", "runs that ended at the limit, for lack of memory or because a node failed"),
    Field("lost_gpu_hours", "quantity", "the GPU-hours of these, lost unless the program saved its work"),
    Field("wait", "duration", "mean wait from being eligible to the start"),
    Field("unsized", "count", "runs whose GPUs are unknown: their hours are in no sum", quiet=True),
)
ACCOUNTS: Final = (
    Field("account", help="Slurm's account"),
    Field("jobs", "count", "runs that ended"),
    Field("gpu_hours", "quantity", "GPU-hours of runs with GPUs"),
    Field("cpu_hours", "quantity", "CPU-hours of runs without GPUs"),
)
FINDINGS: Final = (
    Field("kind", help="the kind of the finding"),
    Field("verdict", help="the outcome in one word"),
    Field("severity", help="good, info or warn"),
    Field("job_name", help="the job's name, if it is about one"),
    Field("advice", help="what would help"),
)
CHARGES: Final = (
    Field("month", help="the month of the bill"),
    Field("account", help="the account that was charged"),
    Field("jobs", "count", "jobs"),
    Field("amount", "amount", "what was charged"),
    Field("unit", help="the unit of the amount"),
)
LETTERS: Final = (
    Field("kind", help="the kind of letter"),
    Field("state", help="due, claimed, sent, refused or expired"),
    Field("due_at", "time", "when the letter became due"),
    Field("sent_at", "time", "when it was sent"),
    Field("attempts", "count", "how often adminkit tried to send it"),
)


@dataclass(frozen=True, slots=True)
class UserPage:
    """What the trace has about a user, besides what `adminkit my` shows."""

    use: Sequence[tuple[int, Use]]  # days, and the runs of these
    accounts: Sequence[InAccount]
    findings: Sequence[Finding]
    lines: Sequence[Line]
    letters: Sequence[LetterTo]


def sections(asked: Asked, page: UserPage, own: Mapping[str, Report]) -> dict[str, Report]:
    """The reports in their order; `own` has the sections of `adminkit my`."""
    days = round((asked.now - asked.since) / 86_400)
    who = quote(asked.owner.user)
    use = _report(asked, f"What {who} used on {asked.owner.cluster}", USE, [_use(*one) for one in page.use])
    accounts = _report(
        asked, f"By account, the last {plural(days, 'day')}", ACCOUNTS, [[*one] for one in page.accounts]
    )
    found = _report(asked, "What could be better", FINDINGS, [_finding(one) for one in page.findings])
    charges = _report(asked, "What was charged", CHARGES, _charges(page.lines))
    letters = _report(asked, "The last letters", LETTERS, [
        [one.kind, one.state, one.due_at, one.sent_at, one.attempts] for one in page.letters
    ])  # fmt: skip
    return {
        "use": _noted(use, f"from {asked.where}"),
        "accounts": _empty(accounts, "no run ended"),
        "findings": _empty(found, f"nothing in the last {plural(days, 'day')}"),
        **own,
        "charges": _empty(charges, "no closed month has a charge"),
        "letters": _empty(letters, "none"),
    }


def _use(days: int, one: Use) -> list[Cell]:
    return [
        days, one.jobs, one.gpu_hours, one.cpu_hours, one.accuracy, one.unused_gpu_hours, one.completed, one.failed,
        one.lost, one.lost_gpu_hours, one.wait, one.unsized,
    ]  # fmt: skip


def _finding(one: Finding) -> list[Cell]:
    return [one.kind, one.verdict, one.severity, one.subject.name, one.advice]


def _charges(lines: Sequence[Line]) -> list[list[Cell]]:
    rows: dict[tuple[str, str | None, str], tuple[int, Decimal]] = {}
    for (month, _, account, _, unit), one in sums(lines).items():
        jobs, amount = rows.get((month, account, unit), (0, Decimal(0)))
        rows[month, account, unit] = (jobs + len(one.jobs), amount + one.amount)
    return [[month, account, jobs, money(amount), unit] for (month, account, unit), (jobs, amount) in rows.items()]


def _report(asked: Asked, title: str, fields: Sequence[Field], rows: list[list[Cell]]) -> Report:
    meta = Meta(title, asked.where, (asked.since, asked.now), [asked.owner.cluster], {}, None, {}, ())
    return Report(meta, fields, rows)


def _noted(report: Report, note: str) -> Report:
    return replace(report, meta=replace(report.meta, notes=[*report.meta.notes, note]))


def _empty(report: Report, note: str) -> Report:
    return report if report.rows else _noted(report, note)
