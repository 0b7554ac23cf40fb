"""adminkit simulate …: what a scheduler would make of the trace's jobs. Nothing here changes anything."""

from __future__ import annotations

import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.cli.progress import progress
from adminkit.cli.site import Form, write_site
from adminkit.errors import UsageError
from adminkit.render.sink import Way, emit, write_aside
from adminkit.reports.answer import job_filter
from adminkit.reports.spec import ReportOptions
from adminkit.stats.select import Filter, only_cluster
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import operators_only
from adminkit.units import Moment, moment

if TYPE_CHECKING:
    from adminkit.simulate.subject import Subject, Wanted

app = group("Simulate the site's scheduler.")


class Model(StrEnum):
    """How jobs are scheduled; simulate.core.MODELS."""

    FCFS = "fcfs"
    EASY = "easy"
    EASY_SJBF = "easy-sjbf"
    CONSERVATIVE = "conservative"
    SLURM = "slurm"


class Order(StrEnum):
    """The order of the plain models' queue; the core's numbers are their places here."""

    SUBMIT = "submit"
    SJF = "sjf"
    PRIORITY = "priority"


class Unit(StrEnum):
    """What the pool of the plain models is made of; simulate.jobs.Unit."""

    CPUS = "cpus"
    GPUS = "gpus"


class Arrival(StrEnum):
    """When jobs come; simulate.jobs.Arrival."""

    SUBMIT = "submit"
    ELIGIBLE = "eligible"


class Priorities(StrEnum):
    """Whose priorities jobs have."""

    AUTO = "auto"
    TRACE = "trace"
    COMPUTED = "computed"


SiteFile = Annotated[
    Path | None,
    typer.Option(
        "--site",
        metavar="FILE",
        help="A TOML or JSON file that describes the site, to use instead of the site in the trace.",
        autocompletion=options.complete_site,
    ),
]
ArrivalOption = Annotated[
    Arrival | None,
    typer.Option(
        "--arrival", help="When jobs arrive. Default: eligible for the slurm model, submit for all other models."
    ),
]
Priority = Annotated[
    Priorities,
    typer.Option(
        "--priority", help="Which priorities jobs have. auto: the trace's if the site has fair-share, else computed."
    ),
]
ModelOption = Annotated[Model, typer.Option("--model", help="How jobs are scheduled.")]
Procs = Annotated[
    int | None,
    typer.Option(
        "--procs", min=1, metavar="N", help="How many processors or GPUs the pool has; for all models but slurm."
    ),
]
OrderOption = Annotated[Order, typer.Option("--order", help="The order of the queue; for all models but slurm.")]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth", min=0, metavar="N", help="How many waiting jobs the conservative model makes reservations for."
    ),
]
UnitOption = Annotated[
    Unit | None,
    typer.Option("--unit", help="What the pool is made of. Default: gpus if most jobs have GPUs, else cpus."),
]

#: Who may not see the jobs of others cannot simulate them.
OPERATORS: Final = ("a simulation needs everybody's jobs", "ask an operator; adminkit my shows your own jobs")


