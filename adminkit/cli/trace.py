"""adminkit trace …"""

from __future__ import annotations

import time
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli.group import group
from adminkit.cli.operators import HISTORY, REJECTED, operators_only
from adminkit.cli.options import Database, Format, FormatOption, Output
from adminkit.render.say import put
from adminkit.trace import connect
from adminkit.trace.location import find_trace

app = group("Inspect and maintain the trace database.")

Limit = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Show N rows at most.")]


@app.command("status")
def status(db: Database = None, format: FormatOption = Format.TABLE, output: Output = None) -> None:
    """Show how far each cluster is synced. Shows windows, gaps, open runs and rejected rows.

    Example: adminkit trace status
    """
    from adminkit.render.sink import Way, emit
    from adminkit.reports.status import status_report
    from adminkit.stats import status as measured

    path = find_trace(db, config.load().db)
    with connect.reader(path) as trace:
        report = status_report(
            measured.passes(trace, int(time.time())), measured.rejected_sources(trace), measured.facts(trace), str(path)
        )
    emit(report, Way(format, output))


@app.command("rejected")
def rejected(
    db: Database = None, limit: Limit = 100, format: FormatOption = Format.TABLE, output: Output = None
) -> None:
    """List the rows that could not be read. Shows where they are, and why they could not be read.

    Example: adminkit trace rejected --format json
    """
    from adminkit.render.sink import Way, emit
    from adminkit.reports.status import rejected_report
    from adminkit.stats import status as measured

    path = find_trace(db, config.load().db)
    with connect.reader(path) as trace:
        operators_only(path, REJECTED)
        report = rejected_report(measured.rejected(trace, limit), str(path))
    emit(report, Way(format, output))


@app.command("history")
def history(
    db: Database = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="WHEN", help="Only what began at or after WHEN: 2026-01-31, 30d, epoch seconds."
        ),
    ] = None,
    limit: Limit = 100,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """List what was loaded, and what adminkit did. Covers sync, import and audit, and changes to rules, points and
    letters. The newest come first.

    Example: adminkit trace history
    """
    from adminkit.render.sink import Way, emit
    from adminkit.reports.history import history_report
    from adminkit.stats.history import events
    from adminkit.units import parse_when

    path = find_trace(db, config.load().db)
    first = None if since is None else parse_when(since, int(time.time()))
    with connect.reader(path) as trace:
        operators_only(path, HISTORY)
        report = history_report(events(trace, first or 0, limit), first, limit, str(path))
    emit(report, Way(format, output))


@app.command("upgrade")
def upgrade(db: Database = None) -> None:
    """Upgrade the trace to this release's schema.

    Example: adminkit trace upgrade --db trace.db
    """
    path = find_trace(db, config.load().db)
    before, after = connect.upgrade(path)
    put(f"{path}: schema {before}, now {after}" if before != after else f"{path}: schema {after}, nothing to do")
