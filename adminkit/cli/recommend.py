"""adminkit recommend …"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.cli.own import Fresh, opened, readable_trace
from adminkit.cli.policy_input import PolicyFile
from adminkit.errors import UsageError
from adminkit.recommend.advice import walltime as advise
from adminkit.recommend.backtest import backtest as try_all
from adminkit.recommend.control import trace_control
from adminkit.recommend.menu import LEAST_RISK, MOST_RISK
from adminkit.recommend.predict import Rule
from adminkit.render.sink import Way, emit
from adminkit.reports.recommend import History, advice_report, backtest_report
from adminkit.sqlite import sqlite3
from adminkit.stats.runs import Kind, queue_maximum, runs, untimed
from adminkit.stats.select import Filter, check_words, clusters
from adminkit.stats.sources import by_source
from adminkit.stats.staged import longest_copy
from adminkit.units import moment, parse_duration

app = group("Recommend what to ask Slurm for.")

User = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Whose job it is.")]
Name = Annotated[str | None, typer.Option("--name", "-J", metavar="NAME", help="The job's name.")]
Queue = Annotated[str | None, typer.Option("--queue", "--partition", "-p", metavar="NAME", help="The job's queue.")]
Cluster = Annotated[str | None, typer.Option("--cluster", "-M", metavar="NAME", help="Only this cluster.")]
Nodes = Annotated[int | None, typer.Option("--nodes", "-N", min=1, help="Nodes that the job asks for.")]
Cpus = Annotated[int | None, typer.Option("--cpus", min=1, help="CPUs that the job asks for, on all nodes.")]
Gpus = Annotated[int | None, typer.Option("--gpus", "-G", min=0, help="GPUs that the job asks for, on all nodes.")]
Limit = Annotated[
    str | None,
    typer.Option(
        "--time", "-t", metavar="TIME", help="The limit that the user would type: seconds, 15m, 1h30m, 02:00:00."
    ),
]
Risk = Annotated[
    float | None,
    typer.Option(
        help="The share of runs that may need more than the safe limit. Default: the risk in policy.toml.",
        min=LEAST_RISK,
        max=MOST_RISK,
        show_default=False,
    ),
]
Backtest = Annotated[
    bool,
    typer.Option(
        "--backtest", help="Test recommendations on all runs (of --user, if given), and show how good they are."
    ),
]


@app.command()
def walltime(
    user: User = None,
    name: Name = None,
    queue: Queue = None,
    nodes: Nodes = None,
    cpus: Cpus = None,
    gpus: Gpus = None,
    limit: Limit = None,
    cluster: Cluster = None,
    backtest: Backtest = False,
    risk: Risk = None,
    as_of: options.AsOf = None,
    policy: PolicyFile = None,
    fresh: Fresh = False,
    db: options.Database = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Find a time limit for a user's next job. Uses similar runs, and shows the risk that the limit is too short.

    If no trace can be read, asks sacct for your own jobs.

    Example: adminkit recommend walltime --user alice --name train
    """
    from adminkit.policy.load import load_offer

    when, settings, way = moment(as_of, time.time()), config.load(), Way(format.value, output)
    path = readable_trace(db, settings)
    site = load_offer(policy)
    offer = replace(site, risk=config.chosen(risk, site.risk))
    kind = Kind(cluster, user, name, queue, nodes, cpus, gpus, None if limit is None else parse_duration(limit))
    if backtest and any(value is not None for value in kind[2:]):
        raise UsageError("--backtest tries every run", "leave out all but --user, --cluster and --risk")
    with opened(path, cluster, user, fresh, when.as_of) as (trace, user, database):
        if not backtest and user is None:
            raise UsageError("whose job is it?", "name the user with --user, or try every run with --backtest")
        kind = kind._replace(user=user)
        code = settings.checkpoint.code
        known = _listed(user) if path is not None else []  # a user without jobs is still a user
        words = Filter(_listed(cluster), users=known, queues=_listed(queue), checkpoint_code=code)
        check_words(trace, words)
        found = runs(trace, _listed(kind.user), _listed(cluster), checkpoint_code=code)
        history = _history(trace, kind, Rule(risk=offer.risk), database, code)
        if backtest:
            report = backtest_report(try_all(found, offer), history)
        else:
            most = queue_maximum(trace, queue, cluster, when.now) if queue else None
            sites = _listed(cluster) or clusters(trace)
            steered = trace_control(trace, sites, offer.risk, checkpoint_code=code)
            copy = longest_copy(trace, kind) or 0
            report = advice_report(advise(found, kind, offer, most, steered.risk(cluster, user), copy), history)
    emit(report.dated(when.as_of), way)


def _history(trace: sqlite3.Connection, kind: Kind, rule: Rule, database: str, code: int) -> History:
    whose_runs = _listed(kind.user), _listed(kind.cluster)
    left_out = untimed(trace, *whose_runs, checkpoint_code=code)
    return History(kind, rule, database, clusters(trace), by_source(trace, *whose_runs), left_out)


def _listed(word: str | None) -> list[str]:
    return [] if word is None else [word]
