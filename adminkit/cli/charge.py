"""adminkit charge …"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adminkit import actions, config
from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.cli.operators import CHARGES, operators_only
from adminkit.cli.own_file import made_note, own_of
from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError
from adminkit.render.format import plural
from adminkit.render.sink import Way, emit
from adminkit.sqlite import sqlite3
from adminkit.trace.connect import reader, writer
from adminkit.trace.location import find_trace
from adminkit.trace.sight import own_name, whose

if TYPE_CHECKING:
    from adminkit.economy.bill import Bill
    from adminkit.economy.schemes import ChargeFile

app = group("Charge for jobs, month by month, in a ledger.")

SchemesFile = Annotated[
    Path | None,
    typer.Option(
        "--schemes",
        metavar="FILE",
        help="The file of schemes. Default: the setting `charge`, else /etc/adminkit/charge.toml, else the file that"
        " comes with adminkit.",
    ),
]
Refusals = Annotated[
    bool, typer.Option("--not-chargeable", help="Instead, show a row for each reason why jobs are not charged.")
]
Months = Annotated[
    list[str] | None,
    typer.Option("--month", metavar="MONTH", help="Only the bill of this month, such as 2026-01. Repeat for more."),
]


@app.command()
def preview(
    month: Annotated[
        str | None,
        typer.Argument(
            metavar="[MONTH]", help="A month, such as 2026-01. Default: the next month to close.", show_default=False
        ),
    ] = None,
    db: options.Database = None,
    schemes: SchemesFile = None,
    not_chargeable: Refusals = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show what closing a month would write. A month that is not over yet is shown as it is so far.

    Example: adminkit charge preview 2026-01
    """
    from adminkit.reports.charge import NOTHING_WRITTEN, bill_report, refused_report

    path, now = _operators(db), int(time.time())
    with _snapshot(path) as trace:
        found = _bill(trace, load_file(schemes), month, now, preview=True)
    show = refused_report if not_chargeable else bill_report
    emit(show(found, str(path), [NOTHING_WRITTEN]), Way(format.value, output))


@app.command()
def close(
    month: Annotated[
        str, typer.Argument(metavar="MONTH", help="A month that is over, such as 2026-01.", show_default=False)
    ],
    db: options.Database = None,
    schemes: SchemesFile = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the bill; a month that is closed stays as it is.")
    ] = False,
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Close the month even if the trace lacks part of it.")
    ] = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Close a month: write its bill into the ledger, once. Without --apply nothing is written.

    Example: adminkit charge close 2026-01 --apply
    """
    from adminkit.economy.close import close as write
    from adminkit.economy.close import refuse_incomplete
    from adminkit.economy.months import parse_month
    from adminkit.reports.charge import NOTHING_WRITTEN, bill_report
    from adminkit.stats.ledger import closes

    path, now, name = _operators(db), int(time.time()), parse_month(month)
    file = load_file(schemes)
    with _snapshot(path) as trace:
        done = next((one for one in closes(trace) if one.month == name), None)
        if done is not None:
            _show_closed(trace, name, path, Way(format.value, output))
            return
        found = _bill(trace, file, name, now, preview=False)
        if not incomplete:
            refuse_incomplete(trace, name, file.named(None).calendar, now)
    notes = [NOTHING_WRITTEN]
    if apply:
        from adminkit.cli.charge_limits import in_step

        with writer(path) as trace:
            closed = write(trace, found, now)
            limits = in_step(trace, file, now)
        head = closed.head
        said = f"{name} is closed: {plural(head.n, 'entry', 'entries')}; keep this hash elsewhere, too: {head.hash}"
        notes = [*_record(closed.act), *limits, said]
    emit(bill_report(found, str(path), notes), Way(format.value, output))


@app.command()
def statement(
    db: options.Database = None,
    month: Months = None,
    all_months: Annotated[bool, typer.Option("--all", help="Show every closed month, not only the last.")] = False,
    user: options.Users = None,
    account: options.Accounts = None,
    cluster: options.Clusters = None,
    entries: Annotated[bool, typer.Option("--entries", help="Show a row for each entry of the ledger.")] = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show what was charged. Users see only what they were charged themselves.

    Example: adminkit charge statement --month 2026-01
    """
    from adminkit.economy.months import parse_month
    from adminkit.reports.charge import entries_report, statement_report
    from adminkit.stats.ledger import closes, lines

    settings = config.load()
    path, clusters = find_trace(db, settings.db), settings.report.clusters(cluster or ())
    months = [parse_month(one) for one in month or ()]
    mine = own_of(db, settings, user or ())
    if mine is not None:
        users, done, every = [own_name()], mine.closes, mine.lines
    else:
        with _snapshot(path) as trace:
            users, done = whose(user, path), closes(trace)
            every = [*lines(trace, users=users, accounts=account or (), clusters=clusters)]
    if not months and not all_months:
        last = max((one.billed for one in every), default=None)
        months = [done[-1].month] if done else [last] if last else []
    found = [
        one
        for one in every
        if (not months or one.billed in months)
        and (mine is None or not account or one.account in account)
        and (mine is None or not clusters or one.cluster in clusters)
    ]
    closed = [one for one in done if not months or one.month in months]
    filters = {"month": months, "user": users, "account": account or [], "cluster": clusters}
    said = {name: ", ".join(words) for name, words in filters.items() if words}
    notes = [] if found else ["no entry of the ledger matches; adminkit charge close MONTH writes entries"]
    if mine is not None:
        notes.append(made_note(mine))
    show = entries_report if entries else statement_report
    emit(show(found, closed, said, str(path), notes), Way(format.value, output))


