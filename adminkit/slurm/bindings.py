"""pyslurm, if its release is that of Slurm here: one of 25.11 with Slurm 25.11, and so on.

It answers what scontrol and squeue answer of the local cluster, in the same types: partitions, nodes, and the
AdminComment of open jobs. Callers ask those programs where it is not usable.

Traps: with another release of Slurm it may load and answer wrongly. Its import reads slurm.conf and ends the process
where that is missing, so it is not imported before scontrol has reached slurmctld.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any, Final, Protocol

from adminkit.errors import AdminkitError
from adminkit.slurm import release
from adminkit.slurm.process import ask
from adminkit.slurm.site import UNTYPED, SiteNode, SiteQueue

#: States that squeue counts as pending, running or suspended.
_OPEN: Final = frozenset(
    "PENDING RUNNING SUSPENDED CONFIGURING RESIZING STOPPED SIGNALING REQUEUE_HOLD SPECIAL_EXIT".split()
)

#: Minutes or nodes: a number, "UNLIMITED", or None for none of its own.
_Limit = int | str | None


class _Partition(Protocol):
    """What is read of pyslurm.Partition. Trap: a list that is not set is ["ALL"], that of who is denied too."""

    name: str
    default_time: _Limit
    max_time: _Limit
    min_nodes: _Limit
    max_nodes: _Limit
    total_nodes: int
    state: str
    is_default: bool
    is_root_only: bool
    requires_reservation: bool
    allowed_accounts: list[str]
    denied_accounts: list[str]
    allowed_qos: list[str]
    denied_qos: list[str]
    allowed_groups: list[str]


class _Node(Protocol):
    """What is read of pyslurm.Node. Memory in MiB; gres by name, or by name:type."""

    name: str
    partitions: list[str]
    total_cpus: int
    real_memory: int | None
    configured_gres: Mapping[str, int]
    available_features: list[str]


class _Job(Protocol):
    """What is read of pyslurm.Job."""

    id: int
    submit_time: int | None
    state: str
    admin_comment: str | None


def usable() -> tuple[Any, str]:
    """(the module, "") where it was built for this Slurm, else (None, why not); (None, "") without pyslurm."""
    try:
        version = metadata.version("pyslurm")
    except metadata.PackageNotFoundError:
        return None, ""
    try:
        built_for, here = release.parse_release(version)[:2], release.release()[:2]
        if built_for != here:
            return None, f"is {version}, for Slurm {_pair(built_for)}; this is {_pair(here)}"
        ask(["scontrol", "ping"])
        return importlib.import_module("pyslurm"), ""
    except AdminkitError as error:
        return None, error.message
    except ImportError as error:
        return None, f"does not load: {error}"


def partitions(module: Any) -> list[SiteQueue]:
    """The local cluster's, in Slurm's order. AdminkitError when slurmctld is away."""
    loaded: Iterable[_Partition] = _load(module, module.Partitions)
    return [
        SiteQueue(
            name=one.name,
            default_limit=_seconds(one.default_time),
            max_limit=_seconds(one.max_time),
            min_nodes=_number(one.min_nodes),
            max_nodes=_number(one.max_nodes),
            up=one.state == "UP" and not one.is_root_only and not one.requires_reservation,
            is_default=bool(one.is_default),
            total_nodes=int(one.total_nodes),
            allow_accounts=_names(one.allowed_accounts),
            deny_accounts=_names(one.denied_accounts),
            allow_qos=_names(one.allowed_qos),
            deny_qos=_names(one.denied_qos),
            allow_groups=_names(one.allowed_groups),
        )
        for one in loaded
    ]


def nodes(module: Any) -> list[SiteNode]:
    """The local cluster's. AdminkitError when slurmctld is away."""
    loaded: Iterable[_Node] = _load(module, module.Nodes)
    return [
        SiteNode(
            name=one.name,
            cpus=one.total_cpus,
            mem=None if one.real_memory is None else one.real_memory << 20,
            gpus={
                gres.partition(":")[2] or UNTYPED: count
                for gres, count in one.configured_gres.items()
                if gres.partition(":")[0] == "gpu"
            },
            features=frozenset(one.available_features),
            queues=frozenset(one.partitions),
            gpu_shares={
                name: count for name, count in one.configured_gres.items() if name.partition(":")[0] in ("shard", "mps")
            },
        )
        for one in loaded
    ]


def admin_comments(module: Any) -> list[tuple[int, int, str]]:
    """(JobIDRaw, Submit, AdminComment) of every open job of the local cluster that has one."""
    loaded: Iterable[_Job] = _load(module, module.Jobs)
    return [
        (one.id, one.submit_time, one.admin_comment)
        for one in loaded
        if one.state in _OPEN and one.submit_time and one.admin_comment
    ]


def _load(module: Any, collection: Any) -> Iterable[Any]:
    try:
        return list(collection.load().values())
    except module.RPCError as error:
        raise AdminkitError(
            f"couldn't ask slurmctld: {error}", "check that slurmctld is running: scontrol ping"
        ) from error


def _seconds(minutes: _Limit) -> int | None:
    return minutes * 60 if isinstance(minutes, int) else None


def _number(value: _Limit) -> int | None:
    return value if isinstance(value, int) else None


def _names(names: list[str]) -> frozenset[str] | None:
    """The names; None where the list is not set."""
    return None if not names or names == ["ALL"] else frozenset(names)


def _pair(release: tuple[int, ...]) -> str:
    return f"{release[0]}.{release[1]:02}"
