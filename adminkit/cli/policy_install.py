"""adminkit policy install, rollback, status."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli.options import Format, FormatOption, Output
from adminkit.cli.policy import PolicyFile
from adminkit.config import chosen
from adminkit.errors import AdminkitError

if TYPE_CHECKING:
    from adminkit.deploy.install import Plan
    from adminkit.slurm.controller import Controller

Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="Where job_submit.lua is. Default: beside slurm.conf."),
]
Push = Annotated[
    str | None,
    typer.Option(
        "--push",
        metavar="COMMAND",
        help="How files get to another slurmctld host: 'rsync -a {files} root@{host}:{folder}/'. Run without a shell.",
    ),
]
Fetch = Annotated[
    str | None,
    typer.Option(
        "--fetch",
        metavar="COMMAND",
        help="How another host's checksums are got: 'ssh root@{host} cd {folder} && sha256sum job_submit.lua "
        "adminkit/*.lua'.",
    ),
]
Apply = Annotated[bool, typer.Option("--apply", help="Do it. Without it, only what would be done is shown.")]


def install(
    policy: PolicyFile = None,
    folder: Folder = None,
    apply: Apply = False,
    push: Push = None,
    fetch: Fetch = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="Install what --out wrote there, on whatever host.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write every file into DIR instead, to be carried.")
    ] = None,
    print_files: Annotated[
        bool, typer.Option("--print-files", help="Print the path of every file that belongs on a slurmctld host.")
    ] = False,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Put the rules where slurmctld reads them, and have it use them. Shows what it would do; --apply does it."""
    from adminkit.cli.policy_shown import emit_done, emit_preview
    from adminkit.deploy.bundle import write_out
    from adminkit.deploy.install import apply as act
    from adminkit.deploy.install import preview

    plan, notes, cluster = _plan(policy, folder, push, fetch, source)
    if out is not None:
        for path in write_out(out, plan.tables):
            print(path)
    elif print_files:
        for change in preview(plan):
            print(plan.folder / change.file)
    elif apply:
        emit_done(act(plan, "policy install"), plan, cluster, notes, format, output)
    else:
        emit_preview(preview(plan), plan, cluster, notes, format, output)


def rollback(
    folder: Folder = None,
    apply: Apply = False,
    push: Push = None,
    fetch: Fetch = None,
    format: FormatOption = Format.TABLE,
    output: Output = None,
) -> None:
    """Go back to the rules before the last install. Shows what it would do; --apply does it."""
    from adminkit.cli.policy_shown import emit_done, emit_rollback
    from adminkit.deploy.install import installed, roll_back

    plan, found = place({"policy": ""}, folder, push, fetch)
    if apply:
        emit_done(roll_back(plan, "policy rollback"), plan, found.cluster, (), format, output)
    else:
        emit_rollback(installed(plan.folder).get("policy", {}), plan, found.cluster, format, output)


def status(
    folder: Folder = None, fetch: Fetch = None, format: FormatOption = Format.TABLE, output: Output = None
) -> None:
    """What is installed, what slurmctld decides by, and whether all hosts agree. Exit code 1 when they do not."""
    from adminkit.cli.policy_shown import emit_status
    from adminkit.deploy.status import status as look
    from adminkit.slurm.controller import controller_or_conf, site_folder

    settings, found = config.load().policy, controller_or_conf()
    seen = look(found, site_folder(found, chosen(folder, settings.folder)), chosen(fetch, settings.fetch))
    emit_status(seen, found.cluster, format, output)
    if not seen.ok:
        raise typer.Exit(1)


def _plan(
    policy: Path | None, folder: Path | None, push: str | None, fetch: str | None, source: Path | None
) -> tuple[Plan, tuple[str, ...], str]:
    """What to install where, with notes on how it was made and the cluster's name."""
    from adminkit.deploy.bundle import build, read_built
    from adminkit.policy.load import find_policy

    if source is not None:
        tables = read_built(source)
        plan, found = place(tables, folder, push, fetch, program=True)
        return plan, (), found.cluster
    path, example = find_policy(policy)
    plan, found = place({}, folder, push, fetch, program=True)
    if found.away:
        raise AdminkitError(
            f"slurmctld is away: {found.away}",
            "the rules are made for its queues; --from DIR installs files made before",
        )
    built = build(path, found, int(time.time()))
    notes = [f"made from the example {path}, as there is no /etc/adminkit/policy.toml"] if example else []
    return replace(plan, tables={"policy": built.text}), (*notes, *built.notes), built.cluster


def place(
    tables: Mapping[str, str], folder: Path | None, push: str | None, fetch: str | None, program: bool = False
) -> tuple[Plan, Controller]:
    """Where it goes on this site: flags before settings before what slurmctld says."""
    from adminkit.deploy.install import Plan
    from adminkit.slurm.controller import controller_or_conf, inactive, site_folder

    settings, found = config.load(), controller_or_conf()
    ours = settings.policy
    plan = Plan(
        site_folder(found, chosen(folder, ours.folder)),
        tables,
        program=program,
        group=found.gid,
        others=found.others(),
        push=chosen(push, ours.push),
        fetch=chosen(fetch, ours.fetch),
        log=settings.acts,
        inactive="" if found.away else inactive(found),
    )
    return plan, found
