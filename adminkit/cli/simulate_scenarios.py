"""adminkit simulate scenarios."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.policy_input import PolicyFile
from adminkit.cli.progress import progress
from adminkit.cli.simulate import (
    OPERATORS,
    ArrivalOption,
    Depth,
    Model,
    ModelOption,
    Order,
    OrderOption,
    Priorities,
    Priority,
    Procs,
    SiteFile,
    UnitOption,
    wanted_of,
)
from adminkit.render.format import plural
from adminkit.render.say import say
from adminkit.render.sink import Way, emit
from adminkit.reports.answer import job_filter
from adminkit.reports.spec import ReportOptions
from adminkit.stats.select import only_cluster
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.private_copy import cache_home
from adminkit.trace.sight import operators_only
from adminkit.units import Moment, moment

if TYPE_CHECKING:
    from adminkit.render.report import Report
    from adminkit.simulate.answer import Effort, Slice
    from adminkit.simulate.calibrate import Calibration
    from adminkit.simulate.change import Sources
    from adminkit.simulate.scenario import Scenario
    from adminkit.simulate.subject import Subject, Wanted
    from adminkit.slurm.site import Site
    from adminkit.stats.select import Filter

File = Annotated[Path, typer.Argument(metavar="FILE", help="The scenarios; etc/scenarios.toml is an example.")]
Replicates = Annotated[int, typer.Option("--replicates", min=20, metavar="N", help="Replicates of each scenario.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="The seed of the first replicate.")]
Cores = Annotated[
    int | None,
    typer.Option("--cores", min=1, metavar="N", help="How many replicates run at a time. Default: one per core."),
]
Keep = Annotated[
    Path | None,
    typer.Option("--keep", metavar="DIR", help="Where finished replicates are kept. Default: in your cache folder."),
]
Part = Annotated[
    str | None,
    typer.Option(
        "--slice",
        metavar="I/N",
        help="Only simulate the I-th of N slices of the replicates, and keep them. The same command without --slice"
        " joins them.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Show numbers even if calibration gives no basis for them.")]


@dataclass(frozen=True, slots=True)
class Place:
    """The trace, what is taken of it, and the policy whose menu is recommended."""

    db: Path | None
    cluster: str | None
    since: str | None
    until: str | None
    policy: Path | None
    when: Moment


def scenarios(
    file: File,
    model: ModelOption = Model.SLURM,
    procs: Procs = None,
    order: OrderOption = Order.SUBMIT,
    depth: Depth = None,
    unit: UnitOption = None,
    site: SiteFile = None,
    policy: PolicyFile = None,
    arrival: ArrivalOption = None,
    priority: Priority = Priorities.AUTO,
    replicates: Replicates = 20,
    seed: Seed = 1,
    cores: Cores = None,
    keep: Keep = None,
    slice: Part = None,
    force: Force = False,
    db: options.Database = None,
    cluster: options.OneCluster = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
    picture: options.Picture = None,
) -> None:
    """Compare scenarios with today, on the same jobs. Shows who gains, who loses, by how much, and how certain that
    is.

    Example: adminkit simulate scenarios etc/scenarios.toml
    """
    from adminkit.simulate.answer import Effort, slice_of
    from adminkit.simulate.scenario import load_scenarios

    share = None if slice is None else slice_of(slice, replicates)
    way, wanted = Way(format.value, output, picture=picture), load_scenarios(file)
    how = wanted_of(model, procs, order, depth, unit, site, arrival, priority)
    effort = Effort(replicates, seed, cores, keep or cache_home() / "simulate")
    place = Place(db, cluster, since, until, policy, moment(as_of, time.time()))
    if share is not None:
        _work(wanted, file.parent, how, effort, place, share)
        return
    emit(answered(wanted, file.parent, how, effort, place, force).dated(place.when.as_of), way)


def policy_answer(path: Path, site: Site | None, place: Place, force: bool) -> Report:
    """The answer to one scenario: the policy of this file; refused users type what the refusal says."""
    from adminkit.simulate.answer import Effort
    from adminkit.simulate.kinds.catalogue import KINDS
    from adminkit.simulate.kinds.policy import PolicyRules
    from adminkit.simulate.replicates import LEAST
    from adminkit.simulate.scenario import Scenario, Step
    from adminkit.simulate.subject import Wanted

    keys = PolicyRules(name="the policy", kind="policy", policy=str(path.absolute()))
    scenario = Scenario(keys.name, (Step(KINDS[keys.kind], keys),))
    effort = Effort(LEAST, keep=cache_home() / "simulate")
    return answered([scenario], path.parent, Wanted(site=site), effort, place, force)


def answered(scenarios: list[Scenario], folder: Path, how: Wanted, effort: Effort, place: Place, force: bool) -> Report:
    """The answer to the scenarios of a file in `folder`."""
    from adminkit.reports.simulate_scenarios import scenarios_meta, scenarios_report
    from adminkit.simulate.answer import answer, plan_of

    with opened(folder, how, place) as found:
        plan = plan_of(scenarios, found.sources, effort)
    calibration = calibrated(found.subject, force)
    with progress("simulating") as tick:
        made = answer(plan, effort, tick)
    meta = scenarios_meta(found.subject, calibration, found.filter, str(found.path), effort.replicates)
    return scenarios_report(made, meta)


def _work(scenarios: list[Scenario], folder: Path, how: Wanted, effort: Effort, place: Place, share: Slice) -> None:
    """One slice of the replicates, without an answer."""
    from adminkit.simulate.answer import plan_of, work_on

    with opened(folder, how, place) as found:
        plan = plan_of(scenarios, found.sources, effort)
    with progress("simulating") as tick:
        made = work_on(plan, effort, share, tick)
    say(f"slice {share.number} of {share.many}: {plural(made, 'replicate')} in {effort.keep}")


@dataclass(frozen=True, slots=True)
class Opened:
    """What scenarios are applied to, and where it is from."""

    subject: Subject
    sources: Sources
    filter: Filter
    path: Path


@contextmanager
def opened(folder: Path, how: Wanted, place: Place) -> Iterator[Opened]:
    """The jobs and the machine; the trace stays open, for what scenarios have to know of its past.

    AdminkitError unless an operator asks.
    """
    from adminkit.policy.load import load_offer
    from adminkit.simulate.change import Sources
    from adminkit.simulate.machine import request
    from adminkit.simulate.subject import subject
    from adminkit.simulate.today import keys_of, today

    settings = config.load()
    path, offer = find_trace(place.db, settings.db), load_offer(place.policy)
    asked = ReportOptions(since=place.since, until=place.until)
    chosen = job_filter(asked, settings, place.when.now)
    with reader(path, place.when.as_of) as trace:
        operators_only(path, *OPERATORS)
        name = only_cluster(trace, place.cluster)
        chosen = replace(chosen, clusters=(name,))
        with progress("reading") as tick:
            taken = subject(trace, chosen, how, lambda done: tick(done, None, done))
        case = today(taken.jobs, request(taken.model, taken.jobs, taken.machine), taken.machine.site.queues)
        site = taken.machine.site if taken.machine.site.queues else how.site
        code = settings.checkpoint.code
        yield Opened(taken, Sources(case, folder, offer, trace, name, site, code, keys_of(taken.jobs)), chosen, path)


def calibrated(subject: Subject, force: bool) -> Calibration | None:
    """What answers are worth here, as simulate.answer.worth."""
    from adminkit.simulate.answer import worth

    with progress("calibrating") as tick:
        return worth(subject, force, lambda done: tick(done, len(subject.jobs), done))
