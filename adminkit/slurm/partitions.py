"""The queues and nodes of a cluster, from pyslurm where it is usable (bindings.py), else from scontrol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal

from adminkit import gres
from adminkit.slurm import bindings
from adminkit.slurm.cluster import local_cluster, on, parse_limit
from adminkit.slurm.keyvalue import given, names, number, records
from adminkit.slurm.process import ask
from adminkit.slurm.site import UNTYPED, SiteNode, SiteQueue

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
            gpus=parse_gres(given(words.get("Gres")) or ""),
            gpu_shares=gpu_shares(given(words.get("Gres")) or ""),
            features=names(words.get("AvailableFeatures")) or frozenset(),
            queues=names(words.get("Partitions")) or frozenset(),
            weight=number(words.get("Weight")),
        )
        for words in records(text, "NodeName")
    ]


def gpu_shares(text: str) -> Mapping[str, int]:
    """Of the same the shards and MPS that its GPUs are for: shard:a100:16 -> 16 of shard:a100."""
    read = gres.parse_gres(text) or gres.Gpus()
    counts = {"shard": read.shards, "mps": read.mps}
    return {
        name if kind == UNTYPED else f"{name}:{kind}": count
        for name, its in counts.items()
        for kind, count in its.items()
    }


def parse_gres(text: str) -> Mapping[str, int]:
    """gpu:8, gpu:a100:4(S:0-1),gpu:v100:2,craynetwork:4 -> how many GPUs of each type."""
    gpus: Counter[str] = Counter()
    for item in text.split(","):
        name, *rest = item.partition("(")[0].split(":")
        if name != "gpu":
            continue
        count = number(rest[-1]) if rest else None
        kinds = rest if count is None else rest[:-1]
        gpus[kinds[0] if kinds else UNTYPED] += 1 if count is None else count
    return dict(gpus)
