"""adminkit recommend memory."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.own import Fresh, opened, readable_trace
from adminkit.cli.recommend import Backtest, Cluster, Cpus, Gpus, Name, Nodes, Queue, User
from adminkit.errors import UsageError
from adminkit.recommend.memory import RISK
from adminkit.recommend.memory import backtest as try_all
from adminkit.recommend.memory import memory as advise
from adminkit.recommend.menu import LEAST_RISK, MOST_RISK
from adminkit.recommend.predict import Rule
from adminkit.render.sink import Way, emit
from adminkit.reports.recommend import History
from adminkit.stats.peaks import Peaks
from adminkit.stats.runs import Kind
from adminkit.stats.select import Filter, check_words, clusters
from adminkit.stats.sources import by_source
from adminkit.units import moment

Risk = Annotated[
    float, typer.Option(help="The share of runs that may need more than the safe size.", min=LEAST_RISK, max=MOST_RISK)
]


def memory(
    user: User = None,
    name: Name = None,
    queue: Queue = None,
    nodes: Nodes = None,
    cpus: Cpus = None,
    gpus: Gpus = None,
    cluster: Cluster = None,
    backtest: Backtest = False,
    risk: Risk = RISK,
    as_of: options.AsOf = None,
    fresh: Fresh = False,
    db: options.Database = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Find a value for --mem for a user's next job. Uses the peaks of similar runs, and shows the risk that the
    memory is too small.

    If no trace can be read, asks sacct for your own jobs.

    Example: adminkit recommend memory --user alice --name train
    """
    from adminkit.reports.recommend_memory import advice_report, backtest_report

    when, settings, way = moment(as_of, time.time()), config.load(), Way(format.value, output)
    path, code = readable_trace(db, settings), settings.checkpoint.code
    kind = Kind(cluster, user, name, queue, nodes, cpus, gpus)
    if backtest and any(value is not None for value in kind[2:]):
        raise UsageError("--backtest tries every run", "leave out all but --user, --cluster and --risk")
    with opened(path, cluster, user, fresh, when.as_of) as (trace, user, database):
        if not backtest and user is None:
            raise UsageError("whose job is it?", "name the user with --user, or try every run with --backtest")
        kind = kind._replace(user=user)
        listed = [[] if word is None else [word] for word in (cluster, user, queue)]
        known = listed[1] if path is not None else []  # a user without jobs is still a user
        check_words(trace, Filter(listed[0], users=known, queues=listed[2], checkpoint_code=code))
        peaks = Peaks(trace, listed[1], listed[0], code)
        sources = by_source(trace, listed[1], listed[0])
        history = History(kind, Rule(risk=risk), database, clusters(trace), sources)
        if backtest:
            report = backtest_report(try_all(peaks.runs(), risk), history, peaks.unknown)
        else:
            report = advice_report(advise(peaks.runs(), kind, risk), history, risk, peaks.unknown)
    emit(report.dated(when.as_of), way)