@app.command()
def run(
    model: ModelOption = Model.SLURM,
    procs: Procs = None,
    order: OrderOption = Order.SUBMIT,
    depth: Depth = None,
    unit: UnitOption = None,
    site: SiteFile = None,
    arrival: ArrivalOption = None,
    priority: Priority = Priorities.AUTO,
    schedule: Annotated[
        Path | None, typer.Option("--schedule", metavar="FILE", help="Also write each job's start and end as CSV.")
    ] = None,
    db: options.Database = None,
    cluster: options.OneCluster = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Schedule the trace's jobs with a model. Measures waits, slowdowns and utilisation.

    Example: adminkit simulate run --model easy
    """
    from adminkit.reports.simulate import refuse_contradiction, run_report, schedule_csv
    from adminkit.simulate.core import simulate
    from adminkit.simulate.machine import request

    way = Way(format.value, output)
    wanted = wanted_of(model, procs, order, depth, unit, site, arrival, priority)
    when = moment(as_of, time.time())
    taken, chosen, path = opened(wanted, db, cluster, since, until, when)
    with progress("simulating") as tick:
        made = simulate(request(taken.model, taken.jobs, taken.machine), lambda done: tick(done, len(taken.jobs), done))
    refuse_contradiction(taken, made)
    if schedule is not None:
        write_aside(schedule, schedule_csv(taken, made).encode())
    emit(run_report(taken, made, chosen, str(path)).dated(when.as_of), way)


def wanted_of(
    model: Model,
    procs: int | None,
    order: Order,
    depth: int | None,
    unit: Unit | None,
    site: Path | None,
    arrival: Arrival | None,
    priority: Priorities,
) -> Wanted:
    """What was typed, as simulate/subject.py takes it. UsageError for an option that the model does not have."""
    from adminkit.simulate.subject import Wanted
    from adminkit.slurm.site_file import load_site

    refuse_odd(model, procs, order, depth, unit, priority)
    settings = {"order": list(Order).index(order), **({} if depth is None else {"depth": depth})}
    return Wanted(
        model.value, load_site(site) if site else None, procs, unit.value if unit else None,
        arrival.value if arrival else None, own_priority(priority, order), settings,
    )  # fmt: skip


def refuse_odd(
    model: Model, procs: int | None, order: Order, depth: int | None, unit: Unit | None, priority: Priorities
) -> None:
    """UsageError for an option that the model does not have."""
    plain = {"--procs": procs, "--unit": unit, "--order": None if order is Order.SUBMIT else order}
    if model is Model.SLURM and (given := [name for name, value in plain.items() if value is not None]):
        raise UsageError(
            f"the slurm model does not accept {given[0]}", "its machine is the one of the site: --site FILE"
        )
    if model is not Model.SLURM and priority is not Priorities.AUTO:
        raise UsageError(
            f"the {model.value} model does not accept --priority", "--order priority uses the trace's own priorities"
        )
    if depth is not None and model is not Model.CONSERVATIVE:
        raise UsageError(f"the {model.value} model does not accept --depth", "only --model conservative does")


def own_priority(priority: Priorities, order: Order = Order.SUBMIT) -> bool | None:
    """Wanted.priority."""
    if order is Order.PRIORITY:
        return True
    return None if priority is Priorities.AUTO else priority is Priorities.TRACE


def opened(
    wanted: Wanted, db: Path | None, cluster: str | None, since: str | None, until: str | None, when: Moment
) -> tuple[Subject, Filter, Path]:
    """The jobs and the machine, the filter they were taken by, the trace's file. AdminkitError unless an operator."""
    from adminkit.simulate.subject import subject

    settings = config.load()
    path = find_trace(db, settings.db)
    chosen = job_filter(ReportOptions(since=since, until=until), settings, when.now)
    with reader(path, when.as_of) as trace, progress("reading") as tick:
        operators_only(path, *OPERATORS)
        chosen = replace(chosen, clusters=(only_cluster(trace, cluster),))
        return subject(trace, chosen, wanted, lambda done: tick(done, None, done)), chosen, path


@app.command()
def replay(
    site: SiteFile = None,
    arrival: ArrivalOption = None,
    priority: Priority = Priorities.AUTO,
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
    """Check the simulator against what really happened. Simulates the site's scheduler on the trace's own jobs, and
    says how far its results can be trusted.

    Example: adminkit simulate replay --site site.toml
    """
    from adminkit.reports.calibration import calibration_report
    from adminkit.reports.simulate import refuse_contradiction
    from adminkit.simulate.calibrate import compare
    from adminkit.simulate.core import simulate
    from adminkit.simulate.machine import request
    from adminkit.simulate.subject import Wanted
    from adminkit.slurm.site_file import load_site

    way = Way(format.value, output, plot, picture)
    described, when = load_site(site) if site else None, moment(as_of, time.time())
    own = own_priority(priority)
    wanted = Wanted("slurm", described, arrival=arrival.value if arrival else None, priority=own)
    taken, chosen, path = opened(wanted, db, cluster, since, until, when)
    with progress("simulating") as tick:
        made = simulate(request(taken.model, taken.jobs, taken.machine), lambda done: tick(done, len(taken.jobs), done))
    refuse_contradiction(taken, made)
    found = compare(taken, made)
    emit(calibration_report(taken, found, chosen, str(path)).dated(when.as_of), way)


@app.command()
def site(
    db: options.Database = None,
    cluster: options.OneCluster = None,
    as_of: options.AsOf = None,
    format: Annotated[
        Form | None,
        typer.Option("--format", "-f", help="The format. Default: according to --output's suffix, else TOML."),
    ] = None,
    output: options.Output = None,
) -> None:
    """Write the site that the trace shows, for --site. Its sizes are the largest amounts that were in
    use at once, and its limits are those seen in jobs.

    Example: adminkit simulate site --output site.toml
    """
    from adminkit.simulate.shown_site import shown_site
    from adminkit.stats.used import uses

    path = find_trace(db, config.load().db)
    with reader(path, moment(as_of, time.time()).as_of) as trace:
        operators_only(path, *OPERATORS)
        name = only_cluster(trace, cluster)
        made, notes = shown_site(name, uses(trace, name))
    write_site(made, notes, format, output)
