"""adminkit recommend cpus."""

from __future__ import annotations

import time

from adminkit import config
from adminkit.cli import options
from adminkit.cli.own import Fresh, readable_trace
from adminkit.cli.recommend_options import (
    Backtest,
    Cluster,
    Gpus,
    Name,
    Nodes,
    Queue,
    RiskOfSize,
    User,
    asked,
    freed_on,
)
from adminkit.recommend.cpus import RISK, site_control
from adminkit.recommend.cpus import backtest as try_all
from adminkit.recommend.cpus import cpus as advise
from adminkit.recommend.freed import Held
from adminkit.render.sink import Way, emit
from adminkit.stats.cpus_used import PARTS, CpusUsed
from adminkit.stats.runs import Kind
from adminkit.units import moment


def cpus(
    user: User = None,
    name: Name = None,
    queue: Queue = None,
    nodes: Nodes = None,
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
    """Find a number of CPUs for each GPU of a user's next job. Uses the CPUs that similar runs kept busy, and shows how
    often that number was too small.

    If no trace can be read, asks sacct for your own jobs.

    Example: adminkit recommend cpus --user alice --name train
    """
    from adminkit.reports.recommend_cpus import advice_report, backtest_report

    when, settings, way = moment(as_of, time.time()), config.load(), Way(format.value, output)
    path, code = readable_trace(db, settings), settings.checkpoint.code
    kind = Kind(cluster, user, name, queue, nodes, None, gpus)
    with asked(path, kind, backtest=backtest, fresh=fresh, as_of=when.as_of, code=code) as of:
        steered = None if backtest else site_control(of.trace, of.sites, risk, checkpoint_code=code).risk(*of.kind[:2])
        used, history = CpusUsed(of.trace, of.users, of.clusters, code), of.history(risk)
        if backtest:
            given = Held(1 / PARTS, by_gpus=True)
            tested = try_all(used.runs(), risk, given)
            report = backtest_report(tested, history, used.unknown, freed_on(of, when.now, "cpu", given, code))
        else:
            report = advice_report(advise(used.runs(), of.kind, risk, steered), history, risk, used.unknown)
    emit(report.dated(when.as_of), way)
