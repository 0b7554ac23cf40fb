"""adminkit soft-limits …"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli.options import Format, FormatOption, Output
from adminkit.cli.policy_install import Folder
from adminkit.config import chosen
from adminkit.render.sink import Way, emit

if TYPE_CHECKING:
    from pathlib import Path

    from adminkit.slurm.controller import Controller

app = typer.Typer(
    help="Backfill plans by what jobs need: the guard, and what it did.", no_args_is_help=True, rich_markup_mode=None
)

Apply = Annotated[bool, typer.Option("--apply", help="Do it. Without --apply, only show what would be done.")]
Period = Annotated[
    int,
    typer.Option(
        "--period", metavar="SECONDS", min=5, max=60, help="How often the timer runs it; a lease lasts three."
    ),
]
Last = Annotated[int, typer.Option("--last", metavar="N", min=0, help="Show N of the guard's acts, the newest first.")]


@app.callback()
def root() -> None:
    """Backfill plans by what jobs need: the guard, and what it did."""


@app.command()
def guard(
    folder: Folder = None,
    period: Period = 30,
    apply: Apply = False,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Run one round of the guard, as its timer does on slurmctld's host. Exit code 1 if something did not hold."""
    from adminkit.deploy.guard import look, once
    from adminkit.reports.soft_limits import round_report

    there, controller = _folder(folder)
    now, log = int(time.time()), config.load().acts
    alone = len(controller.hosts) < 2
    done = once(there, now, period, log, controller.gid, alone) if apply else look(there, now, period, alone)
    emit(round_report(done, controller.cluster, apply), Way(format.value, output))
    if apply and not done.ok:
        raise typer.Exit(1)


@app.command()
def status(folder: Folder = None, last: Last = 20, format: FormatOption = Format.TABLE, output: Output = None) -> None:
    """Show the lease, what stands against soft limits here, and what the guard touched."""
    from adminkit.actions import read
    from adminkit.deploy.guard import WHAT, look
    from adminkit.reports.soft_limits import status_report

    there, controller = _folder(folder)
    acts = [one for one in read(config.load().acts) if one.get("what") == WHAT]
    now = look(there, int(time.time()), alone=len(controller.hosts) < 2)
    emit(status_report(now, acts[::-1][:last], controller.cluster), Way(format.value, output))
    if not now.ok:
        raise typer.Exit(1)


def _folder(folder: Path | None) -> tuple[Path, Controller]:
    from adminkit.slurm.controller import controller, site_folder

    slurmctld = controller()
    return site_folder(slurmctld, chosen(folder, config.load().policy.folder)), slurmctld
