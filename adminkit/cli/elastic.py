"""adminkit elastic …"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import actions, config
from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.cli.progress import progress
from adminkit.errors import AdminkitError, UsageError
from adminkit.render.sink import Way, emit

if TYPE_CHECKING:
    from adminkit.elastic.plan import Look
    from adminkit.elastic.resize import Act, Ruled
    from adminkit.sections import Elastic
    from adminkit.slurm.elastic_jobs import OpenJob

app = group("Change how many GPUs running jobs have, if they opted in.")

Job = Annotated[
    int | None,
    typer.Option("--job", "-j", metavar="ID", min=1, help="Only this job. With --gpus, give it exactly N GPUs."),
]
Gpus = Annotated[
    int | None,
    typer.Option("--gpus", "-G", metavar="N", min=1, help="Give --job exactly N GPUs, even if nothing is gained."),
]
Wait = Annotated[
    bool,
    typer.Option("--wait/--no-wait", help="Wait until every job with an order is back in the queue with its new GPUs."),
]
#: Seconds between two looks at jobs that are waited for.
PAUSE = 5


@app.command()
def preview(
    job: Job = None,
    gpus: Gpus = None,
    db: options.Database = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show how many GPUs each job that opted in should have. Also says why; changes nothing.

    Example: adminkit elastic preview
    """
    looks, cluster, notes = _looks(job, gpus, db)
    _show(looks, cluster, notes, Way(format.value, output))


