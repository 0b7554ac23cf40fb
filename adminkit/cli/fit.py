"""adminkit fit: whether a request can start now, when, or never, why, and what smaller one would."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from adminkit.cli import options
from adminkit.errors import AdminkitError, UsageError

if TYPE_CHECKING:
    from adminkit.fit.verdict import Answer
    from adminkit.render.report import Report
    from adminkit.slurm.room import RoomJob

#: Seconds between two looks of --watch.
PAUSE: Final = 10

#: What is asked for, as it is typed, by the names of request.request().
Size = dict[str, Any]

Partition = Annotated[
    str | None, typer.Option("--partition", "-p", metavar="NAME", help="The queue. Default: Slurm's default queue.")
]
Gpus = Annotated[str | None, typer.Option("--gpus", "-G", metavar="[TYPE:]N", help="GPUs on one node, as for sbatch.")]
Cpus = Annotated[int, typer.Option("--cpus", "-c", min=1, metavar="N", help="CPUs per task.")]
Nodes = Annotated[
    str | None, typer.Option("--nodes", "-N", metavar="N", help="The number of nodes. Default: 1, unless -n is given.")
]
Tasks = Annotated[
    int | None,
    typer.Option(
        "--ntasks", "-n", metavar="N", help="The total number of tasks; the job gets as many nodes as they need."
    ),
]
PerNode = Annotated[int | None, typer.Option("--ntasks-per-node", metavar="N", help="Tasks per node.")]
NodeGpus = Annotated[str | None, typer.Option("--gpus-per-node", metavar="[TYPE:]N", help="GPUs per node.")]
Gres = Annotated[
    str | None,
    typer.Option("--gres", metavar="LIST", help="Parts of GPUs, per node: shard:2, shard:TYPE:2, mps:50."),
]
CpuMem = Annotated[str | None, typer.Option("--mem-per-cpu", metavar="SIZE", help="Memory per CPU, instead of --mem.")]
Exclusive = Annotated[bool, typer.Option("--exclusive", help="Ask for whole nodes.")]
Constraint = Annotated[
    str | None,
    typer.Option(
        "--constraint",
        "-C",
        metavar="LIST",
        help="Features that each node must have: all of them (a&b) or one of them (a|b).",
    ),
]
Licences = Annotated[
    str | None, typer.Option("--licenses", "-L", metavar="LIST", help="Licences that the job needs: a:2,b.")
]
Mem = Annotated[
    str | None, typer.Option("--mem", metavar="SIZE", help="Memory per node, as for sbatch: 4G; 500 means MiB.")
]
Time = Annotated[
    str | None,
    typer.Option("--time", "-t", metavar="TIME", help="The time limit, as for sbatch: 90 (minutes), 1:30:00."),
]
Account = Annotated[str | None, typer.Option("--account", "-A", metavar="NAME", help="The account to run under.")]
Qos = Annotated[str | None, typer.Option("--qos", "-q", metavar="NAME", help="The QOS.")]
Named = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="NAME", help="Ask for what this profile of `adminkit profiles` asks for, and nothing else."
    ),
]
File = Annotated[
    Path | None,
    typer.Option("--profiles", metavar="FILE", help="The file of profiles. Default: /etc/adminkit/profiles.toml."),
]
Job = Annotated[
    int | None,
    typer.Option("--job", "-j", min=1, metavar="ID", help="Show why this job waits, and what would let it start."),
]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Repeat the output every ten seconds.")]
Who = Annotated[
    str | None, typer.Option("--user", "-u", metavar="NAME", help="Ask on behalf of this user. Default: you.")
]


def fit(
    partition: Partition = None,
    gpus: Gpus = None,
    cpus: Cpus = 1,
    nodes: Nodes = None,
    ntasks: Tasks = None,
    ntasks_per_node: PerNode = None,
    gpus_per_node: NodeGpus = None,
    gres: Gres = None,
    mem: Mem = None,
    mem_per_cpu: CpuMem = None,
    exclusive: Exclusive = False,
    constraint: Constraint = None,
    licenses: Licences = None,
    time: Time = None,
    account: Account = None,
    qos: Qos = None,
    profile: Named = None,
    profiles: File = None,
    user: Who = None,
    job: Job = None,
    watch: Watch = False,
    db: options.Database = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Say when a job can start, and what would start sooner. The answer is now, later or never, with the reason.

    Example: adminkit fit --gpus 2 --time 4:00:00
    """
    from adminkit.render.sink import Way, emit

    size: Size = {
        "queue": partition, "gpus": gpus, "nodes": nodes, "ntasks": ntasks, "ntasks_per_node": ntasks_per_node,
        "gpus_per_node": gpus_per_node, "gres": gres, "mem": mem, "mem_per_cpu": mem_per_cpu, "features": constraint,
        "licences": licenses, "time": time, "account": account, "qos": qos,
    }  # fmt: skip
    typed = cpus != 1 or exclusive or any(one is not None for one in size.values())
    size |= {"cpus": cpus, "exclusive": exclusive}
    if (profile is not None or job is not None) and typed:
        raise UsageError(
            "--profile and --job set the size", "leave out --profile and --job, or the options for the size"
        )
    if job is not None and (profile is not None or user is not None):
        raise UsageError("--job sets the user and the size", "leave out --profile and --user")
    look = partial(_job, job, db) if job is not None else partial(_request, size, profile, profiles, user, db)
    if not watch:
        emit(look(), Way(format.value, output))
    elif format is options.Format.TABLE and output is None:
        _watch(look)
    else:
        raise UsageError("--watch draws in the terminal", "leave out --format and --output")


