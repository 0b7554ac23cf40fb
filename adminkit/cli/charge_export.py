"""adminkit charge export: the ledger for programs that account for costs."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.charge import Months, SchemesFile, load_file
from adminkit.cli.operators import CHARGES, operators_only
from adminkit.errors import UsageError
from adminkit.quote import quote
from adminkit.render.sink import Way, emit
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace


def export(
    focus: Annotated[
        bool, typer.Option("--focus", help="Write FOCUS 1.3, the FinOps Open Cost and Usage Specification.")
    ] = False,
    db: options.Database = None,
    schemes: SchemesFile = None,
    month: Months = None,
    account: options.Accounts = None,
    cluster: options.Clusters = None,
    entries: Annotated[bool, typer.Option("--entries", help="Write a row for each entry of the ledger.")] = False,
    currency: Annotated[
        str | None,
        typer.Option("--currency", metavar="CODE", help="The currency, if the unit of the scheme is not one: JPY."),
    ] = None,
    price: Annotated[
        str | None, typer.Option("--price", metavar="N", help="What one unit of the scheme costs in that currency.")
    ] = None,
    provider: Annotated[
        str, typer.Option("--provider", metavar="NAME", help="The name of the site, as provider and issuer.")
    ] = "HPC",
    format: options.FormatOption = options.Format.CSV,
    output: options.Output = None,
) -> None:
    """Export what closed months charged, as CSV. FOCUS is the format of programs that account for costs.

    Example: adminkit charge export --focus --month 2026-01 -o focus.csv
    """
    from adminkit.economy.months import parse_month
    from adminkit.reports.charge_focus import currency as checked
    from adminkit.reports.charge_focus import focus_report
    from adminkit.stats.ledger import lines
    from adminkit.stats.select import snapshot

    if not focus:
        raise UsageError("name the format of the export", "--focus writes FOCUS 1.3")
    settings = config.load()
    path = find_trace(db, settings.db)
    operators_only(path, CHARGES)
    scheme = load_file(schemes).named(None)
    months = [parse_month(one) for one in month or ()]
    with reader(path) as trace, snapshot(trace):
        clusters = settings.report.clusters(cluster or ())
        found = [*lines(trace, months=months, accounts=account or (), clusters=clusters)]
    units = sorted({one.unit for one in found})
    if len(units) > 1:
        raise UsageError(f"the entries are in several units: {quote(', '.join(units))}", "choose months with --month")
    money = checked(units[0] if units else scheme.unit, currency, _number(price), provider)
    emit(focus_report(found, money, scheme.calendar, str(path), entries=entries), Way(format.value, output))


def _number(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        raise UsageError(f"not a number: {quote(text)}", "write it as --price 12.5") from None