@app.command()
def run(
    job: Job = None,
    gpus: Gpus = None,
    apply: options.Apply = False,
    wait: Wait = True,
    db: options.Database = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Change how many GPUs jobs have, and complete each change. First completes what an earlier run began. Exit code
    1 if a change was refused.

    Run it on slurmctld's host, by hand or from cron, as root or as a Slurm operator who may read the trace and the
    rules in force.

    Example: adminkit elastic run --apply
    """
    from adminkit.elastic.resize import order, settle
    from adminkit.reports.elastic_jobs import run_report
    from adminkit.slurm.elastic_jobs import open_jobs

    way, settings = Way(format.value, output), config.load()
    log = settings.acts
    if not apply:
        looks, cluster, notes = _looks(job, gpus, db)
        _show(looks, cluster, [*notes, "nothing was done; add --apply to do it"], way)
        return
    actions.check(log)
    acts = settle(open_jobs(), int(time.time()), settings.elastic, log, _ruled())
    try:
        looks, cluster, notes = _looks(job, gpus, db)
    except AdminkitError:  # what was carried on is said before it
        if acts:
            emit(run_report(acts, "this cluster", ["no new orders: the error says why"]), way)
        raise
    ruled = _ruled()
    for look in looks:
        if look.to is not None:
            acts.append(order(look, settings.elastic, int(time.time()), log, ruled))
    ordered = {one.job.job_id for one in acts if one.did == "ordered"}
    if wait and ordered:
        acts += _see_through(ordered, settings.elastic, log, notes)
    emit(run_report(acts, cluster, notes, looks), way)
    if any(one.did == "refused" for one in acts):
        raise typer.Exit(1)


@app.command()
def revoke(
    job: Annotated[int, typer.Argument(metavar="JOB", min=1, help="The job whose order to withdraw.")],
    apply: options.Apply = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Withdraw the order to change a job's GPUs. The job keeps its GPUs; if it is already held, it is released with
    them.

    Example: adminkit elastic revoke 4711 --apply
    """
    from adminkit.elastic import resize
    from adminkit.elastic.words import order_of
    from adminkit.reports.elastic_jobs import run_report
    from adminkit.slurm.cluster import local_cluster

    found = _open(job)
    order = order_of(found.comment)
    if order is None:
        raise AdminkitError(f"job {job} has no order", "`adminkit elastic run --job … --gpus …` changes its GPUs back")
    if not apply:
        acts, notes = [resize.Act("revoked", found, found.gpus)], ["nothing was done; add --apply to do it"]
    else:
        acts, notes = resize.revoke(found, config.load().elastic, config.load().acts), []
    emit(run_report(acts, local_cluster(), notes), Way(format.value, output))
    if any(one.did == "refused" for one in acts):
        raise typer.Exit(1)


def _looks(job: int | None, gpus: int | None, db: Path | None) -> tuple[list[Look], str, list[str]]:
    """What should become of the elastic jobs; the cluster; what was left out. A job named with its GPUs continues
    with them.
    """
    from adminkit.elastic.plan import Look, keeps
    from adminkit.slurm.cluster import local_cluster
    from adminkit.slurm.elastic_jobs import open_jobs

    now, settings, cluster = int(time.time()), config.load(), local_cluster()
    if gpus is None:
        looks, notes = _planned(open_jobs(), cluster, db, now)
        chosen = [look for look in looks if job is None or look.job.job_id == job]
        if job is not None and not chosen:
            raise AdminkitError(
                f"job {job} is not elastic: it has ended, or did not opt in", "docs/elastic.md says how to opt in"
            )
        return chosen, cluster, notes
    if job is None:
        raise UsageError("which job?", "name it with --job")
    from adminkit.elastic.resize import outside

    found = _open(job)
    why = keeps(found, settings.elastic, now) or outside(found, gpus) or _ruled()(found, gpus)
    return [Look(found, None, why) if why else Look(found, gpus, "an operator says so")], cluster, []


def _planned(jobs: Sequence[OpenJob], cluster: str, db: Path | None, now: int) -> tuple[list[Look], list[str]]:
    from adminkit.elastic.allowed import forbidden
    from adminkit.elastic.known import known_of
    from adminkit.elastic.plan import plan
    from adminkit.fit.place import board
    from adminkit.slurm.room import room
    from adminkit.trace.connect import is_there, reader
    from adminkit.trace.location import find_trace
    from adminkit.trace.sight import operators_only

    settings = config.load()
    path = find_trace(db, settings.db)
    known, notes = {}, []
    if is_there(path):
        operators_only(path, "only operators may see everybody's jobs", "run it as the trace's owner or in its group")
        with reader(path) as trace:
            known = known_of(trace, jobs, cluster, settings.energy.node_watts, now)
    else:
        notes.append(f"there is no trace at {path}, so the speed of jobs is unknown: `adminkit sync` makes one")
    there = board(room(now))
    return plan(jobs, known, there, settings.elastic, now, partial(forbidden, there), _ruled()), notes


def _ruled() -> Ruled:
    """The rules in force now. Where they cannot be asked, they refuse every job."""
    from adminkit.deploy.in_force import Rules, rules_of
    from adminkit.slurm.controller import controller, site_folder

    now = int(time.time())
    try:
        return rules_of(site_folder(controller(), config.load().policy.folder), now).of_gpus
    except AdminkitError as error:
        return Rules(None, now, error.message).of_gpus


def _open(job: int) -> OpenJob:
    from adminkit.slurm.elastic_jobs import open_job

    found = open_job(job)
    if found is None:
        raise AdminkitError(f"slurmctld has no open job {job}", "squeue lists open jobs")
    return found


def _see_through(ordered: set[int], settings: Elastic, log: Path, notes: list[str]) -> list[Act]:
    """Settle these jobs until none of them has an order that holds; a look every few seconds. A look that fails is
    reported, and the next one continues.
    """
    from adminkit.elastic.resize import settle
    from adminkit.slurm.elastic_jobs import open_jobs

    acts: dict[tuple[int, str, str], Act] = {}  # what a look says again is said once
    end = time.monotonic() + settings.patience
    waiting = set(ordered)
    with progress("changing GPUs") as tick:
        while waiting and time.monotonic() < end:
            time.sleep(PAUSE)
            try:
                jobs = open_jobs(waiting)
                did = settle(jobs, int(time.time()), settings, log, _ruled())
            except AdminkitError as error:
                notes += [] if error.message in notes else [error.message]
                continue
            acts.update({(one.job.job_id, one.did, one.text): one for one in did})
            waiting &= _unsettled(jobs, did)
            tick(len(ordered) - len(waiting), len(ordered), len(ordered) - len(waiting))
    return list(acts.values())


def _unsettled(jobs: Sequence[OpenJob], did: Sequence[Act]) -> set[int]:
    """The jobs with an order that were not released."""
    from adminkit.elastic.words import order_of

    released = {one.job.job_id for one in did if one.did == "released"}
    return {job.job_id for job in jobs if order_of(job.comment)} - released


def _show(looks: Sequence[Look], cluster: str, notes: Sequence[str], way: Way) -> None:
    from adminkit.reports.elastic_jobs import preview_report

    emit(preview_report(looks, cluster, notes), way)