def _job(job: int, db: Path | None) -> Report:
    """Why it waits, and which change would let it start."""
    from adminkit.fit.waiting import waiting
    from adminkit.reports.fit import fit_report

    found = waiting(job)
    one, past = _with_history(found.answer, db, found.job)
    change = [] if found.change is None else [f"its owner may shorten it: {found.change}"]
    share = [] if found.share is None else [found.share]
    return fit_report([one], {"job": str(job)}, [found.slurm, *share, *past, *change], f"Why job {job} waits")


def _request(size: Size, profile: str | None, profiles: Path | None, user: str | None, db: Path | None) -> Report:
    """The answer for the size that was typed, or for a profile."""
    from adminkit.fit.ask import answer
    from adminkit.fit.profiles import SYSTEM_PROFILES, load_profiles, named
    from adminkit.fit.request import request
    from adminkit.reports.fit import fit_report
    from adminkit.slurm.will_run import user_of

    who = user_of(user)
    asked = named(load_profiles(profiles or SYSTEM_PROFILES), profile).request if profile else request(**size)
    one, past = _with_history(answer(asked, who), db)
    return fit_report([one], {"user": who.name}, past)


def _with_history(answer: Answer, db: Path | None, job: RoomJob | None = None) -> tuple[Answer, list[str]]:
    """Add a time from the past where nobody else knows one, and a note of it, or of why the past was not asked."""
    from adminkit import config
    from adminkit.cli.own import readable_trace
    from adminkit.fit.ask import current
    from adminkit.fit.history import Like, by_history, is_asked, past
    from adminkit.trace.connect import reader
    from adminkit.trace.sight import whose

    if not is_asked(answer.start):
        return answer, []
    settings, room = config.load(), current().room
    path, queue = readable_trace(db, settings), room.queue(answer.request.queue)
    if path is None:
        return answer, ["history: you cannot read a trace here; name one with --db"]
    if queue is None:
        return answer, []
    limit, gpus, eligible = (
        answer.request.time_limit or queue.default_limit or queue.max_limit,
        answer.request.gpus * (answer.request.nodes or 1),
        None,
    )
    if job is not None:
        limit, eligible = job.time_limit, job.eligible_time
    like = Like(room.cluster, queue.name, limit, gpus, eligible)
    try:
        with reader(path) as trace:
            users = whose([], path)
            given = past(trace, like, users, room.at, settings.checkpoint.code)
    except AdminkitError as error:
        return answer, [f"history: {error.message}"]
    start, note = by_history(answer.start, like, given, room.at, bool(users))
    return replace(answer, start=start), [note]


def _watch(look: Callable[[], Report]) -> None:
    """Until it is interrupted."""
    import shutil

    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from adminkit.render.text import table

    console = Console()

    def drawn() -> Text:
        try:
            said = table(look(), None, shutil.get_terminal_size().columns, colour=False, ascii_only=False)
        except AdminkitError as error:
            said = f"error: {error.message}\nhint: {error.hint}"
        return Text.from_ansi(f"at {clock.strftime('%H:%M:%S')}, every {PAUSE} s; Ctrl-C ends\n\n{said}")

    try:
        with Live(drawn(), console=console, auto_refresh=False, screen=console.is_terminal) as live:
            while True:
                clock.sleep(PAUSE)
                live.update(drawn(), refresh=True)
    except KeyboardInterrupt:
        return
