"""adminkit job: one job on one page, for its owner and for operators."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.own import DAYS, Fresh, own, readable_trace
from adminkit.errors import AdminkitError
from adminkit.sqlite import sqlite3
from adminkit.trace.connect import reader
from adminkit.trace.sight import own_name, sees_others

if TYPE_CHECKING:
    from adminkit.economy.job_cost import Cost
    from adminkit.economy.schemes import Scheme
    from adminkit.render.report import Report
    from adminkit.reports.job import JobPage
    from adminkit.slurm.own_queue import Queued
    from adminkit.stats.one_job import JobRun, LetterOf, StepUse
    from adminkit.usage.curve import Curve

#: Seconds for which the copy of a user's runs is not asked to be newer.
NEWEST: Final = 60
#: Runs whose steps are shown, and whose GPUs Prometheus is asked about; the GPUs that are shown, at most.
_STEPS_OF: Final = 5
_CURVES_OF: Final = 3
_CURVES: Final = 64


def job(
    job: Annotated[
        str,
        typer.Argument(metavar="JOB", help="A job, a task or a component: 4711, 4711_3, 4711+1.", show_default=False),
    ],
    last: Annotated[
        int, typer.Option("--last", "-n", min=1, max=1000, metavar="N", help="Show at most the last N runs.")
    ] = 20,
    cluster: options.OneCluster = None,
    fresh: Fresh = False,
    db: options.Database = None,
    format: Annotated[options.Counted, typer.Option("--format", "-f", help="The output format.")] = (
        options.Counted.TABLE
    ),
    output: options.Output = None,
) -> None:
    """Show one job: what it asked for and used, why it waited. Also shows its restarts, its steps, what it cost, and
    the letters about it. Users see their own jobs, operators all.

    Example: adminkit job 4711
    """
    from adminkit.render.sections import emit
    from adminkit.reports.my import tint

    settings = config.load()
    path = readable_trace(db, settings)
    emit(page(job, last, cluster, fresh, path), format.value, output, tint)


def page(
    job: str, last: int, cluster: str | None, fresh: bool, path: Path | None, mine: bool = False, days: int = DAYS
) -> dict[str, Report]:
    """The sections about a job, from the trace at `path`, else from the caller's own copy. `mine`: nobody else's."""
    from adminkit.reports.job import sections
    from adminkit.stats.one_job import parse_id

    parse_id(job)
    return sections(
        _of_copy(job, last, cluster, fresh, days) if path is None else _of_trace(job, last, cluster, path, mine)
    )


def _of_trace(job: str, last: int, cluster: str | None, path: Path, mine: bool) -> JobPage:
    everybody = sees_others(path) and not mine
    with reader(path, of=own_name() if mine else None) as trace:
        scheme, notes = _scheme(trace)
        return _page(trace, job, last, cluster, (str(path), None if everybody else os.geteuid()), scheme, notes)


def _of_copy(job: str, last: int, cluster: str | None, fresh: bool, days: int) -> JobPage:
    """The caller's runs, with the letters and charges that an operator's timer wrote down for them."""
    from dataclasses import replace

    from adminkit.cli.own_file import made_note, own_of
    from adminkit.economy.job_cost import Cost
    from adminkit.ingest.own_runs import runs_of
    from adminkit.reports.my import source

    found = own(cluster, days=days, steps=True, fresh=fresh, newest=NEWEST)
    where = f"{source(found.asked_at, int(time.time()))}, your own jobs of {max(days, DAYS)} days"
    with runs_of(found) as trace:
        shown = _page(trace, job, last, found.cluster, (where, os.geteuid()), None, [])
    mine = None
    with suppress(AdminkitError):
        mine = own_of(None, config.load(), ())
    if mine is None:
        return shown
    submitted = {one.job_id_raw: one.submit_time for one in shown.runs}
    costs = [
        Cost(line.job_id_raw, submitted[line.job_id_raw], line.kind, line.period, line.amount, line.unit)
        for line in mine.lines
        if line.cluster == shown.cluster and line.submit_time <= submitted.get(line.job_id_raw, -1)
    ]
    return replace(shown, costs=costs, notes=[*shown.notes, f"costs {made_note(mine)}"] if costs else shown.notes)


def _page(
    trace: sqlite3.Connection,
    job: str,
    last: int,
    cluster: str | None,
    sight: tuple[str, int | None],
    scheme: Scheme | None,
    notes: Sequence[str],
) -> JobPage:
    from adminkit.reports.job import JobPage
    from adminkit.stats.one_job import parse_id, runs_of_job

    where, uid = sight
    runs, many = runs_of_job(trace, job, cluster, last)
    name = runs[-1].cluster if runs else cluster
    queue, away = _queue(job, name, uid, runs)
    steps, costs, letters = _details(trace, runs, parse_id(job)[0], scheme)
    curves, none = _curves(runs)
    return JobPage(job, name, where, runs, many, steps, costs, letters, queue, away, notes, curves, none)


def _curves(runs: Sequence[JobRun]) -> tuple[list[tuple[JobRun, Curve]], list[str]]:
    """The curves of the last runs that had GPUs, and why there is none.

    Trap: of a part of a GPU, Prometheus has the use of the whole, which others have, too.
    """
    from adminkit.slurm.hostlist import hosts
    from adminkit.usage.curve import curves

    had = [run for run in runs if run.start_time is not None and run.gpus != 0 and run.node_list]
    whole = [run for run in had if not run.has_parts][-_CURVES_OF:]
    if had and not whole:
        return [], ["not known: it had parts of GPUs, and others had the rest"]
    found: list[tuple[JobRun, Curve]] = []
    for run in whole:
        until = run.end_time or int(time.time())
        nodes = {one.partition(".")[0] for one in hosts(run.node_list or "")}
        try:
            its = curves(config.load().usage, run.job_id_raw, nodes, run.start_time or until, until)
        except AdminkitError as error:
            return found, [f"not known: {error.message}"]
        found += [(run, one) for one in its]
    if len(found) > _CURVES:
        return found[:_CURVES], [f"the first {_CURVES} of {len(found)} GPUs"]
    return found, ["not known: Prometheus has no readings of its GPUs"] if whole and not found else []


def _details(
    trace: sqlite3.Connection, runs: Sequence[JobRun], number: int, scheme: Scheme | None
) -> tuple[list[tuple[JobRun, StepUse]], list[Cost], list[LetterOf]]:
    from adminkit.economy.job_cost import costs
    from adminkit.stats.one_job import letters_about, steps_used

    steps = [(run, step) for run in runs[-_STEPS_OF:] for step in steps_used(trace, run)]
    keys = [(run.cluster, run.job_id_raw, run.submit_time) for run in runs]
    return steps, costs(trace, keys, scheme), letters_about(trace, runs, number)


def _queue(job: str, cluster: str | None, uid: int | None, runs: Sequence[JobRun]) -> tuple[list[Queued] | None, str]:
    """What slurmctld has of it, and why it said nothing. It is asked only about a job that has not ended."""
    from adminkit.slurm.cluster import local_cluster
    from adminkit.slurm.own_queue import queued_job

    if runs and all(run.end_time is not None for run in runs):
        return None, ""
    try:
        return queued_job(cluster or local_cluster(), job, uid), ""
    except AdminkitError as error:
        return [], error.message


def _scheme(trace: sqlite3.Connection) -> tuple[Scheme | None, list[str]]:
    """The scheme in force, where the site charges: it has a file of schemes, or has closed a month."""
    from adminkit.economy.schemes import SYSTEM_SCHEMES, load_schemes
    from adminkit.stats.ledger import closes

    named = config.load().charge
    if named is None and not SYSTEM_SCHEMES.exists() and not closes(trace):
        return None, []
    try:
        return load_schemes(named).named(None), []
    except AdminkitError as error:
        return None, [f"costs that no bill has yet are not shown: {error.message}"]
