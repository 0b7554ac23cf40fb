"""Budgets as a Report: the ledger's money and Slurm's minutes, side by side and never added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.economy.budgets import Spent
from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.reports.charge import money
from adminkit.slurm.tres_minutes import TresMinutes

LEDGER, SLURM = "ledger", "Slurm"
#: At this share a budget is said to be near its end.
NEAR: Final = 0.8
FIELDS: Final = (
    Field("counted_by", help="ledger: what closed months charged; Slurm: what slurmctld counts now"),
    Field("of", help="the account; for Slurm's budgets, also one of its users, or a QOS"),
    Field("unit", help="the unit of the amounts: the scheme's unit, or minutes of a TRES"),
    Field("budget", "amount", "what may be spent"),
    Field("spent", "amount", "how much of it was spent"),
    Field("left", "amount", "what is left; below 0 if more was spent"),
    Field("share", "share", "share of the budget that is spent"),
    Field("until", help="the last month whose bill is counted; for Slurm's budgets: now"),
    Field(
        "note", help="the months that the budget is for; for Slurm's budgets, whether what is spent shrinks with time"
    ),
)


def budget_report(
    ledger: Sequence[Spent], slurm: Sequence[TresMinutes], unit: str, database: str, notes: Sequence[str]
) -> Report:
    """A row for each budget."""
    rows: list[list[Cell]] = [_of_ledger(one, unit) for one in ledger] + [_of_slurm(one) for one in slurm]
    said = [*notes]
    if slurm:
        said.append("Slurm counts by its own weights and may forget: its minutes are in none of the bills")
    over = sum(one.left < 0 for one in ledger)
    near = sum(one.left >= 0 and one.share >= NEAR for one in ledger)
    of = plural(len(ledger), "budget")
    answer = f"overspent: {over} of {of}; at least {NEAR:.0%} spent, but not overspent: {near}"
    answers = [answer.replace("%", " %")] if ledger else []
    return Report(Meta("Budgets", database, (None, None), (), {}, None, {}, said, answers=answers), FIELDS, rows)


def _of_ledger(one: Spent, unit: str) -> list[Cell]:
    note = one.budget.months
    if one.others:
        note += f"; charges in {', '.join(one.others)} are not counted"
    if one.last is None:
        return [LEDGER, one.budget.account, unit, money(one.budget.amount), None, None, None, None,
                f"{note}; none of its months is closed"]  # fmt: skip
    return [
        LEDGER, one.budget.account, unit, money(one.budget.amount), money(one.amount), money(one.left), one.share,
        one.last, note,
    ]  # fmt: skip


def _of_slurm(one: TresMinutes) -> list[Cell]:
    whose = f"QOS {one.qos}" if one.qos else f"{one.account}, user {one.user}" if one.user else one.account
    note = f"shrinks: {one.decays}" if one.decays else "does not shrink"
    if not one.held:
        note += "; Slurm does not enforce it"
    share = one.used / one.most if one.most else None
    return [
        SLURM,
        whose,
        f"{one.tres} minutes",
        str(one.most),
        str(one.used),
        str(one.most - one.used),
        share,
        "now",
        note,
    ]
