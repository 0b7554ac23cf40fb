"""adminkit recommend memory."""

from __future__ import annotations

import time

from adminkit import config
from adminkit.cli import options
from adminkit.cli.own import Fresh, readable_trace
from adminkit.cli.recommend_options import (
    Backtest,
    Cluster,
    Cpus,
    Gpus,
    Name,
    Nodes,
    Queue,
    RiskOfSize,
    User,
    asked,
    freed_on,
)
from adminkit.recommend.freed import Held
from adminkit.recommend.memory import RISK, site_control
from adminkit.recommend.memory import backtest as try_all
from adminkit.recommend.memory import memory as advise
from adminkit.render.sink import Way, emit
from adminkit.stats.peaks import MIB, Peaks
from adminkit.stats.runs import Kind
from adminkit.units import moment


def memory(
    user: User = None,
    name: Name = None,
    queue: Queue = None,
    nodes: Nodes = None,
    cpus: Cpus = None,
    gpus: Gpus = None,
    cluster: Cluster = None,
    backtest: Backtest = False,
    risk: RiskOfSize = RISK,
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
    with asked(path, kind, backtest=backtest, fresh=fresh, as_of=when.as_of, code=code) as of:
        steered = None if backtest else site_control(of.trace, of.sites, risk, checkpoint_code=code).risk(*of.kind[:2])
        peaks, history = Peaks(of.trace, of.users, of.clusters, code), of.history(risk)
        if backtest:
            given = Held(MIB)
            tested = try_all(peaks.runs(), risk, given)
            report = backtest_report(tested, history, peaks.unknown, freed_on(of, when.now, "mem", given, code))
        else:
            report = advice_report(advise(peaks.runs(), of.kind, risk, steered), history, risk, peaks.unknown)
    emit(report.dated(when.as_of), way)
