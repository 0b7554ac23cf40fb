"""adminkit findings."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.operators import FINDINGS, operators_only
from adminkit.render.sink import Way, emit
from adminkit.reports.answer import job_filter
from adminkit.reports.spec import ReportOptions
from adminkit.stats.select import check_words, clusters, span
from adminkit.stats.unsized import unsized
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import sees_others, whose
from adminkit.units import moment

#: How far back jobs are looked at where no --since says so, seconds.
USUAL = 7 * 86_400
#: How many findings of a kind people are shown where no --most says so.
MOST = 10


class Kind(StrEnum):
    """What a finding is about; findings/registry.KINDS."""

    OVER_ASKED = "over_asked"
    HABIT = "habit"
    DEFAULT_LIMIT = "default_limit"
    MAX_LIMIT = "max_limit"
    QUEUE_FIT = "queue_fit"
    WAITS = "waits"
    IMAGES = "images"
    BAD_NODE = "bad_node"
    BUNDLE = "bundle"
    IDLE_GPUS = "idle_gpus"
    IO_BOUND = "io_bound"
    MEMORY = "memory"
    FAILING = "failing"
    FLOOD = "flood"
    RUN_OVER = "run_over"
    MONTH = "month"
    OVERESTIMATE = "overestimate"
    ESTIMATE = "estimate"
    WEEK = "week"
    EFFECT = "effect"
    OUTBOX = "outbox"


class Least(StrEnum):
    """How much a finding matters; findings/finding.SEVERITIES."""

    GOOD = "good"
    INFO = "info"
    WARN = "warn"


Kinds = Annotated[list[Kind] | None, typer.Option("--kind", "-k", help="Only findings of this kind. Repeat for more.")]
Most = Annotated[
    int | None,
    typer.Option(
        "--most",
        min=0,
        metavar="N",
        help=f"How many findings of each kind to show; 0: all. Default: {MOST}, or all in JSON and CSV.",
    ),
]
Severity = Annotated[Least, typer.Option("--severity", help="Only findings of this severity or above.")]


def findings(
    db: options.Database = None,
    kind: Kinds = None,
    severity: Severity = Least.WARN,
    most: Most = None,
    queue: options.Queues = None,
    user: options.Users = None,
    cluster: options.Clusters = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """List what could be better, and what to do about it. Findings with the most hours at stake come first.

    Sends no letters and changes nothing. Covers the
    last seven days unless --since says otherwise. With --queue, shows only
    findings about queues.

    Example: adminkit findings --queue gq --since 30d
    """
    from adminkit.feedback.site_findings import QUEUES
    from adminkit.reports.findings import OPERATORS, Scope, findings_report, gather, jobs_of

    when, settings, way = moment(as_of, time.time()), config.load(), Way(format.value, output)
    path, kinds = find_trace(db, settings.db), [one.value for one in kind or Kind]
    asked = ReportOptions(user=user or (), cluster=cluster or (), since=since, until=until)
    filter = job_filter(asked, settings, when.now)
    end = when.now if filter.until is None else filter.until
    with reader(path, when.as_of) as trace:
        if kind and set(kinds) & set(OPERATORS):
            operators_only(path, FINDINGS)
        users = whose(user, path)
        named = ReportOptions(user=users, cluster=cluster or (), queue=queue or ())
        check_words(trace, job_filter(named, settings, when.now))
        if queue:
            kinds = [one for one in kinds if one in QUEUES]
        scope = Scope(
            since=end - USUAL if filter.since is None else filter.since, until=end, now=when.now, users=users,
            queues=queue or (), clusters=filter.clusters or clusters(trace), everybody=sees_others(path) and not users,
        )  # fmt: skip
        found = gather(trace, settings, scope, kinds)
        if most is None:
            most = 0 if format in (options.Format.JSON, options.Format.CSV) else MOST
        counted = unsized(trace, jobs_of(trace, settings, scope))
        made = findings_report(found, severity.value, scope, kinds, str(path), span(trace), most, counted)
    emit(made.dated(when.as_of), way)
