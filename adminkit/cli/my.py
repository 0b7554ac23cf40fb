"""adminkit my: what a user's own jobs asked for and used, what runs and why the others wait."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit import config
from adminkit.cli import options
from adminkit.cli.own import Fresh, own
from adminkit.errors import AdminkitError, UsageError
from adminkit.sqlite import sqlite3

if TYPE_CHECKING:
    from adminkit.recommend.menu import Offer
    from adminkit.render.report import Report
    from adminkit.slurm.gpu_jobs import GpuJob
    from adminkit.stats.own import Owner
    from adminkit.usage.held import Held

#: Seconds between two questions to squeue: the least, and what is usual.
LEAST_PAUSE: Final = 30
#: … and the most: longer ones than a day are typing errors, and sleep() takes no number whatever.
MOST_PAUSE: Final = 86_400
#: Seconds for which `my` waits for a source of the use of GPUs.
PATIENCE: Final = 5
#: Seconds for which the copy of a user's runs is not asked to be newer.
NEWEST: Final = 60


class Shown(StrEnum):
    """How it is written."""

    TABLE = "table"
    JSON = "json"


Days = Annotated[
    int, typer.Option("--days", "-d", min=1, max=3650, metavar="N", help="Show the jobs of the last N days.")
]
Last = Annotated[int, typer.Option("--last", "-n", min=1, max=200, metavar="N", help="Show at most the last N jobs.")]
Cluster = Annotated[
    str | None, typer.Option("--cluster", "-M", metavar="NAME", help="Show your jobs on another cluster.")
]
Watch = Annotated[
    bool, typer.Option("--watch", "-w", help="Repeat the output; asks squeue at most once every 30 seconds.")
]
Pause = Annotated[
    int,
    typer.Option("--every", metavar="SECONDS", min=LEAST_PAUSE, max=MOST_PAUSE, help="How often --watch asks squeue."),
]
Everything = Annotated[
    bool, typer.Option("--everything", help="Show everything that adminkit keeps about you and that you may read.")
]
Form = Annotated[Shown, typer.Option("--format", "-f", help="The output format.")]


def my(
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB]", help="One of your jobs: 4711, 4711_3, 4711+1.", show_default=False),
    ] = None,
    days: Days = 30,
    last: Last = 20,
    cluster: Cluster = None,
    watch: Watch = False,
    every: Pause = LEAST_PAUSE,
    everything: Everything = False,
    fresh: Fresh = False,
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="The policy file with the limits to recommend.")
    ] = None,
    db: options.Database = None,
    format: Form = Shown.TABLE,
    output: options.Output = None,
) -> None:
    """Show your jobs, the limits to ask for, and which jobs
    wait. Shows how much your jobs used of what they asked for,
    and why your waiting jobs wait. With JOB, shows all that is
    known of that job.

    Example: adminkit my --last 5
    """
    from adminkit.render.sections import emit
    from adminkit.reports.my import tint

    if watch and (everything or format is not Shown.TABLE or output is not None):
        raise UsageError("--watch draws in the terminal", "leave out --everything, --format and --output")
    if job is not None:
        if watch or everything:
            raise UsageError("JOB shows one job", "leave out --watch and --everything")
        from adminkit.cli.job import page

        emit(page(job, last, cluster, fresh, db, mine=True, days=days), format.value, output, tint)
        return
    if everything:
        from adminkit.cli.my_everything import everything as kept

        emit(kept(db, format.value), format.value, output)
        return
    look = _look(days, last, cluster, fresh, db, offer_of(policy))
    if watch:
        _watch(replace(look, asks=False), every)
    else:
        emit(look(), format.value, output, tint)


@dataclass(frozen=True, slots=True)
class _Look:
    """Where the runs are read, again each time; slurmctld is asked each time too.

    `trace` None: sacct did not say, for the reason that `problem` has.
    """

    trace: Callable[[], AbstractContextManager[sqlite3.Connection]] | None
    owner: Owner
    where: Callable[[int], str]
    days: int
    last: int
    offer: Offer
    first: int = 0  # epoch seconds: what ended before is not known
    problem: AdminkitError | None = None
    asks: bool = True  # whether sources of the use of GPUs are asked that squeue's answer does not have

    def __call__(self) -> Mapping[str, Report]:
        from adminkit.reports.my import Asked, measure, sections
        from adminkit.slurm.own_queue import own_jobs

        now = int(time.time())
        asked = Asked(self.owner, self.days, self.last, now, config.load().checkpoint.code, self.where(now), self.first)
        try:
            (queue, with_gpus), away = own_jobs(self.owner.cluster, self.owner.uid), None
        except AdminkitError as error:
            if self.trace is None:
                raise self.problem or error from error  # neither source answers
            queue, with_gpus, away = [], [], error.message
        held = _held(with_gpus, now, self.asks)
        if self.trace is None:
            return sections(asked, None, queue, self.offer, away, held)
        with self.trace() as trace:
            mine = measure(trace, asked, self.offer, queue)
        return sections(asked, mine, queue, self.offer, away, held)


def _held(jobs: list[GpuJob], now: int, asks: bool) -> list[Held]:
    """What is known of the GPUs of these jobs. A source that does not answer knows nothing, and is not waited for."""
    if not jobs:
        return []
    from adminkit.usage.now import measure_to_show

    usage = config.load().usage
    named = usage.sources if asks else tuple(one for one in usage.sources if one == "sampler")
    return measure_to_show(replace(usage, sources=named, timeout=min(usage.timeout, PATIENCE)), jobs, now)[0]


def _look(days: int, last: int, cluster: str | None, fresh: bool, db: Path | None, offer: Offer) -> _Look:
    """The runs of a trace that was named, else the caller's own copy: sacct is asked here, and not again."""
    from adminkit.stats.own import Owner
    from adminkit.trace.sight import own_name

    uid, name = os.geteuid(), own_name()
    if db is None:
        from adminkit.ingest.own_runs import runs_of
        from adminkit.reports.my import source

        try:
            found = own(cluster, days=days, steps=True, fresh=fresh, newest=NEWEST)
        except UsageError:
            raise
        except AdminkitError as error:
            return _open_only(cluster, days, last, offer, error)
        owner = Owner(found.cluster, uid, name)
        return _Look(partial(runs_of, found), owner, partial(source, found.asked_at), days, last, offer, found.since)
    from adminkit.stats.select import only_cluster
    from adminkit.trace.connect import reader

    with reader(db) as trace:
        owner = Owner(only_cluster(trace, cluster), uid, name)
    return _Look(partial(reader, db), owner, lambda _: str(db), days, last, offer)


