"""adminkit policy install, rollback, status."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli.options import Apply, Format, FormatOption, Output
from adminkit.cli.policy_input import PolicyFile
from adminkit.config import chosen
from adminkit.errors import AdminkitError
from adminkit.render.say import put
from adminkit.render.sink import Way, emit

if TYPE_CHECKING:
    from adminkit.deploy.bundle import Bundle
    from adminkit.deploy.install import Target
    from adminkit.slurm.controller import Controller

Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="The folder of job_submit.lua. Default: that of slurm.conf."),
]
Push = Annotated[
    str | None,
    typer.Option(
        "--push",
        metavar="COMMAND",
        help="The command that copies files to another slurmctld host, run without a shell: 'rsync -a {files}"
        " root@{host}:{folder}/'.",
    ),
]
Fetch = Annotated[
    str | None,
    typer.Option(
        "--fetch",
        metavar="COMMAND",
        help="The command that prints another host's checksums: 'ssh root@{host} cd {folder} && sha256sum"
        " job_submit.lua "
        "adminkit/*.lua'.",
    ),
]


def install(
    policy: PolicyFile = None,
    folder: Folder = None,
    apply: Apply = False,
    push: Push = None,
    fetch: Fetch = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Install what --out wrote into DIR, on this or another host."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write every file into DIR instead, to copy it to another host."),
    ] = None,
    print_files: Annotated[
        bool, typer.Option("--print-files", help="Only print the path of every file that belongs on a slurmctld host.")
    ] = False,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Install the rules on the slurmctld hosts. Has slurmctld load them. Without --apply, only shows what would be
    done.

    Example: adminkit policy install --policy policy.toml --apply
    """
    from adminkit.cli.installing import emit_done, emit_preview
    from adminkit.deploy.bundle import read_bundle, write_bundle
    from adminkit.deploy.install import apply as act
    from adminkit.deploy.install import preview
    from adminkit.deploy.planning import refuse_unsafe

    carried = None if source is None else read_bundle(source)
    target, controller = target_of(folder, push, fetch)
    bundle, way = carried or _compiled(policy, controller), Way(format.value, output)
    bundle = replace(bundle, notes=(*bundle.notes, *refuse_unsafe(bundle.tables["policy"], int(time.time()))))
    if out is not None:
        for path in write_bundle(out, bundle):
            put(str(path))
    elif print_files:
        for change in preview(bundle, target):
            put(str(target.folder / change.file))
    elif apply:
        emit_done(act(bundle, target, "policy install"), target, bundle.notes, way)
    else:
        emit_preview(bundle, target, way)


def rollback(
    folder: Folder = None,
    apply: Apply = False,
    push: Push = None,
    fetch: Fetch = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Bring back the rules from before the last install. Without --apply, only shows what would be done.

    Example: adminkit policy rollback --apply
    """
    from adminkit.cli.installing import emit_done, emit_rollback
    from adminkit.deploy.install import roll_back

    (target, _), way = target_of(folder, push, fetch), Way(format.value, output)
    if apply:
        emit_done(roll_back(["policy"], target, "policy rollback"), target, (), way)
    else:
        emit_rollback(target, way)


def status(
    folder: Folder = None, fetch: Fetch = None, format: FormatOption = Format.TABLE, output: Output = None
) -> None:
    """Show which rules are installed and loaded. Exit code 1 if the slurmctld hosts do not agree.

    Example: adminkit policy status
    """
    from adminkit.deploy.status import status as look
    from adminkit.reports.deploy import status_report
    from adminkit.slurm.controller import controller_or_conf, site_folder

    settings, controller = config.load().policy, controller_or_conf()
    there = site_folder(controller, chosen(folder, settings.folder))
    status = look(controller, there, chosen(fetch, settings.fetch))
    emit(status_report(status, controller.cluster), Way(format.value, output))
    if not status.ok:
        raise typer.Exit(1)


def target_of(folder: Path | None, push: str | None, fetch: str | None) -> tuple[Target, Controller]:
    """Where this site's tables go, and what slurmctld reports."""
    from adminkit.deploy.install import site_target
    from adminkit.slurm.controller import controller_or_conf

    controller = controller_or_conf()
    return site_target(controller, config.load(), folder, push, fetch), controller


def _compiled(policy: Path | None, controller: Controller) -> Bundle:
    """The rules of policy.toml for the running cluster."""
    from adminkit.deploy.bundle import compile_bundle
    from adminkit.policy.load import find_policy

    if controller.away:
        raise AdminkitError(
            f"slurmctld is not responding: {controller.away}",
            "start it, as the rules are made for its queues, or install files made earlier: --from DIR",
        )
    path, example = find_policy(policy)
    bundle = compile_bundle(path, controller, int(time.time()), config.load().gpus)
    if not example:
        return bundle
    note = f"made from the example {path}, as there is no /etc/adminkit/policy.toml"
    return replace(bundle, notes=(note, *bundle.notes))
