"""adminkit policy install, rollback, status."""

from __future__ import annotations

import time
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
    from adminkit.deploy.bundle import Bundle
    from adminkit.deploy.install import Target
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
    from adminkit.deploy.bundle import read_bundle, write_bundle
    from adminkit.deploy.install import apply as act
    from adminkit.deploy.install import preview

    carried = None if source is None else read_bundle(source)
    target, found = target_of(folder, push, fetch)
    bundle = carried or _compiled(policy, found)
    if out is not None:
        for path in write_bundle(out, bundle):
            print(path)
    elif print_files:
        for change in preview(bundle, target):
            print(target.folder / change.file)
    elif apply:
        emit_done(act(bundle, target, "policy install"), target, bundle.notes, format, output)
    else:
        emit_preview(preview(bundle, target), bundle, target, format, output)


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

    target, _ = target_of(folder, push, fetch)
    if apply:
        emit_done(roll_back(["policy"], target, "policy rollback"), target, (), format, output)
    else:
        emit_rollback(installed(target.folder).get("policy", {}), target, format, output)


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


def target_of(folder: Path | None, push: str | None, fetch: str | None) -> tuple[Target, Controller]:
    """Where tables go on this site, and what slurmctld says of itself."""
    from adminkit.deploy.install import site_target
    from adminkit.slurm.controller import controller_or_conf

    found = controller_or_conf()
    return site_target(found, config.load(), folder, push, fetch), found


def _compiled(policy: Path | None, found: Controller) -> Bundle:
    """The rules of policy.toml for the running cluster."""
    from adminkit.deploy.bundle import compile_bundle
    from adminkit.policy.load import find_policy

    if found.away:
        raise AdminkitError(
            f"slurmctld is away: {found.away}",
            "the rules are made for its queues; --from DIR installs files made before",
        )
    path, example = find_policy(policy)
    bundle = compile_bundle(path, found, int(time.time()))
    if not example:
        return bundle
    note = f"made from the example {path}, as there is no /etc/adminkit/policy.toml"
    return replace(bundle, notes=(note, *bundle.notes))
