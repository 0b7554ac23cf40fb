"""adminkit extend …"""

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

app = group("Give running jobs more time while nobody waits.")

Last = Annotated[int, typer.Option("--last", metavar="N", min=0, help="Show the last N acts, the newest first.")]


@app.command()
def preview(folder: Folder = None, format: FormatOption = Format.TABLE, output: Output = None) -> None:
    """Show which jobs would get more time now. Also says why the others would not; changes nothing.

    Example: adminkit extend preview
    """
    _look(folder, Way(format.value, output), [])


@app.command()
def run(
    folder: Folder = None, apply: Apply = False, format: FormatOption = Format.TABLE, output: Output = None
) -> None:
    """Run one round, as its timer does on slurmctld's host. Exit code 1 if a change did not hold.

    Example: adminkit extend run --apply
    """
    from adminkit.deploy.extend_round import once
    from adminkit.reports.extend_round import round_report

    way = Way(format.value, output)
    if not apply:
        _look(folder, way, ["nothing was done; add --apply to do it"])
        return
    there, controller = site(folder)
    done = once(there, int(time.time()), config.load().acts, controller.gid, controller.others())
    emit(round_report(done, controller.cluster), way)
    if not done.ok:
        raise typer.Exit(1)


@app.command()
def status(folder: Folder = None, last: Last = 20, format: FormatOption = Format.TABLE, output: Output = None) -> None:
    """Show what the last rounds did. Also counts the open jobs that hold extra time.

    Example: adminkit extend status
    """
    from adminkit.actions import read
    from adminkit.deploy.extend_round import WHAT, is_outcome, look
    from adminkit.reports.extend_round import status_report

    there, controller = site(folder)
    acts = [one for one in read(config.load().acts) if one.get("what") == WHAT and is_outcome(one)]
    now = look(there, int(time.time()), len(controller.hosts) < 2)
    emit(status_report(now, acts[::-1][:last], controller.cluster), Way(format.value, output))


def _look(folder: Folder, way: Way, notes: list[str]) -> None:
    from adminkit.deploy.extend_round import look
    from adminkit.reports.extend_round import round_report

    there, controller = site(folder)
    found = look(there, int(time.time()), len(controller.hosts) < 2)
    emit(round_report(found, controller.cluster, notes), way)
