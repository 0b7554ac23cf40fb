"""adminkit soft-limits …"""

from __future__ import annotations

import time
from typing import Annotated

import typer

from adminkit import config
from adminkit.cli.group import group
from adminkit.cli.options import Apply, Format, FormatOption, Output
from adminkit.cli.policy_install import Folder
from adminkit.cli.slurmctld import site
from adminkit.render.sink import Way, emit

app = group("Let backfill plan with what jobs need, not with their limits.")

Period = Annotated[
    int,
    typer.Option(
        "--period",
        metavar="SECONDS",
        min=5,
        max=60,
        help="How often the timer runs the guard; a lease lasts three times as long.",
    ),
]
Last = Annotated[
    int, typer.Option("--last", metavar="N", min=0, help="Show N of the guard's actions, the newest first.")
]


@app.command()
def guard(
    folder: Folder = None,
    period: Period = 30,
    apply: Apply = False,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Run one round of the guard, as its timer does on slurmctld's host. Exit code 1 if a change did not hold.

    Example: adminkit soft-limits guard --apply
    """
    from adminkit.deploy.soft_guard import look, once
    from adminkit.reports.soft_limits import round_report

    there, controller = site(folder)
    now, log = int(time.time()), config.load().acts
    alone = len(controller.hosts) < 2
    done = once(there, now, period, log, controller.gid, alone) if apply else look(there, now, period, alone)
    emit(round_report(done, controller.cluster, apply), Way(format.value, output))
    if apply and not done.ok:
        raise typer.Exit(1)


@app.command()
def status(folder: Folder = None, last: Last = 20, format: FormatOption = Format.TABLE, output: Output = None) -> None:
    """Show the lease, and what the guard changed. Also says what prevents soft limits on this cluster.

    Example: adminkit soft-limits status
    """
    from adminkit.actions import read
    from adminkit.deploy.soft_guard import WHAT, look
    from adminkit.reports.soft_limits import status_report

    there, controller = site(folder)
    acts = [one for one in read(config.load().acts) if one.get("what") == WHAT]
    now = look(there, int(time.time()), alone=len(controller.hosts) < 2)
    emit(status_report(now, acts[::-1][:last], controller.cluster), Way(format.value, output))
    if not now.ok:
        raise typer.Exit(1)
