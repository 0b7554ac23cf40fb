"""adminkit recommend …"""

from __future__ import annotations

import time
from dataclasses import replace

from adminkit import config
from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.cli.own import Fresh, readable_trace
from adminkit.cli.policy_input import PolicyFile
from adminkit.cli.recommend_options import (
    Backtest,
    Cluster,
    Cpus,
    Gpus,
    Limit,
    Name,
    Nodes,
    Queue,
    RiskOfLimit,
    User,
    asked,
)
from adminkit.recommend.advice import walltime as advise
from adminkit.recommend.backtest import backtest as try_all
from adminkit.recommend.control import trace_control
from adminkit.render.sink import Way, emit
from adminkit.reports.recommend import advice_report, backtest_report
from adminkit.stats.runs import Kind, queue_maximum, runs, untimed
from adminkit.stats.staged import longest_copy
from adminkit.units import moment, parse_duration

app = group("Recommend what to ask Slurm for.")


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
    risk: RiskOfLimit = None,
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
    path, code = readable_trace(db, settings), settings.checkpoint.code
    site = load_offer(policy)
    offer = replace(site, risk=config.chosen(risk, site.risk))
    kind = Kind(cluster, user, name, queue, nodes, cpus, gpus, None if limit is None else parse_duration(limit))
    with asked(path, kind, backtest=backtest, fresh=fresh, as_of=when.as_of, code=code) as of:
        found = runs(of.trace, of.users, of.clusters, checkpoint_code=code)
        history = of.history(offer.risk, untimed(of.trace, of.users, of.clusters, checkpoint_code=code))
        if backtest:
            report = backtest_report(try_all(found, offer), history)
        else:
            most = queue_maximum(of.trace, queue, cluster, when.now) if queue else None
            steered = trace_control(of.trace, of.sites, offer.risk, checkpoint_code=code).risk(*of.kind[:2])
            copy = longest_copy(of.trace, of.kind) or 0
            report = advice_report(advise(found, of.kind, offer, most, steered, copy), history)
    emit(report.dated(when.as_of), way)
