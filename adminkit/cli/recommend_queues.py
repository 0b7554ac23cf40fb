"""adminkit recommend queues."""

from __future__ import annotations

import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.policy_input import PolicyFile
from adminkit.cli.recommend_options import RiskOfLimit
from adminkit.errors import UsageError
from adminkit.render.say import say
from adminkit.render.sink import Way, emit, write_aside
from adminkit.reports.answer import answer
from adminkit.reports.spec import ReportOptions
from adminkit.trace.location import find_trace
from adminkit.units import moment


class Part(StrEnum):
    """What a row is about."""

    QUEUE = "queue"
    MOVE = "move"


By = Annotated[
    Part, typer.Option("--by", help="A row for each queue, or for each other queue that a queue's jobs would fit.")
]
Rules = Annotated[
    Path | None,
    typer.Option(
        "--rules", metavar="FILE", help="Also write the advice to FILE as a policy.toml; nothing is installed."
    ),
]


def queues(
    db: options.Database = None,
    by: By = Part.QUEUE,
    rules: Rules = None,
    risk: RiskOfLimit = None,
    policy: PolicyFile = None,
    job_class: options.Classes = None,
    queue: options.Queues = None,
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
    """Find a maximum and a default limit for each queue. With --by move, counts the jobs that would fit
    another queue. Changes nothing.

    Example: adminkit recommend queues --since 90d
    """
    from adminkit.policy.load import load_offer
    from adminkit.reports.recommend_queues import SPEC, rules_text

    if rules and by is Part.MOVE:
        raise UsageError("--rules writes limits, and --by move has none", "leave out one of the two")
    way = Way(format.value, output, plot, picture)
    when, settings = moment(as_of, time.time()), config.load()
    site = load_offer(policy)
    offer = replace(site, risk=config.chosen(risk, site.risk))
    asked = ReportOptions(
        [one.value for one in job_class or ()], queue or (), (), account or (), cluster or (), since, until, states,
        min_elapsed, by=by.value, own={"offer": offer},
    )  # fmt: skip
    path = find_trace(db, settings.db)
    report = answer(SPEC, asked, path, settings, when.now, as_of=when.as_of, pictures=way.pictures)
    if rules:
        write_aside(rules, rules_text(report, offer).encode())
        say(f"wrote {rules}")
    emit(report, way)
