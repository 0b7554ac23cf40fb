"""adminkit tune: search for a better configuration. Nothing here changes anything on the site."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit.cli import options
from adminkit.cli.policy_input import PolicyFile
from adminkit.cli.progress import Tick, progress
from adminkit.cli.simulate import (
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
from adminkit.cli.simulate_scenarios import Cores, Force, Opened, Place, Seed, calibrated, opened
from adminkit.cli.tune_jobs import Jobs, submit
from adminkit.errors import UsageError
from adminkit.render.say import say
from adminkit.render.sink import Way, emit, write_aside
from adminkit.trace.private_copy import cache_home
from adminkit.units import moment, parse_duration

if TYPE_CHECKING:
    from adminkit.render.report import Report
    from adminkit.simulate.answer import Effort
    from adminkit.simulate.calibrate import Calibration
    from adminkit.simulate.case import Case
    from adminkit.tune.candidates import Choice
    from adminkit.tune.search import Found, Question
    from adminkit.tune.settings import Tune
    from adminkit.tune.space import Space
    from adminkit.tune.typed import Typed

#: Evaluations of a search that is told neither their number nor a time.
USUAL: Final = 1000
#: What is said where no policy is named or installed here.
_NO_POLICY: Final = (
    "no policy was found here, so policy-b.toml has nothing else: if the site has one, name it with --policy and run"
    " this again"
)
#: The file that a trial reads.
TRIAL: Final = "trial.toml"

File = Annotated[Path, typer.Argument(metavar="FILE", help="The levers; etc/tune.toml is an example.")]
Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep",
        metavar="DIR",
        help="Where finished work is kept; for --slurm, on a file system that all nodes share. Default: in your cache"
        " folder.",
    ),
]
Evaluations = Annotated[
    int | None,
    typer.Option(
        "--evaluations",
        min=130,
        metavar="N",
        help=f"How many simulations of combinations the search may use. Default: {USUAL}.",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="TIME", help="About how long the search may take, such as 30m; not both."),
]
Tasks = Annotated[
    int | None,
    typer.Option("--slurm", min=1, max=1000, metavar="N", help="Run as jobs of Slurm: arrays of N tasks, by sbatch."),
]
Sbatch = Annotated[
    list[str] | None,
    typer.Option("--sbatch", metavar="OPTION", help="An option for sbatch, such as --sbatch=--partition=short."),
]
Write = Annotated[
    Path | None,
    typer.Option(
        "--write",
        metavar="DIR",
        help="Also write policy-b.toml, slurm-b.conf and trial.toml into this folder, if something is recommended.",
    ),
]
Share = Annotated[str | None, typer.Option("--shard", hidden=True)]


def tune(
    context: typer.Context,
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
    evaluations: Evaluations = None,
    budget: Budget = None,
    seed: Seed = 1,
    cores: Cores = None,
    keep: Keep = None,
    slurm: Tasks = None,
    sbatch: Sbatch = None,
    shard: Share = None,
    write: Write = None,
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
    """Search for settings that shorten waits and harm nobody. Jobs are simulated; the last days of the trace are held
    out, and decide. Nothing is changed on the site.

    Example: adminkit tune etc/tune.toml --budget 30m
    """
    from adminkit.simulate.answer import Effort
    from adminkit.tune.settings import load_tune

    if evaluations is not None and budget is not None:
        raise UsageError("--evaluations and --budget contradict each other", "leave one of them out")
    way, asked = Way(format.value, output, picture=picture), load_tune(file)
    how = wanted_of(model, procs, order, depth, unit, site, arrival, priority)
    effort = Effort(20, seed, cores, keep or cache_home() / "simulate")
    place = Place(db, cluster, since, until, policy, moment(as_of, time.time()))
    with opened(file.parent, how, place) as found:
        space, question = _question(asked, found, () if site else _refused(asked, found, place), force)
        if shard is not None:
            _work(question, effort, evaluations or USUAL, shard)
            return
        calibration = calibrated(found.subject, force)
        many = evaluations or _many(question, effort, budget)
        if slurm is not None:
            submit(Jobs(slurm, sbatch or [], many), context, effort, found, place)
        else:
            report = _answered(_Asked(space, question, effort, many), found, calibration, policy, write)
            emit(report.dated(place.when.as_of), way)


def _refused(asked: Tune, found: Opened, place: Place) -> Sequence[str]:
    """Why the running slurmctld could not have soft limits. A file of --site may describe another cluster."""
    from adminkit.tune.live import refused_by_slurm

    return refused_by_slurm(asked, found.sources.cluster, place.when.now)


def _question(asked: Tune, found: Opened, refused: Sequence[str], force: bool) -> tuple[Space, Question]:
    from adminkit.slurm.release import parse_release
    from adminkit.tune.held_out import PARTS
    from adminkit.tune.measured import LATE
    from adminkit.tune.race import Goal
    from adminkit.tune.search import question
    from adminkit.tune.space import space_of

    limits = asked.constraints
    keeps = (("utilization", limits.utilization), (LATE, limits.promised), ("lost_hours", limits.lost_hours))
    goal = Goal(
        asked.objective,
        tuple(PARTS[name] for name in limits.groups),
        tuple(measure for measure, wanted in keeps if wanted),
        limits.jobs,
    )
    site = found.sources.site
    release = None if site is None or site.scheduler.release is None else parse_release(site.scheduler.release)
    space = space_of(asked, found.sources, release, force, refused)
    return space, question(found.sources, space, goal, asked.held_out, force)


def _many(question: Question, effort: Effort, budget: str | None) -> int:
    """How many evaluations a budget is."""
    from adminkit.tune.search import evaluations_in

    if budget is None:
        return USUAL
    many = evaluations_in(parse_duration(budget), question, effort)
    say(f"{budget} are about {many} evaluations here")
    return many


@dataclass(frozen=True, slots=True)
class _Asked:
    """The question, and how the answer is made."""

    space: Space
    question: Question
    effort: Effort
    evaluations: int


def _answered(
    asked: _Asked, found: Opened, calibration: Calibration | None, policy: Path | None, write: Path | None
) -> Report:
    from adminkit.reports.tune import tune_meta, tune_report
    from adminkit.tune.race import rounds_of
    from adminkit.tune.search import search

    space, question = asked.space, asked.question
    made = search(question, asked.effort, rounds_of(asked.evaluations), _told)
    typed = None
    if made.pick is not None and made.verdict is not None and made.verdict.carries_over:
        typed = _typed(space, made.pick.choice, found.sources.case, policy)
    if write is not None:
        _write(write, typed)
    meta = tune_meta(found.subject, calibration, found.filter, str(found.path), question)
    meta = replace(meta, notes=[*meta.notes, *space.notes, *_looks(made)])
    basis = calibration is not None and calibration.verdict != "no basis"
    lines = {} if typed is None else typed.by_title()
    return tune_report(made, question, meta, space, lines, basis=basis)


def _looks(made: Found) -> list[str]:
    """What to know of an answer that was looked for more than once."""
    if made.verdict is None or made.looks < 2:
        return []
    return [f"search {made.looks} that looked at the same held-out days: with each, a lucky answer is more probable"]


def _typed(space: Space, choice: Choice, case: Case, policy: Path | None) -> Typed:
    """What to type, in terms of the policy that is named, or of the site's own where it can be read."""
    from adminkit.files import read_named
    from adminkit.policy.load import find_policy
    from adminkit.toml import MOST_BYTES
    from adminkit.tune.typed import typed_of

    path, is_example = find_policy(policy)
    if is_example:
        made = typed_of(space, choice, case=case)
        return made if made.policy is None else replace(made, notes=(*made.notes, _NO_POLICY))
    text = read_named(path, MOST_BYTES, "name a policy with --policy").decode("utf-8", "surrogateescape")
    return typed_of(space, choice, text, path.name, case)


def _write(folder: Path, typed: Typed | None) -> None:
    """The files of a trial. Nothing where nothing is recommended, which is said."""
    from adminkit.tune.typed import next_steps

    if typed is None:
        say(f"nothing is recommended, so nothing is written to {folder}")
        return
    lines = [*typed.slurm, *(f"# {line}" for line in typed.commands)]
    files = {"policy-b.toml": typed.policy, "slurm-b.conf": "".join(f"{line}\n" for line in lines), TRIAL: typed.trial}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if text:
            write_aside(folder / name, text.encode("utf-8", "surrogateescape"))
            say(f"wrote {folder / name}")
    for line in next_steps(typed):
        say(f"in {folder}, type: {line}")


@contextmanager
def _told(place: tuple[int, int]) -> Iterator[Tick]:
    number, many = place
    what = "held-out days" if number == many else f"round {number} of {many - 1}"
    with progress(what, "evaluation") as tick:
        yield tick


def _work(question: Question, effort: Effort, many: int, shard: str) -> None:
    from adminkit.tune.race import rounds_of
    from adminkit.tune.search import work_on
    from adminkit.tune.shards import shard_of

    work_on(question, effort, rounds_of(many), shard_of(shard), _told)
