"""Two schemes side by side, as a Report."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from adminkit.economy.compare import Compared, Payer
from adminkit.economy.schemes import Scheme
from adminkit.render.format import percent, plural
from adminkit.render.report import Bar, Bars, Cell, Field, Meta, Pictures, Report

Span = tuple[int | None, int | None]

FIELDS: Final = (
    Field("name", help="the account, user or queue"),
    Field("cluster", help="the cluster"),
    Field("jobs", "count", "jobs that ended in the window and that both schemes can charge"),
    Field("first", "amount", "what they cost under the first scheme"),
    Field("first_unit", help="the unit of this amount"),
    Field("second", "amount", "what they cost under the second scheme"),
    Field("second_unit", help="the unit of this amount"),
    Field("first_share", "share", "share of all that the first scheme charges"),
    Field("second_share", "share", "share of all that the second scheme charges"),
    Field(
        "change", "share", "how much more the second charges; for schemes in different units, the change of the shares"
    ),
)
#: A change within this counts as none.
_SAME: Final = 0.005
#: Name -> the smallest change for which it holds.
_STEPS: Final = (
    ("over 50 % less", -1.0),
    ("10 to 50 % less", -0.5),
    ("within 10 %", -0.1),
    ("10 to 50 % more", 0.1),
    ("over 50 % more", 0.5),
)


def compare_report(
    found: Compared, part: str, window: Span, span: Span, clusters: Sequence[str], database: str
) -> Report:
    """A row for each payer, the largest first. `span` is the trace's first and last end."""
    whole = found.income
    rows = [_row(one, found, whole) for one in found.payers]
    total = Payer("(all)", "", found.jobs, *whole)
    both = {"first": found.first, "second": found.second}
    filters = {name: f"{one.name}: {one.formula.text}" for name, one in both.items()}
    meta = Meta(
        "Two schemes on the same jobs", database, window, clusters or sorted({one.cluster for one in found.payers}),
        filters, found.jobs, {}, _notes(found), span, answers=_answers(found, part) if rows else [],
    )  # fmt: skip
    totals = [_row(total, found, whole)] if rows else []
    return Report(meta, FIELDS, rows, totals, _pictures(found, part))


def _row(one: Payer, found: Compared, whole: tuple[int, int]) -> list[Cell]:
    first, second = found.first, found.second
    return [
        one.name, one.cluster or None, one.jobs, first.written(one.first), first.unit, second.written(one.second),
        second.unit, one.first / whole[0] if whole[0] else None, one.second / whole[1] if whole[1] else None,
        found.change(one),
    ]  # fmt: skip


def _answers(found: Compared, part: str) -> list[str]:
    changes = [found.change(one) for one in found.payers]
    more = sum(change is not None and change > _SAME for change in changes)
    less = sum(change is not None and change < -_SAME for change in changes)
    said = f"under {found.second.name}, {more} of {plural(len(changes), part)} pay more than under {found.first.name},"
    said += f" {less} less"
    if found.first.unit != found.second.unit:
        said += ", each as a share of all: the units differ"
    first, second = found.income
    income = f"income: {_money(found.first, first)} under {found.first.name}, {_money(found.second, second)} under"
    income += f" {found.second.name}"
    if found.first.unit == found.second.unit and first:
        change = found.change(Payer(None, "", 0, first, second)) or 0
        income += f", {percent(abs(change))} {'more' if change >= 0 else 'less'}"
    return [said, income]


def _money(scheme: Scheme, smallest: int) -> str:
    return f"{Decimal(scheme.written(smallest)):,f} {scheme.unit}"


def _notes(found: Compared) -> list[str]:
    notes = [
        f"left out, as {name} cannot charge them: {plural(jobs, 'job')} because {reason}"
        for (name, reason), jobs in found.refused.most_common(5)
    ]
    if found.free:
        notes.append(f"{plural(found.free, 'job')} cost nothing under both")
    notes.append("these are past jobs: users who would pay more may ask for less, or submit differently")
    return notes


def _pictures(found: Compared, part: str) -> Pictures | None:
    changes = [change for one in found.payers if (change := found.change(one)) is not None]
    if not changes:
        return None
    counts = [0] * len(_STEPS)
    for change in changes:
        counts[max(place for place, (_, least) in enumerate(_STEPS) if change >= least)] += 1
    bars = [Bar(name, many, many / len(changes)) for (name, _), many in zip(_STEPS, counts, strict=True)]
    title = f"What {plural(len(changes), part)} would pay under {found.second.name}, compared with {found.first.name}"
    return Pictures(title, "", [Bars("How much more or less", plural(len(changes), part), bars)])
