"""adminkit charge compare."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.charge import SchemesFile, load_file
from adminkit.cli.operators import CHARGES, operators_only
from adminkit.cli.progress import progress
from adminkit.render.sink import Way, emit
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace


class Part(StrEnum):
    """Who pays."""

    ACCOUNT = "account"
    USER = "user"
    QUEUE = "queue"


def compare(
    first: Annotated[
        str, typer.Argument(metavar="FIRST", help="The first scheme: a name in charge.toml.", show_default=False)
    ],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="The second scheme.", show_default=False)],
    db: options.Database = None,
    schemes: SchemesFile = None,
    by: Annotated[Part, typer.Option("--by", help="A row for each account, user or queue.")] = Part.ACCOUNT,
    cluster: options.Clusters = None,
    since: options.Since = None,
    until: options.Until = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
    plot: options.Plot = False,
    picture: options.Picture = None,
) -> None:
    """Charge past jobs under two schemes, and compare the
    results. Shows who would pay more, who would pay less, and the income.

    Example: adminkit charge compare flat estimate --by user
    """
    from adminkit.economy.compare import compare as measure
    from adminkit.reports.answer import job_filter
    from adminkit.reports.charge_compare import compare_report
    from adminkit.reports.spec import ReportOptions
    from adminkit.stats.select import check_words, snapshot, span

    way = Way(format.value, output, plot, picture)
    settings = config.load()
    path = find_trace(db, settings.db)
    operators_only(path, CHARGES)
    file = load_file(schemes)
    both = file.named(first), file.named(second)
    asked = ReportOptions(cluster=cluster or (), since=since, until=until)
    with reader(path) as trace, snapshot(trace):
        chosen = check_words(trace, job_filter(asked, settings, int(time.time())))
        window, ends = (chosen.since, chosen.until), span(trace)
        with progress("computing charges") as tick:
            found = measure(trace, both, chosen.clusters or file.clusters, window, by.value, tick)
    emit(compare_report(found, by.value, window, ends, chosen.clusters, str(path)), way)
