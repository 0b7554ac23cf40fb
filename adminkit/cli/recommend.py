"""adminkit recommend …"""

from __future__ import annotations

import os
import pwd
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.report import job_filter
from adminkit.errors import UsageError
from adminkit.report.sink import Way, emit
from adminkit.stats.select import check_words
from adminkit.trace.connect import reader
from adminkit.trace.place import find_trace
from adminkit.trace.rights import sees_others

app = typer.Typer(help="What to ask for.", no_args_is_help=True, rich_markup_mode=None)

User = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Whose job. Default: your own.")]
Name = Annotated[str | None, typer.Option("--name", "-J", metavar="NAME", help="The job's name.")]
Queue = Annotated[str | None, typer.Option("--queue", "--partition", "-p", metavar="NAME", help="Its queue.")]
Nodes = Annotated[int | None, typer.Option("--nodes", "-N", metavar="N", min=1, help="Its nodes.")]
Gpus = Annotated[int | None, typer.Option("--gpus", "-G", metavar="N", min=0, help="Its GPUs, all nodes together.")]
Cpus = Annotated[
    int | None,
    typer.Option("--cpus", "-n", metavar="N", min=1, help="Its CPUs in all; for jobs without GPUs."),
]
Limit = Annotated[
    str | None, typer.Option("--time", "-t", metavar="TIME", help="What it would ask for: seconds, 15m, 02:00:00.")
]
Whole = Annotated[bool, typer.Option("--backtest", help="How recommendations would have done on the whole trace.")]


@app.callback()
def root() -> None:
    """What to ask for."""


@app.command()
def walltime(
    user: User = None,
    name: Name = None,
    queue: Queue = None,
    nodes: Nodes = None,
    gpus: Gpus = None,
    cpus: Cpus = None,
    limit: Limit = None,
    backtest: Whole = False,
    db: options.Database = None,
    cluster: options.Clusters = None,
    since: options.Since = None,
    until: options.Until = None,
    states: options.States = None,
    min_elapsed: options.MinElapsed = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """A time limit for the next job, from how long jobs like it took, with the risk that it is too short."""
    from adminkit.recommend import replay, walltime
    from adminkit.recommend.groups import Features, size_of
    from adminkit.recommend.predict import Settings
    from adminkit.report.recommend import backtest_report, walltime_report
    from adminkit.stats.select import span
    from adminkit.stats.similar import ended
    from adminkit.units import parse_duration

    now, settings, way = int(time.time()), config.load(), Way(format.value, output)
    path = find_trace(db, settings.db)
    chosen = job_filter(now, settings.report, cluster, None, None, None, since, until, states, min_elapsed)
    with reader(path) as trace:
        if backtest:
            _operators_only(path)
            chosen = check_words(trace, replace(chosen, users=[user] if user else (), queues=[queue] if queue else ()))
            found = replay.backtest(ended(trace, chosen))
            report = backtest_report(found, Settings(), chosen, str(path), span(trace))
        else:
            chosen = check_words(trace, replace(chosen, users=[_allowed(user, path)]))
            asked = Features(
                chosen.users[0], name, queue, size_of(nodes, gpus, cpus), parse_duration(limit) if limit else None
            )
            report = walltime_report(walltime.walltime(trace, chosen, asked, now), chosen, str(path))
    emit(report, way)


def _operators_only(path: Path) -> None:
    if not sees_others(path):
        raise UsageError("everybody's runs are for the operators", "adminkit recommend walltime looks at your own")


def _allowed(user: str | None, path: Path) -> str:
    """Whose runs this caller may ask about: operators everybody's, others their own."""
    own = pwd.getpwuid(os.geteuid()).pw_name
    if user in (None, own) or sees_others(path):
        return user or own
    raise UsageError(f"the runs of {user} are for {user} and the operators", f"leave out --user, or say --user {own}")