@app.command()
def verify(
    db: options.Database = None,
    schemes: SchemesFile = None,
    head: Annotated[
        list[str] | None,
        typer.Option(
            "--head", metavar="HASH", help="A hash that `close` printed and that the ledger must have. Repeat for more."
        ),
    ] = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Check the ledger's chain, bills and amounts. Exit code 1 if the ledger is not as it was written.

    Example: adminkit charge verify
    """
    from adminkit.economy.verify import check_word
    from adminkit.economy.verify import verify as check
    from adminkit.reports.charge import verify_report

    path = _operators(db)
    kept = [check_word(word) for word in head or ()]
    with _snapshot(path) as trace, progress("computing charges") as tick:
        found = check(trace, load_file(schemes), _log(), kept, tick)
    emit(verify_report(found.checks, found.again, found.runs, str(path)), Way(format.value, output))
    if any(one.wrong for one in found.checks):
        raise typer.Exit(1)


def _operators(db: Path | None) -> Path:
    path = find_trace(db, config.load().db)
    operators_only(path, CHARGES)
    return path


def load_file(named: Path | None) -> ChargeFile:
    """The file of schemes and budgets: the one that is named, else the config's."""
    from adminkit.economy.schemes import load_schemes

    return load_schemes(named or config.load().charge)


@contextmanager
def _snapshot(path: Path) -> Iterator[sqlite3.Connection]:
    from adminkit.stats.select import snapshot

    try:
        with reader(path) as trace, snapshot(trace):
            yield trace
    except UnicodeDecodeError as error:  # of a name in the schema, or of SQLite's message about it
        raise AdminkitError(
            f"couldn't read {path}: it is damaged", "restore a backup; --debug shows the details"
        ) from error


def _bill(trace: sqlite3.Connection, file: ChargeFile, month: str | None, now: int, *, preview: bool) -> Bill:
    """The bill of that month, else of the next one."""
    from adminkit.economy.bill import bill, check_month, default_month
    from adminkit.economy.months import parse_month

    scheme = file.named(None)
    name = default_month(trace, scheme, now) if month is None else parse_month(month)
    check_month(trace, name, scheme, now, preview=preview)
    with progress("computing charges") as tick:
        return bill(trace, file, name, tick)


def _show_closed(trace: sqlite3.Connection, month: str, path: Path, way: Way) -> None:
    from adminkit.reports.charge import statement_report
    from adminkit.stats.ledger import closes, lines

    done = [one for one in closes(trace) if one.month == month]
    note = f"{month} is closed already: nothing was done"
    emit(statement_report(lines(trace, months=[month]), done, {"month": month}, str(path), [note]), way)


def _record(act: Mapping[str, Any]) -> list[str]:
    """Write a close into the log of this host, too, which is root's. Returns a note where that failed: it is done."""
    try:
        actions.append(config.load().acts, act)
    except AdminkitError as error:
        return [f"this host's action log does not record it: {error.message}"]
    return []


def _log() -> list[dict[str, object]]:
    """The acts of this host, where this user may read them."""
    try:
        return actions.read(config.load().acts)
    except AdminkitError:
        return []
