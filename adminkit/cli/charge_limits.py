"""Limits of budgets in Slurm: setting them, and keeping them in step with the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from adminkit import actions, config
from adminkit.errors import AdminkitError
from adminkit.quote import quote

if TYPE_CHECKING:
    from adminkit.economy.budgets import Budget
    from adminkit.economy.enforce import Step
    from adminkit.economy.schemes import ChargeFile
    from adminkit.sqlite import sqlite3


def carry_out(trace: sqlite3.Connection, todo: Sequence[Step], now: int) -> list[str]:
    """Set or take away the limits, and write it into the log of this host too. Returns what failed."""
    from adminkit.economy.enforce import apply as carry

    log = config.load().acts
    if any(one.acts for one in todo):
        actions.check(log)
    _, failed = carry(trace, todo, now, log=partial(actions.append, log))
    return failed


def how_notes(todo: Sequence[Step]) -> list[str]:
    """How Slurm counts, as far as it matters to a limit."""
    from adminkit.slurm.tres_minutes import counting

    counted, notes = counting(), []
    if not counted.held:
        notes.append(
            "Slurm does not enforce GrpTRESMins here: it needs AccountingStorageEnforce=limits and"
            " PriorityType=priority/multifactor"
        )
    elif not counted.safe:
        notes.append("without AccountingStorageEnforce=safe, Slurm ends running jobs when a limit is reached")
    if decays := sorted({one.decays for one in todo if one.decays}):
        notes.append(
            f"Slurm forgets usage ({'; '.join(decays)}), and so gives it back: set the limits again often, as each"
            " close does, or hold the budget at a QOS with NoDecay (`qos` in [[budgets]])"
        )
    return notes


def abandoned_notes(left: Sequence[Budget]) -> list[str]:
    """Limits that stay in Slurm although the file has no such budget any more."""
    return [
        f"the file has no budget of {quote(one.account)} any more, but its limit is still in Slurm; --revoke --apply"
        " takes it away"
        for one in left
    ]


def in_step(trace: sqlite3.Connection, file: ChargeFile, now: int) -> list[str]:
    """After a close, set the limits that are in force again. Returns what was done or failed, in sentences; the close
    stands whatever happens.
    """
    from adminkit.economy.enforce import abandoned, any_in_force, cluster_of, in_force, steps

    try:
        if not any_in_force(trace, file):
            return []
        cluster = cluster_of(trace, file)
        held = [one for one in file.budgets if in_force(trace, cluster, one.account) is not None]
        left = abandoned_notes(abandoned(trace, file))
        if not held:
            return left
        todo = steps(trace, file, held, now)
        failed = carry_out(trace, todo, now)
    except AdminkitError as error:
        return [f"the budgets in Slurm were not set again: {error.message}; adminkit charge budget --apply does it"]
    problems = [f"the budget of {one.budget.account} was not set again in Slurm: {one.problem}"
                for one in todo if one.problem]  # fmt: skip
    done = sum(not one.problem for one in todo) - len(failed)
    return [*([f"budgets in Slurm are in step: {done}"] if done else []), *problems, *failed, *left]