def _open_only(cluster: str | None, days: int, last: int, offer: Offer, problem: AdminkitError) -> _Look:
    """What slurmctld has, where sacct says nothing: when slurmdbd is away, open jobs are what people ask for."""
    from adminkit.cli.own import note
    from adminkit.slurm.cluster import local_cluster
    from adminkit.stats.own import Owner
    from adminkit.trace.sight import own_name

    try:
        name = cluster or local_cluster()
    except AdminkitError:
        raise problem from None
    note(f"{problem.message}; this shows what slurmctld has, the jobs that run and wait ({problem.hint})")
    owner = Owner(name, os.geteuid(), own_name())
    return _Look(None, owner, lambda _: problem.message, days, last, offer, problem=problem)


def offer_of(policy: Path | None) -> Offer:
    """What the site recommends. Trap: to read a policy loads pydantic, which takes longer than all else here."""
    from adminkit.policy.place import SYSTEM_POLICY
    from adminkit.recommend.menu import Offer

    if policy is None and not SYSTEM_POLICY.exists():
        return Offer()
    from adminkit.policy.load import load_offer

    return load_offer(policy)


def _watch(look: _Look, every: int) -> None:
    """Until it is interrupted."""
    import shutil

    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from adminkit.render.sections import as_text, colours
    from adminkit.reports.my import tint

    console = Console()
    colour = console.is_terminal and colours()

    def drawn() -> Text:
        found = look()
        # What changes comes first: what does not fit into the terminal is cut off.
        shown = {name: found[name] for name in ("waiting", "running", "limits", "jobs")}
        written = as_text(shown, None, shutil.get_terminal_size().columns, colour=colour, tint=tint)
        asked = time.strftime("%H:%M:%S")
        return Text.from_ansi(f"squeue at {asked}, every {every} s; Ctrl-C ends\n\n{written}")

    try:
        with Live(drawn(), console=console, auto_refresh=False, screen=console.is_terminal) as live:
            while True:
                sleep(every)
                live.update(drawn(), refresh=True)
    except KeyboardInterrupt:
        return
