"""What putting budgets into Slurm would do, or has done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.economy.enforce import Step
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.reports.charge import money

FIELDS: Final = (
    Field("account", help="the account of the budget"),
    Field("held_at", help="the account or the QOS that has the limit in Slurm"),
    Field("budget", "amount", "the budget, in the unit of the scheme; a dash: the file has none any more"),
    Field("tres", help="the TRES whose minutes the budget is"),
    Field("left", "count", "minutes of it that the closed months leave"),
    Field("unbilled", "count", "minutes that ran and are in no bill yet"),
    Field("used", "count", "minutes that slurmctld counts as used now"),
    Field("limit", "count", "GrpTRESMins as it is; unknown or none: a dash"),
    Field("new_limit", "count", "GrpTRESMins as it should be; a dash: no limit"),
    Field("returns", "count", "minutes that Slurm forgets within 30 days, and so gives back, unless it is set again"),
    Field("does", help="what is done, or why nothing is"),
)


def enforce_report(steps: Sequence[Step], database: str, notes: Sequence[str], *, done: bool) -> Report:
    """A row for each budget."""
    meta = Meta("Budgets in Slurm", database, (None, None), (), {}, None, {}, notes)
    return Report(meta, FIELDS, [_row(one, done) for one in steps])


def _row(one: Step, done: bool) -> list[Cell]:
    if one.problem:
        does = f"nothing: {one.problem}"
    elif not one.acts:
        does = "nothing: the limit is as it should be"
    elif one.ends:
        does = "took the limit away" if done else "takes the limit away"
    else:
        does = "set the limit" if done else "sets the limit"
    return [
        one.budget.account, one.target.name, money(one.budget.amount) if one.budget.amount else None, one.tres or None,
        one.left, one.unbilled,
        None if one.now is None else one.now.used, None if one.now is None else one.now.most,
        one.wanted if not one.problem else None, one.returns if one.left is not None else None, does,
    ]  # fmt: skip
