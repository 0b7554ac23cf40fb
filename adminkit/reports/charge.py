"""Charges as Reports: what a close would write, statements, what was verified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from adminkit.economy.bill import Bill
from adminkit.economy.verify import Check, shown
from adminkit.quote import quote
from adminkit.render.format import number, plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.stats.ledger import CloseOf, Group, Line, Sum, sums
from adminkit.units import show_time

FIELDS: Final = (
    Field("month", help="the month of the bill"),
    Field("cluster", help="the cluster"),
    Field("account", help="Slurm's account"),
    Field("user", help="whose jobs they were; unknown if the user was forgotten"),
    Field("jobs", "count", "jobs with an entry"),
    Field("hours", "hours", "how long they ran in the months that these entries are for"),
    Field("charge", "amount", "for what ran in the month"),
    Field(
        "late",
        "amount",
        "for jobs that ran in closed months, but were not known or had not ended when those months were closed",
        True,
    ),
    Field("correction", "amount", "for jobs whose rows changed after they were charged", True),
    Field("amount", "amount", "the sum of charge, late and correction"),
    Field("unit", help="what the amounts are in"),
)
ENTRY_FIELDS: Final = (
    Field("n", "count", "the entry's place in the ledger"),
    Field("month", help="the month of the bill"),
    Field("kind", help="charge, late or correction"),
    Field("period", help="the month in which the job ran"),
    Field("cluster", help="the cluster"),
    Field("job", help="sacct's JobIDRaw"),
    Field("submit_time", "time", "when the job was first submitted"),
    Field("account", help="Slurm's account"),
    Field("user", help="whose job it was; unknown if the user was forgotten"),
    Field("hours", "hours", "how long it ran in the period"),
    Field("amount", "amount", "what is owed, or given back"),
    Field("unit", help="the unit of the amount"),
    Field("at", "time", "when the entry was written"),
)
REFUSED_FIELDS: Final = (
    Field("reason", help="why no charge can be computed"),
    Field("jobs", "count", "jobs to which that applies"),
    Field("cluster", help="the cluster of the first of them"),
    Field("job", help="its JobIDRaw"),
)
VERIFY_FIELDS: Final = (
    Field(
        "check",
        help="chain, bills, schemes, heads: whether they are as written; amounts: whether the rows still yield them",
    ),
    Field("seen", "count", "how many entries, bills, schemes, heads or charged runs were checked"),
    Field("result", help="ok, wrong, or changed: a later row says otherwise, and the next close corrects it"),
    Field("detail", help="what is wrong, or what could not be checked"),
)
NOTHING_WRITTEN: Final = "nothing was written; adminkit charge close MONTH --apply writes it"


def bill_report(bill: Bill, database: str, notes: Sequence[str]) -> Report:
    """What closing a month would write, added up by account and user."""
    names = [
        Line(
            0, bill.month, due.kind, due.period, due.cluster, due.job_id_raw, due.submit_time, due.seconds,
            due.user, due.account, due.amount, due.scheme.unit, 0,
        )
        for due in bill.dues
    ]  # fmt: skip
    found = sums(names)
    jobs = {(due.cluster, due.job_id_raw, due.submit_time) for due in bill.dues}
    users = {(due.cluster, due.user) for due in bill.dues}
    answer = (
        f"the bill of {bill.month} comes to {bill.total():,f} {bill.scheme.unit}:"
        f" {plural(len(jobs), 'job')} of {plural(len(users), 'user')}"
    )
    filters = {"scheme": bill.scheme.name, "formula": bill.scheme.formula.text, "rounding": bill.scheme.rounding}
    meta = Meta(
        f"Charges of {bill.month}", database, _window(bill), sorted({due.cluster for due in bill.dues}), filters, None,
        {}, [*bill_notes(bill), *notes], answers=[answer],
    )  # fmt: skip
    return Report(meta, FIELDS, _rows(found), _totals(found))


def refused_report(bill: Bill, database: str, notes: Sequence[str]) -> Report:
    """Why jobs are not charged: a row for each reason, the most frequent first."""
    ordered = sorted(bill.refused.items(), key=lambda item: (-item[1].jobs, item[0]))
    rows: list[list[Cell]] = [[reason, one.jobs, one.cluster, str(one.job_id_raw)] for reason, one in ordered]
    meta = Meta(
        f"Jobs of {bill.month} without a charge", database, _window(bill), sorted({one.cluster for _, one in ordered}),
        {"scheme": bill.scheme.name, "formula": bill.scheme.formula.text}, None, {}, notes,
    )  # fmt: skip
    return Report(meta, REFUSED_FIELDS, rows)


def _window(bill: Bill) -> tuple[int, int]:
    return bill.scheme.calendar.begin(bill.month), bill.until


def bill_notes(bill: Bill) -> list[str]:
    """What a reader of a bill must know about the jobs that are not in it."""
    notes = []
    if not bill.head.n:
        notes.append(f"the ledger is empty: charging begins with {bill.month}; close the months in order")
    if bill.last_end is not None and bill.last_end < bill.until:
        notes.append(
            f"the trace ends at {show_time(bill.last_end)}, before the month does: a later bill will have what is"
            " missing"
        )
    if bill.refused:
        first = max(bill.refused.items(), key=lambda item: (item[1].jobs, item[0]))
        many = sum(one.jobs for one in bill.refused.values())
        notes.append(
            f"not chargeable: {plural(many, 'job')}, most often because {first[0]}; --not-chargeable lists the reasons"
        )
    if bill.running:
        notes.append(f"{plural(bill.running, 'job')} of the month had not ended: a later bill has the open run")
    if bill.free:
        notes.append(f"{plural(bill.free, 'job')} cost nothing: never ran, or ended in one of the scheme's free states")
    if bill.kept:
        notes.append(f"{plural(bill.kept, 'job')} could not be computed again, and keep what they were charged")
    return notes


def statement_report(
    lines: Iterable[Line], closes: Sequence[CloseOf], filters: Mapping[str, str], database: str, notes: Sequence[str]
) -> Report:
    """What was charged, added up by month, account and user."""
    found = sums(lines)
    meta = _meta("Statement of charges", closes, filters, database, notes, sorted({key[1] for key in found}))
    return Report(meta, FIELDS, _rows(found), _totals(found))


def entries_report(
    lines: Iterable[Line], closes: Sequence[CloseOf], filters: Mapping[str, str], database: str, notes: Sequence[str]
) -> Report:
    """Every entry."""
    rows: list[list[Cell]] = [
        [
            one.n, one.billed, one.kind, one.period, one.cluster, str(one.job_id_raw), one.submit_time, one.account,
            one.user, one.seconds / 3600, one.amount, one.unit, one.at,
        ]
        for one in lines
    ]  # fmt: skip
    meta = _meta("Entries of the ledger", closes, filters, database, notes, sorted({str(row[4]) for row in rows}))
    return Report(meta, ENTRY_FIELDS, rows)


def _meta(
    title: str,
    closes: Sequence[CloseOf],
    filters: Mapping[str, str],
    database: str,
    notes: Sequence[str],
    clusters: Sequence[str],
) -> Meta:
    said = [f"{one.month} was closed at {show_time(one.at)}; its last hash is {one.hash[:12]}" for one in closes]
    return Meta(title, database, (None, None), clusters, filters, None, {}, [*notes, *said])


def _rows(found: Mapping[Group, Sum]) -> list[list[Cell]]:
    return [
        [
            month, cluster, account, user, len(one.jobs), one.seconds / 3600, money(one.charge), _some(one.late),
            _some(one.correction), money(one.amount), unit,
        ]
        for (month, cluster, account, user, unit), one in found.items()
    ]  # fmt: skip


def _totals(found: Mapping[Group, Sum]) -> list[list[Cell]]:
    """A row for each unit: amounts of different ones are never added up."""
    totals: list[list[Cell]] = []
    for unit in sorted({key[-1] for key in found}):
        some = [one for key, one in found.items() if key[-1] == unit]
        parts = [[getattr(one, part) for one in some] for part in ("charge", "late", "correction", "amount")]
        charge, late, correction, amount = (sum(part, Decimal(0)) for part in parts)
        totals.append([
            "(all)", None, None, None, len(set().union(*(one.jobs for one in some))),
            sum(one.seconds for one in some) / 3600, money(charge), _some(late), _some(correction), money(amount), unit,
        ])  # fmt: skip
    return totals


def money(amount: Decimal) -> str:
    """The amount as the entries have it, never as 1E+3."""
    return f"{amount:f}"


def _some(amount: Decimal) -> str | None:
    return money(amount) if amount else None


def verify_report(checks: Sequence[Check], bill: Bill | None, runs: int, database: str) -> Report:
    """A row for each check. `bill` is that of the last closed month, computed again; `runs` are those of the ledger."""
    rows: list[list[Cell]] = [
        [one.name, one.seen, "wrong" if one.wrong else "ok", quote(shown(one.wrong), 300) if one.wrong else None]
        for one in checks
    ]
    notes = []
    if bill is None:
        wrong = any(one.wrong for one in checks)
        notes.append("no amount was computed again: the rest is wrong" if wrong else "no month is closed yet")
    else:
        new = len({(due.cluster, due.job_id_raw, due.last_submit) for due in bill.dues}) - bill.changed
        said = [f"{number(bill.changed)} with a different result now"] if bill.changed else []
        said += [f"{number(new)} that were not in the ledger"] if new > 0 else []
        gone = runs - bill.charged
        said += (
            [f"{number(gone)} cannot be computed again: their rows are gone, or no longer say enough"] if gone else []
        )
        rows.append(["amounts", bill.charged, "changed" if bill.dues else "ok", "; ".join(said) or None])
    meta = Meta("The ledger of charges, verified", database, (None, None), (), {}, None, {}, notes)
    return Report(meta, VERIFY_FIELDS, rows)
