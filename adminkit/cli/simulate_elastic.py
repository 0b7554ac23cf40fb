"""adminkit simulate elastic."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.power import Gpu
from adminkit.cli.progress import progress
from adminkit.cli.simulate import OPERATORS
from adminkit.cli.simulate_scenarios import Cores, Replicates, Seed
from adminkit.errors import UsageError
from adminkit.quote import quote
from adminkit.render.report import Meta
from adminkit.render.sink import Way, emit
from adminkit.reports.answer import job_filter
from adminkit.reports.elastic import TITLE
from adminkit.reports.spec import ReportOptions
from adminkit.stats.select import only_cluster
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import operators_only
from adminkit.units import moment, parse_duration

if TYPE_CHECKING:
    from adminkit.simulate.elastic import Machine, Rules
    from adminkit.simulate.elastic_input import Curve, Key, Programs, Workload
    from adminkit.units import Moment


class Policy(StrEnum):
    """Who gets GPUs; simulate.elastic.POLICIES."""

    FIFO = "fifo"
    LAS = "las"
    SRTF = "srtf"
    ELASTIC = "elastic"


#: What --jobs says of the trace.
TRACE: Final = "trace"

Curves = Annotated[
    Path | None,
    typer.Option(
        "--curves",
        metavar="FILE",
        help="How fast programs run on 1, 2, 4 … GPUs, and their power, as"
        " CSV: model, gpus, batch, iterations_per_s, watts. Default: what"
        " `adminkit power import` stored in the trace.",
    ),
]
Jobs = Annotated[
    str,
    typer.Option("--jobs", metavar="FILE|trace", help="Jobs as CSV: submit, gpus, seconds, name, batch, high."),
]
Nodes = Annotated[
    list[str] | None,
    typer.Option(
        "--nodes", metavar="NxG", help="N nodes with G GPUs each, G a power of two. Default: 8x8. Repeat for more."
    ),
]
MapNames = Annotated[
    Path | None,
    typer.Option(
        "--map-names",
        metavar="FILE",
        help="Which jobs run which model, as CSV: name, model, batch; a name may contain * and ?.",
    ),
]
Policies = Annotated[list[Policy] | None, typer.Option("--policy", help="Only this policy and fifo. Repeat for more.")]
Budget = Annotated[
    float | None,
    typer.Option(
        "--energy-budget",
        min=0,
        metavar="KWH",
        help="The energy that the elastic policy may use. Default: what fifo uses.",
    ),
]
HighQos = Annotated[
    list[str] | None,
    typer.Option("--high-qos", metavar="NAME", help="Jobs of the trace in this QOS have high priority."),
]
Restart = Annotated[str, typer.Option("--restart", metavar="TIME", help="How much time a resize costs a job.")]
Hold = Annotated[str, typer.Option("--hold", metavar="TIME", help="Resize a job at most once in this time.")]
Idle = Annotated[
    float, typer.Option("--idle-watts", min=0, max=10_000, metavar="W", help="The power of an idle GPU, in watts.")
]
Sleep = Annotated[
    float,
    typer.Option(
        "--sleep-watts", min=0, max=10_000, metavar="W", help="The power of a GPU in a sleeping node, in watts."
    ),
]
SleepAfter = Annotated[
    str | None,
    typer.Option("--sleep-after", metavar="TIME", help="Nodes without a job sleep after TIME. Default: never."),
]


def elastic(
    curves: Curves = None,
    gpu: Gpu = None,
    jobs: Jobs = TRACE,
    nodes: Nodes = None,
    map_names: MapNames = None,
    policy: Policies = None,
    energy_budget: Budget = None,
    high_qos: HighQos = None,
    restart: Restart = "2m",
    hold: Hold = "1h",
    idle_watts: Idle = 55,
    sleep_watts: Sleep = 10,
    sleep_after: SleepAfter = None,
    replicates: Replicates = 20,
    seed: Seed = 1,
    cores: Cores = None,
    db: options.Database = None,
    cluster: options.OneCluster = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
    plot: options.Plot = False,
    picture: options.Picture = None,
) -> None:
    """Compare policies for jobs that shrink and grow. Shows completion times and energy, on the same jobs.

    Example: adminkit simulate elastic --curves curves.csv
    """
    from adminkit.reports.elastic import elastic_report
    from adminkit.simulate.elastic import POLICIES, answer, refuse_rigid
    from adminkit.simulate.elastic_input import Programs, read_curves, read_jobs, read_names

    way, when = Way(format.value, output, plot, picture), moment(as_of, time.time())
    machines = [machine_of(one) for one in dict.fromkeys(nodes or ["8x8"])]
    rules = rules_of(restart, hold, idle_watts, sleep_watts, sleep_after)
    known = of_power_curve(db, gpu, when) if curves is None else read_curves(curves)
    programs = Programs(known, read_names(map_names) if map_names else None)
    if jobs == TRACE:
        taken, meta = of_trace(db, programs, high_qos or [], cluster, since, until, when)
    else:
        taken, meta = read_jobs(Path(jobs), programs), Meta.plain(TITLE, [], filters={"jobs": jobs})
    meta = replace(meta, filters={**meta.filters, "curves": "the trace's" if curves is None else str(curves)})
    share = refuse_rigid(taken)
    chosen = [one for one in POLICIES if policy is None or one in policy]
    joules = None if energy_budget is None else energy_budget * 3.6e6
    with progress("simulating", "round") as tick:
        found = answer(
            taken, machines, rules, chosen, joules, replicates, seed, cores, lambda done, total: tick(done, total, done)
        )
    emit(elastic_report(found, taken, share, rules, replicates, meta).dated(when.as_of), way)


def machine_of(text: str) -> Machine:
    """8x8: nodes and the GPUs of each. UsageError for another text."""
    from adminkit.simulate.elastic import Machine

    match = re.fullmatch(r"([1-9][0-9]{0,5})x(1|2|4|8|16|32|64)", text, re.ASCII)
    if match is None:
        raise UsageError(f"no such machine: {quote(text)}", "8x4 is 8 nodes of 4 GPUs: 1, 2, 4 … 64 of them")
    return Machine(int(match[1]), int(match[2]))


def rules_of(restart: str, hold: str, idle: float, sleep: float, after: str | None) -> Rules:
    """UsageError where a job could do nothing but restart."""
    from adminkit.simulate.elastic import Rules

    cost, least, asleep = (
        parse_duration(restart),
        parse_duration(hold),
        None if after is None else parse_duration(after),
    )
    if cost >= least or least > 2**31 - 1:
        raise UsageError("--hold must be longer than --restart, and no more than 68 years", "--restart 2m --hold 1h")
    return Rules(cost, least, idle_watts=idle, sleep_watts=sleep, sleep_after=asleep)


def of_power_curve(db: Path | None, gpu: str | None, when: Moment) -> dict[Key, Curve]:
    """The curves of the trace, of that kind of GPU."""
    from adminkit.simulate.elastic_input import measured_curves
    from adminkit.stats.power_curve import curves

    with reader(find_trace(db, config.load().db), when.as_of) as trace:
        return measured_curves(curves(trace, gpu=gpu))


def of_trace(
    db: Path | None, programs: Programs, high: list[str], cluster: str | None, since: str | None, until: str | None,
    when: Moment,
) -> tuple[Workload, Meta]:  # fmt: skip
    """The runs with GPUs of one cluster, and where they are from. AdminkitError unless the caller is an operator."""
    from adminkit.simulate.elastic_input import jobs_of_runs
    from adminkit.stats.workload import NAMED, read_runs

    settings = config.load()
    path = find_trace(db, settings.db)
    filter = job_filter(ReportOptions(since=since, until=until), settings, when.now)
    with reader(path, when.as_of) as trace, progress("reading") as tick:
        operators_only(path, *OPERATORS)
        name = only_cluster(trace, cluster)
        runs = read_runs(trace, replace(filter, clusters=(name,)), lambda done: tick(done, None, done), NAMED)
    taken = jobs_of_runs(runs, programs, high)
    window = (filter.since, filter.until)
    return taken, Meta(TITLE, str(path), window, [name], {}, len(taken), runs.excluded, (), runs.span)
