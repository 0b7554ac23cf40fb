"""adminkit simulate scenarios."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.policy import PolicyFile
from adminkit.cli.progress import progress
from adminkit.render.sink import Way, emit
from adminkit.reports.answer import job_filter
from adminkit.reports.spec import ReportOptions
from adminkit.stats.replay import one_cluster
from adminkit.stats.select import check_words
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.private_copy import cache_home
from adminkit.trace.sight import operators_only

if TYPE_CHECKING:
    pass

OPERATORS: Final = (
    "a simulation is of everybody's jobs, and you may see your own only",
    "ask for the group of the trace's file",
)
File = Annotated[Path, typer.Argument(metavar="FILE", help="The scenarios; etc/scenarios.toml is an example.")]
Replicates = Annotated[int, typer.Option("--replicates", min=20, metavar="N", help="Replicates of each scenario.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="The seed of the first replicate.")]
Cores = Annotated[
    int | None, typer.Option("--cores", min=1, metavar="N", help="How many run at a time. Default: all cores.")
]
Keep = Annotated[
    Path | None,
    typer.Option("--keep", metavar="DIR", help="Where finished replicates are kept. Default: in your cache folder."),
]
Force = Annotated[bool, typer.Option("--force", help="Show numbers even where calibration gives no basis for them.")]


def scenarios(
    file: File,
    db: options.Database = None,
    cluster: options.OneCluster = None,
    model: Annotated[str, typer.Option("--model")] = "easy",
    procs: Annotated[int, typer.Option("--procs")] = 0,
    policy: PolicyFile = None,
    queue: options.Queues = None,
    since: options.Since = None,
    until: options.Until = None,
    replicates: Replicates = 20,
    seed: Seed = 1,
    cores: Cores = None,
    keep: Keep = None,
    force: Force = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
    picture: options.Picture = None,
) -> None:
    """Compare scenarios with today on the same jobs: who gains, who loses, by how much, and how sure that is."""
    from adminkit.policy.load import load_offer
    from adminkit.render.report import Meta
    from adminkit.reports.simulate_scenarios import Told, scenarios_report
    from adminkit.simulate.answer import Effort, answer
    from adminkit.simulate.change import Sources
    from adminkit.simulate.jobs import jobs_of, usual_limits
    from adminkit.simulate.machine import pool, request
    from adminkit.simulate.scenario import load_scenarios
    from adminkit.simulate.today import keys_of, today
    from adminkit.stats.workload import read_runs

    way, settings, now = Way(format.value, output, picture=picture), config.load(), int(time.time())
    wanted = load_scenarios(file)
    path = find_trace(db, settings.db)
    asked = ReportOptions(queue=queue or (), cluster=[cluster] if cluster else (), since=since, until=until)
    effort = Effort(replicates, seed, cores, keep or cache_home() / "simulate")
    with reader(path, None) as trace, progress("simulating") as tick:
        operators_only(path, *OPERATORS)
        filter = one_cluster(trace, check_words(trace, job_filter(asked, settings, now)))
        runs = read_runs(trace, filter)
        jobs = usual_limits(jobs_of(runs), {})
        case = today(jobs, request(model, jobs, pool(procs)), [])
        sources = Sources(
            case,
            file.parent,
            load_offer(policy),
            trace,
            filter.clusters[0],
            None,
            filter.checkpoint_code,
            keys_of(jobs),
        )
        found = answer(wanted, sources, effort, tick)
    meta = Meta(
        "What would happen",
        str(path),
        (filter.since, filter.until),
        filter.clusters,
        {},
        case.count,
        runs.excluded,
        jobs.notes,
        runs.span,
    )
    told = Told(meta, "calibration: not made", replicates)
    emit(scenarios_report(found.rows, found.summaries, told, found.window), way)
