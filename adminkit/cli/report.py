"""adminkit report …"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.errors import UsageError
from adminkit.render.sink import Way, emit
from adminkit.stats.select import Filter, check_words, only_cluster
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import operators_only, whose
from adminkit.units import parse_duration, parse_when, show_time

Cluster = Annotated[
    str | None, typer.Option("--cluster", "-M", metavar="NAME", help="Which cluster, where the trace has several.")
]
Days = Annotated[int, typer.Option(min=7, help="Days before and after a letter that are compared.")]

app = typer.Typer(help="What the trace says.", no_args_is_help=True, rich_markup_mode=None)


class Part(StrEnum):
    """What `restarts` has one row for; stats/restarts.PARTS."""

    QUEUE = "queue"
    USER = "user"
    ACCOUNT = "account"
    CLASS = "class"
    ENDED = "ended"


@app.callback()
def root() -> None:
    """What the trace says."""


@app.command()
def accuracy(
    db: options.Database = None,
    job_class: options.Classes = None,
    queue: options.Queues = None,
    user: options.Users = None,
    account: options.Accounts = None,
    cluster: options.Clusters = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    states: options.States = None,
    min_elapsed: options.MinElapsed = None,
    limit_source: options.LimitSourceOption = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
    plot: options.Plot = False,
    picture: options.Picture = None,
) -> None:
    """How much of the time they asked for jobs use, per queue: elapsed / limit."""
    from adminkit.reports.accuracy import accuracy_report
    from adminkit.stats.accuracy import accuracy as measure

    when, settings, way = options.moment(as_of, time.time()), config.load(), Way(format.value, output, plot, picture)
    path = find_trace(db, settings.db)
    chosen = replace(
        job_filter(when.now, settings, cluster, queue, user, account, since, until, states, min_elapsed),
        classes=[one.value for one in job_class or ()],
        limit_source=limit_source.value if limit_source else None,
    )
    with reader(path, when.as_of) as trace:
        chosen = check_words(trace, replace(chosen, users=whose(user, path)))
        measured = measure(trace, chosen, when.now, curves=way.pictures)
    emit(accuracy_report(measured, chosen, str(path)).dated(when.as_of), way)


@app.command()
def parallelism(
    db: options.Database = None,
    queue: options.Queues = None,
    user: options.Users = None,
    account: options.Accounts = None,
    cluster: options.Clusters = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    states: options.States = None,
    min_elapsed: options.MinElapsed = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
    plot: options.Plot = False,
    picture: options.Picture = None,
) -> None:
    """How many jobs use one GPU, several, several nodes."""
    from adminkit.reports.parallelism import parallelism_report
    from adminkit.stats.parallelism import parallelism as measure

    when, settings, way = options.moment(as_of, time.time()), config.load(), Way(format.value, output, plot, picture)
    path = find_trace(db, settings.db)
    chosen = job_filter(when.now, settings, cluster, queue, user, account, since, until, states, min_elapsed)
    with reader(path, when.as_of) as trace:
        chosen = check_words(trace, replace(chosen, users=whose(user, path)))
        measured = measure(trace, chosen)
    emit(parallelism_report(measured, chosen, str(path)).dated(when.as_of), way)


@app.command()
def restarts(
    db: options.Database = None,
    job: Annotated[
        str | None, typer.Option("--job", "-j", metavar="ID", help="Every run of this job: 123, 123_4.")
    ] = None,
    by: Annotated[Part, typer.Option("--by", help="One row for each of these.")] = Part.QUEUE,
    job_class: options.Classes = None,
    queue: options.Queues = None,
    user: options.Users = None,
    account: options.Accounts = None,
    cluster: options.Clusters = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
    plot: options.Plot = False,
    picture: options.Picture = None,
) -> None:
    """Jobs that ran in several pieces: runs, time lost to restarts, signals heard and unheeded."""
    from adminkit.reports.restarts import pieces_report, restarts_report
    from adminkit.stats import restarts as stats

    when, settings, way = options.moment(as_of, time.time()), config.load(), Way(format.value, output, plot, picture)
    path = find_trace(db, settings.db)
    chosen = job_filter(when.now, settings, cluster, queue, user, account, since, until, "", "0")
    chosen = replace(chosen, classes=[one.value for one in job_class or ()], min_elapsed=-1)
    with reader(path, when.as_of) as trace:
        chosen = check_words(trace, replace(chosen, users=whose(user, path)))
        if job is not None:
            report = pieces_report(stats.pieces(trace, job, chosen.clusters), job, str(path))
        else:
            report = restarts_report(stats.restarts(trace, chosen, by.value), chosen, by.value, str(path))
    emit(report.dated(when.as_of), way)


@app.command()
def feedback(
    db: options.Database = None,
    cluster: Cluster = None,
    days: Days = 28,
    as_of: options.AsOf = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Whether letters work: accuracy and unused hours before and after a user's first letter."""
    from adminkit.feedback.holdout import is_held_out
    from adminkit.findings.effect import REPORT
    from adminkit.reports.feedback import feedback_report
    from adminkit.stats.effect import Design, effect

    when, settings, way = options.moment(as_of, time.time()), config.load(), Way(format.value, output)
    path, design = find_trace(db, settings.db), Design(days=days)
    with reader(path, when.as_of) as trace:
        operators_only(path, "what letters changed is for the operators", "adminkit report accuracy has your own jobs")
        chosen = _usual(settings, [only_cluster(trace, cluster)])
        found = effect(trace, chosen, when.now, design, is_held_out(settings.feedback), REPORT.others)
    emit(feedback_report(found, chosen, design, str(path)).dated(when.as_of), way)


def _usual(settings: config.Config, clusters: Sequence[str]) -> Filter:
    """What counts where nothing was typed."""
    usual, code = settings.report, settings.checkpoint.code
    return Filter(clusters, states=usual.states, min_elapsed=usual.min_elapsed, checkpoint_code=code)


def job_filter(
    now: int,
    settings: config.Config,
    clusters: list[str] | None,
    queues: list[str] | None,
    users: list[str] | None,
    accounts: list[str] | None,
    since: str | None,
    until: str | None,
    states: str | None = None,
    min_elapsed: str | None = None,
) -> Filter:
    """What was typed, else the settings, as a Filter; words are checked against the trace later."""
    start = None if since is None else parse_when(since, now)
    end = None if until is None else parse_when(until, now)
    if start is not None and end is not None and start >= end:
        raise UsageError(
            f"--until {until} is not after --since {since}", f"since is {show_time(start)}, until is {show_time(end)}"
        )
    return replace(
        _usual(settings, clusters or ()),
        queues=queues or (),
        users=users or (),
        accounts=accounts or (),
        since=start,
        until=end,
        states=settings.report.states if states is None else states.replace(",", " ").split(),
        min_elapsed=settings.report.min_elapsed if min_elapsed is None else parse_duration(min_elapsed),
    )
