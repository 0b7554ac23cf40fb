"""adminkit charge budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.charge import SchemesFile, load_file
from adminkit.cli.charge_limits import abandoned_notes, carry_out, how_notes
from adminkit.cli.operators import CHARGES, operators_only
from adminkit.errors import AdminkitError, UsageError
from adminkit.render.sink import Way, emit
from adminkit.trace.connect import reader, writer
from adminkit.trace.location import find_trace

if TYPE_CHECKING:
    from adminkit.economy.budgets import Budget
    from adminkit.economy.schemes import ChargeFile


def budget(
    db: options.Database = None,
    schemes: SchemesFile = None,
    account: options.Accounts = None,
    slurm: Annotated[
        bool, typer.Option("--slurm/--no-slurm", help="Also ask slurmctld for Slurm's own budgets.")
    ] = True,
    enforce: Annotated[
        bool, typer.Option("--enforce", help="Show the limits (GrpTRESMins) with which Slurm would hold the budgets.")
    ] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Show which of these limits would be taken away.")] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Set the limits in Slurm; with --revoke, take them away.")
    ] = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show how much of each account's budget is spent and left. Covers the ledger's budgets and Slurm's GrpTRESMins.
    With --apply, Slurm holds accounts to their budgets.

    Example: adminkit charge budget --account physics
    """
    path = find_trace(db, config.load().db)
    operators_only(path, CHARGES)
    file, wanted = load_file(schemes), {one.lower() for one in account or ()}
    budgets = [one for one in file.budgets if not wanted or one.account in wanted]
    way = Way(format.value, output)
    if enforce or revoke or apply:
        if enforce and revoke:
            raise UsageError("--enforce and --revoke are opposites", "leave out one of them")
        _in_slurm(path, file, budgets, wanted, way, revoke=revoke, act=apply)
        return
    _show(path, file, budgets, wanted, way, slurm=slurm)


def _show(path: Path, file: ChargeFile, budgets: Sequence[Budget], wanted: set[str], way: Way, *, slurm: bool) -> None:
    from adminkit.economy.budgets import spent_of
    from adminkit.reports.charge_budget import budget_report
    from adminkit.slurm.tres_minutes import tres_minutes
    from adminkit.stats.select import snapshot

    notes, unit = [], file.named(None).unit
    with reader(path) as trace, snapshot(trace):
        found = spent_of(trace, budgets, file.clusters, unit)
    if not budgets:
        notes.append(f"{file.path} has no budget {'of these accounts' if wanted else ''}".strip())
    held = []
    if slurm:
        try:
            held = [one for one in tres_minutes() if not wanted or one.account in wanted]
        except AdminkitError as error:
            notes.append(f"Slurm's own budgets are not known: {error.message}")
    emit(budget_report(found, held, unit, str(path), notes), way)


def _in_slurm(
    path: Path, file: ChargeFile, budgets: Sequence[Budget], wanted: set[str], way: Way, *, revoke: bool, act: bool
) -> None:
    """Put the budgets into Slurm, or show what that would do. Exit code 1 where something failed."""
    from adminkit.economy.enforce import abandoned, revocations, steps
    from adminkit.reports.charge_enforce import enforce_report
    from adminkit.stats.select import snapshot

    now = int(time.time())
    with reader(path) as trace, snapshot(trace):
        left = [one for one in abandoned(trace, file) if not wanted or one.account in wanted]
        found = [*budgets, *(left if revoke else ())]
        if not found:
            raise AdminkitError(f"{file.path} has no such budget", "write [[budgets]] for each account; docs/charge.md")
        todo = revocations(trace, file, found) if revoke else steps(trace, file, found, now)
    notes = [] if revoke else [*how_notes(todo), *abandoned_notes(left)]
    failed: list[str] = []
    if act:
        with writer(path) as trace:
            failed = carry_out(trace, todo, now)
    else:
        notes.append("nothing was changed; --apply does it")
    emit(enforce_report(todo, str(path), [*notes, *failed], done=act), way)
    if failed:
        raise typer.Exit(1)
