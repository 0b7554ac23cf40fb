"""The queues and nodes of a cluster, from pyslurm where it is usable (bindings.py), else from scontrol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from adminkit.gres import UNTYPED, Gpus, parse_gres
from adminkit.slurm import bindings
from adminkit.slurm.cluster import local_cluster, on, parse_limit
from adminkit.slurm.keyvalue import given, names, number, records
from adminkit.slurm.process import ask
from adminkit.slurm.site import SiteNode, SiteQueue

Source = Literal["pyslurm", "scontrol"]

_MIB: Final = 1 << 20


def queues(cluster: str | None = None) -> list[SiteQueue]:
    """The queues of a cluster, the local one for None, in Slurm's order. AdminkitError when slurmctld is away.

    Trap: pyslurm does not have OverSubscribe and priorities, so gather.py asks scontrol for them.
    """
    pyslurm, _ = bindings.usable()
    if pyslurm is not None and (cluster is None or cluster == local_cluster()):
        return bindings.partitions(pyslurm)
    return parse_queues(ask(["scontrol", "-o", *on(cluster), "--all", "show", "partition"]))


def nodes(cluster: str | None = None) -> list[SiteNode]:
    """The nodes of a cluster, the local one for None, in Slurm's order. AdminkitError when slurmctld is away."""
    pyslurm, _ = bindings.usable()
    if pyslurm is not None and (cluster is None or cluster == local_cluster()):
        return bindings.nodes(pyslurm)
    return parse_nodes(ask(["scontrol", "-o", *on(cluster), "--all", "show", "node"]))


def told_by_scontrol() -> dict[str, SiteQueue]:
    """The queues of the local cluster by name, for what pyslurm does not have."""
    return {queue.name: queue for queue in parse_queues(ask(["scontrol", "-o", "--all", "show", "partition"]))}


def source() -> Source:
    """What answers for the local cluster."""
    return "scontrol" if bindings.usable()[0] is None else "pyslurm"


def parse_queues(text: str) -> list[SiteQueue]:
    """`scontrol -o show partition`."""
    return [
        SiteQueue(
            name=words["PartitionName"],
            default_limit=parse_limit(words.get("DefaultTime", "NONE")),
            max_limit=parse_limit(words.get("MaxTime", "UNLIMITED")),
            min_nodes=number(words.get("MinNodes")),
            max_nodes=number(words.get("MaxNodes")),
            up=is_up(words),
            is_default=words.get("Default") == "YES",
            whole=gives_whole_nodes(words),
            priority_tier=number(words.get("PriorityTier")),
            priority_factor=number(words.get("PriorityJobFactor")),
            total_nodes=number(words.get("TotalNodes")),
            allow_accounts=names(words.get("AllowAccounts")),
            deny_accounts=names(words.get("DenyAccounts")),
            allow_qos=names(words.get("AllowQos")),
            deny_qos=names(words.get("DenyQos")),
            allow_groups=names(words.get("AllowGroups")),
        )
        for words in records(text, "PartitionName")
    ]


def is_up(words: Mapping[str, str]) -> bool:
    """Whether users' jobs start in this queue: one for root only, or for reservations only, is not up for them."""
    return words.get("State", "UP") == "UP" and "YES" not in (words.get("RootOnly"), words.get("ReqResv"))


def gives_whole_nodes(words: Mapping[str, str]) -> bool:
    """Whether each job of this queue has its nodes for itself, as 26.05 says it too."""
    return words.get("OverSubscribe") == "EXCLUSIVE" or words.get("Exclusive") == "NODE"


def parse_nodes(text: str) -> list[SiteNode]:
    """`scontrol -o show node`."""
    return [
        SiteNode(
            name=words["NodeName"],
            cpus=number(words.get("CPUTot")),
            mem=None if (mem := number(words.get("RealMemory"))) is None else mem * _MIB,
            gpus=gpus_of(given(words.get("Gres"))),
            gpu_shares=shares_of(parse_gres(given(words.get("Gres")) or "")),
            features=names(words.get("AvailableFeatures")) or frozenset(),
            queues=names(words.get("Partitions")) or frozenset(),
            weight=number(words.get("Weight")),
        )
        for words in records(text, "NodeName")
    ]


def gpus_of(gres: str | None) -> Mapping[str, int]:
    """gpu:8, gpu:a100:4(S:0-1),gpu:a100_3g.20gb:2,shard:8 -> how many GPUs of each type, each profile of MIG a type."""
    found = parse_gres(gres) if gres else None
    return found.types if found else {}


def shares_of(gpus: Gpus | None) -> dict[str, int]:
    """The shards and MPS of a text of GRES or TRES: shard:a100:16 -> 16 of shard:a100."""
    if gpus is None:
        return {}
    both = (("shard", gpus.shards), ("mps", gpus.mps))
    return {
        name if kind == UNTYPED else f"{name}:{kind}": many
        for name, kinds in both
        for kind, many in kinds.items()
        if many
    }
