"""What the commands of policy read: the policy, the tables beside it, the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adminkit.errors import AdminkitError
from adminkit.render.say import say

if TYPE_CHECKING:
    from adminkit.lua.runtime import LuaVersion
    from adminkit.policy.extend_checks import SignalLead
    from adminkit.policy.model import Policy
    from adminkit.slurm.site import Site


class Release(StrEnum):
    """The version of Lua to run."""

    LUA51 = "5.1"
    LUA54 = "5.4"


LUAS: Final[Mapping[Release, LuaVersion]] = {Release.LUA51: "lua51", Release.LUA54: "lua54"}

PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="The policy file. Default: /etc/adminkit/policy.toml, else the example that comes with adminkit.",
    ),
]
Tables = Annotated[
    Path | None,
    typer.Option(
        "--tables",
        metavar="DIR",
        help="Use the tables that `incentives compute --out DIR` wrote: points, hints, needs.",
    ),
]
Lua = Annotated[Release, typer.Option("--lua", help="The version of Lua to run.")]


def tables(folder: Path | None) -> tuple[bytes | None, bytes | None, bytes | None]:
    """The texts of incentives.lua, hints.lua and soft_limits.lua in this folder; None for one that is not there."""
    if folder is None:
        return None, None, None
    from adminkit.economy.build import read_tables

    tables = {one.name: one.text.encode("utf-8", "surrogateescape") for one in read_tables(folder)}
    return tables.get("incentives"), tables.get("hints"), tables.get("soft_limits")


def load(named: Path | None) -> tuple[Path, Policy]:
    from adminkit.policy.load import load_policy

    path = policy_path(named)
    return path, load_policy(path)


def policy_path(named: Path | None) -> Path:
    from adminkit.policy.load import find_policy
    from adminkit.policy.place import SYSTEM_POLICY

    path, shipped = find_policy(named)
    if shipped:
        say(f"note: there is no {SYSTEM_POLICY}; this is the example that came with adminkit")
    return path


def site(policy: Policy, file: Path | None, also: Sequence[str] = ()) -> Site:
    """The cluster: as a file has it, else as Slurm has it, else made up. With the uids of those users `also`."""
    from adminkit.slurm.gather import gather
    from adminkit.slurm.site import made_up
    from adminkit.slurm.site_file import load_site

    if file is not None:
        return load_site(file)
    try:
        gathered = gather((*policy.users(), *also))
    except AdminkitError as error:
        say(f"note: the queues are those that the policy names: {error.message}")
        return made_up(policy.queues(), policy.users())
    for note in gathered.notes:
        say(f"note: {note}")
    return gathered.site


def signal_lead(policy: Policy, site: Path | None) -> SignalLead | None:
    """That of the checkpoint plugin in plugstack.conf, where [extend] is on and this host and slurmctld show it."""
    from adminkit.doctor.ckpt import signal_lead

    if site is not None or not policy.extend.enabled:
        return None
    try:
        return signal_lead()
    except (AdminkitError, OSError):
        return None


def queue_limits(file: Path | None) -> tuple[dict[str, int | None] | None, list[str]]:
    """The cluster's queues with their maximum limits, else None and why."""
    from adminkit.slurm.partitions import queues
    from adminkit.slurm.site_file import load_site

    try:
        known = load_site(file).queues if file is not None else queues()
    except AdminkitError as error:
        if file is not None:
            raise
        return None, [f"note: the names of queues were not checked: {error.message}; --site FILE describes a cluster"]
    return {queue.name: queue.max_limit for queue in known}, []
