"""adminkit idle: running jobs that hold GPUs without using them, and the round that does something about it."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli.options import Apply, Database, Format, FormatOption, Output
from adminkit.cli.policy_install import Folder
from adminkit.cli.slurmctld import site
from adminkit.errors import AdminkitError, UsageError
from adminkit.render.sink import Way, emit

if TYPE_CHECKING:
    from adminkit.config import Config
    from adminkit.usage.held import Held
    from adminkit.usage.ladder import Act

Every = Annotated[bool, typer.Option("--all", help="Also show jobs that use their GPUs, or are not measured.")]
Least = Annotated[
    int, typer.Option("--least", metavar="MINUTES", min=1, max=100_000, help="How long a GPU that counts was not used.")
]
Status = Annotated[bool, typer.Option("--status", help="Show what the last rounds did, the newest act first.")]
Replay = Annotated[
    Path | None,
    typer.Option(
        "--replay",
        metavar="FILE",
        help="Show what thresholds of [idle] would have done to recorded jobs: CSV with job, gpu, time, and use or"
        " percent.",
    ),
]
MostFalse = Annotated[
    float,
    typer.Option(
        "--most-false", metavar="SHARE", min=0, max=1, help="With --replay, the share of false alarms that is allowed."
    ),
]
Last = Annotated[int, typer.Option("--last", metavar="N", min=0, help="With --status, show the last N acts.")]


def idle(
    apply: Apply = False,
    status: Status = False,
    every: Every = False,
    least: Least = 10,
    last: Last = 20,
    replay: Replay = None,
    most_false: MostFalse = 0.05,
    folder: Folder = None,
    db: Database = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Show running jobs whose GPUs are idle. Also says what a round would do now. With --apply, on slurmctld's host,
    run one round, as its timer does: warn jobs, and do what [idle] in policy.toml allows. Exit code 1 if an act failed.

    Example: adminkit idle
    """
    settings, way = config.load(), Way(format.value, output)
    if apply and status:
        raise UsageError("--apply runs a round, --status shows earlier ones", "leave one of them out")
    if replay is not None:
        if apply or status:
            raise UsageError("--replay looks at a file, and does nothing", "leave out --apply and --status")
        _replay(replay, folder, settings, most_false, way)
    elif apply:
        _apply(folder, settings, way)
    elif status:
        _status(folder, settings, last, way)
    else:
        _show(folder, settings, db, least * 60, every, way)


def _show(folder: Path | None, settings: Config, db: Path | None, least: int, every: bool, way: Way) -> None:
    from adminkit.reports.idle import idle_report
    from adminkit.slurm.cluster import local_cluster
    from adminkit.slurm.gpu_jobs import gpu_jobs
    from adminkit.usage.sources import measure

    now = int(time.time())
    found, notes = measure(settings.usage, gpu_jobs(user=_whose(db, settings)), now)
    emit(idle_report(found, _planned(folder, settings, found, notes, now), least, local_cluster(), notes, every), way)


def _apply(folder: Path | None, settings: Config, way: Way) -> None:
    from adminkit.deploy.idle_round import once
    from adminkit.reports.idle import round_report

    there, controller = site(folder)
    done = once(there, settings, int(time.time()), controller.gid, controller.others())
    emit(round_report(done, controller.cluster), way)
    if not done.ok:
        raise typer.Exit(1)


def _status(folder: Path | None, settings: Config, last: int, way: Way) -> None:
    from adminkit.actions import read
    from adminkit.reports.idle import status_report
    from adminkit.usage.steps import WHAT

    _, controller = site(folder)
    acts = [one for one in read(settings.acts) if one.get("what") == WHAT and one.get("held") is not None]
    emit(status_report(acts[::-1][:last], controller.cluster), way)


def _replay(path: Path, folder: Path | None, settings: Config, most_false: float, way: Way) -> None:
    from adminkit.deploy.idle_round import settings_in_force
    from adminkit.errors import cause
    from adminkit.files import open_named
    from adminkit.policy.idle_settings import Idle, settings_of_policy
    from adminkit.reports.idle_replay import replay_report
    from adminkit.usage.recorded import Reading
    from adminkit.usage.replay import frontier

    reading = Reading(settings.usage.step, settings.usage.above)
    try:
        with open_named(path) as file:
            reading.read(io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline=""))
    except OSError as error:
        raise AdminkitError(f"couldn't read {path}: {cause(error)}", "name a file of readings") from error
    try:
        rules = settings_in_force(site(folder)[0])
    except (AdminkitError, OSError):
        rules = None
    rules = rules or settings_of_policy(Idle())
    found = frontier(list(reading.jobs), rules)
    emit(replay_report(found, rules, most_false, str(path), reading.rejected, reading.first_rejected), way)


def _whose(db: Path | None, settings: Config) -> str | None:
    """Whose jobs this process may be shown; None: everybody's."""
    from adminkit.trace.connect import is_there
    from adminkit.trace.location import find_trace
    from adminkit.trace.sight import own_name, sees_others

    path = find_trace(db, settings.db)
    if sees_others(path) if is_there(path) else os.geteuid() == 0:
        return None
    return own_name()


def _planned(
    folder: Path | None, settings: Config, found: list[Held], notes: list[str], now: int
) -> dict[int, Act] | None:
    """What a round would do about each job; None where no [idle] is in force that this process can read."""
    from adminkit.deploy.idle_round import settings_in_force
    from adminkit.deploy.idle_state import read_state
    from adminkit.usage.ladder import plan

    try:
        there, _ = site(folder)
        rules = settings_in_force(there)
    except (AdminkitError, OSError):
        return None
    if rules is None:
        return None
    acts = plan(found, read_state(there, now).past, rules, now, bool(notes))
    return {act.held.job.job_id: act for act in acts}
