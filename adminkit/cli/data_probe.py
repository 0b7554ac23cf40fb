"""adminkit data probe."""

from __future__ import annotations

import os
import shlex
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from adminkit.cli import options
from adminkit.errors import AdminkitError, UsageError, cause
from adminkit.render.say import put, say
from adminkit.render.sink import Way, emit


def _complete(incomplete: str) -> list[str]:
    return options.complete_files(incomplete, ())


def _complete_any(incomplete: str) -> list[str]:
    return options.complete_files(incomplete, (".tar", ".bin", ".sqfs", ".erofs", ".h5"))


def probe(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder with the files.", autocompletion=_complete)],
    large: Annotated[
        Path | None,
        typer.Option(
            "--large",
            metavar="FILE",
            help="A file of 32 MiB or more on the same file system, to read in order. Default: one of DIR's.",
            autocompletion=_complete_any,
        ),
    ] = None,
    local: Annotated[
        Path | None,
        typer.Option(
            "--local",
            metavar="FOLDER",
            help="A folder of the local disk. Default: $TMPDIR or /tmp.",
            autocompletion=_complete,
        ),
    ] = None,
    gpu: Annotated[
        float, typer.Option("--gpu", metavar="MB", min=0.001, help="The MB per second that one GPU reads.")
    ] = 40.0,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="N", min=1, max=60, help="Take this many seconds at most.")
    ] = 60.0,
    kept: Annotated[
        bool, typer.Option("--kept", help="Do not measure: list what was measured on this file system before.")
    ] = False,
    nodes: Annotated[
        int | None,
        typer.Option("--nodes", metavar="N", min=1, max=1024, help="Measure in a job on this many nodes at a time."),
    ] = None,
    sbatch: Annotated[
        list[str] | None,
        typer.Option("--sbatch", metavar="OPTION", help="An option of sbatch for that job. Repeat for more."),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="With --nodes: submit the job. Without --apply, only show it.")
    ] = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Measure how fast files below DIR are read. Says what packing them would give; takes a minute and 2 GB at most.

    Example: adminkit data probe imagenet/train --large imagenet.tar
    """
    from adminkit.data import kept as store
    from adminkit.data import meet
    from adminkit.data.probe import Asked, Budget
    from adminkit.data.probe import probe as measure
    from adminkit.reports.data_probe import kept_report, probe_report

    if not folder.is_dir():
        raise AdminkitError(f"{folder} is not a folder", "name the folder that has the samples")
    place, file_system = store.place(os.environ), store.file_system_of(folder)
    way = Way(format.value, output)
    if kept:
        if large is not None or local is not None:
            raise UsageError("--kept measures nothing", "leave out --large and --local, or --kept")
        emit(kept_report([one for one in store.read(place) if one.file_system == file_system], str(folder)), way)
        return
    if nodes is not None:
        _submit(_words(folder, large, local, gpu, seconds), _Job(nodes, sbatch or (), apply, place.parent))
        return
    if apply or sbatch:
        raise UsageError(
            "--apply and --sbatch are for a job", "add --nodes N, or leave them out: probing changes nothing"
        )
    scratch = local or Path(tempfile.gettempdir())
    asked = Asked(folder, large, scratch, Budget(seconds), tick=lambda what: say(f"measuring: {what}"))
    found = measure(asked)
    task = meet.task_of(os.environ)
    if task is not None:
        say("measuring: the network")
        network = meet.rate(task, place.parent / f"meet-{task.step}")
        found = replace(found, measured=replace(found.measured, network=network))
    host = socket.gethostname().partition(".")[0]
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    probed = store.Kept(day, file_system, host, str(folder.absolute()), found.measured)
    try:
        store.keep(place, probed)
    except (OSError, AdminkitError) as error:
        say(f"note: not kept in {place}: {cause(error) if isinstance(error, OSError) else error.message}")
    emit(probe_report(probed, gpu * 1e6), way)


@dataclass(frozen=True, slots=True)
class _Job:
    """A job that probes on this number of nodes, with these options of sbatch; `home` gets its output."""

    nodes: int
    options: Sequence[str]
    apply: bool
    home: Path


def _words(folder: Path, large: Path | None, local: Path | None, gpu: float, seconds: float) -> list[str]:
    """What each task runs. Trap: with only -m, Python would look for modules in the job's folder first."""
    words = [sys.executable, "-P", "-m", "adminkit", "data", "probe", str(folder.absolute())]
    words += ["--gpu", f"{gpu:g}", "--seconds", f"{seconds:g}"]
    for name, path in (("--large", large), ("--local", local)):
        words += [] if path is None else [name, str(path.absolute())]
    return words


def _submit(words: list[str], job: _Job) -> None:
    """Submit a job with a task on each node, or show it."""
    from adminkit.slurm.sbatch import Batch, on_each_node, submit

    ours = [f"--nodes={job.nodes}", "--ntasks-per-node=1", "--time=5", *job.options]
    task = on_each_node(words)
    if not job.apply:
        put(f"would submit: sbatch {shlex.join([*ours, f'--wrap={shlex.join(task)}'])}")
        say("nothing was submitted: add --apply")
        return
    job.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = submit(Batch("adminkit-probe", task, Path.cwd(), job.home, options=ours))
    put(f"submitted job {number}")
    say(f"its output: {job.home}/slurm-{number}.out; afterwards, --kept lists what each node measured")
