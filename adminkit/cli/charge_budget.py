"""adminkit charge budget."""

from __future__ import annotations

from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.charge import SchemesFile, load_file
from adminkit.cli.operators import CHARGES, operators_only
from adminkit.errors import AdminkitError
from adminkit.render.sink import Way, emit
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace


def budget(
    db: options.Database = None,
    schemes: SchemesFile = None,
    account: options.Accounts = None,
    slurm: Annotated[
        bool, typer.Option("--slurm/--no-slurm", help="Also ask slurmctld for Slurm's own budgets.")
    ] = True,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show how much of each account's budget is spent and left. Covers the ledger's budgets and Slurm's GrpTRESMins.

    Example: adminkit charge budget --account physics
    """
    from adminkit.economy.budgets import spent_of
    from adminkit.reports.charge_budget import budget_report
    from adminkit.slurm.tres_minutes import tres_minutes
    from adminkit.stats.select import snapshot

    path = find_trace(db, config.load().db)
    operators_only(path, CHARGES)
    file, wanted, notes = load_file(schemes), {one.lower() for one in account or ()}, []
    budgets = [one for one in file.budgets if not wanted or one.account in wanted]
    unit = file.named(None).unit
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
    emit(budget_report(found, held, unit, str(path), notes), Way(format.value, output))
