"""The queues and nodes of a cluster, from pyslurm where it is usable (bindings.py), else from scontrol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from adminkit.gres import UNTYPED, Gpus, parse_gres
from adminkit.slurm import bindings, scontrol_show
from adminkit.slurm.cluster import local_cluster
from adminkit.slurm.site import SiteNode, SiteQueue

Source = Literal["pyslurm", "scontrol"]


def queues(cluster: str | None = None) -> list[SiteQueue]:
    """The queues of a cluster, the local one for None, in Slurm's order. AdminkitError when slurmctld is away.

    Trap: pyslurm does not have OverSubscribe and priorities, so gather.py asks scontrol for them.
    """
    pyslurm, _ = bindings.usable()
    if pyslurm is not None and (cluster is None or cluster == local_cluster()):
        return bindings.partitions(pyslurm)
    return [_queue(one) for one in scontrol_show.partitions(cluster)]


def nodes(cluster: str | None = None) -> list[SiteNode]:
    """The nodes of a cluster, the local one for None, in Slurm's order. AdminkitError when slurmctld is away."""
    pyslurm, _ = bindings.usable()
    if pyslurm is not None and (cluster is None or cluster == local_cluster()):
        return bindings.nodes(pyslurm)
    return [_node(one) for one in scontrol_show.nodes(cluster)]


def told_by_scontrol() -> dict[str, SiteQueue]:
    """The queues of the local cluster by name, for what pyslurm does not have."""
    return {one.name: _queue(one) for one in scontrol_show.partitions()}


def source() -> Source:
    """What answers for the local cluster."""
    return "scontrol" if bindings.usable()[0] is None else "pyslurm"


def parse_queues(text: str) -> list[SiteQueue]:
    """`scontrol -o show partition`."""
    return [_queue(one) for one in scontrol_show.parse_partitions(text)]


def _queue(one: scontrol_show.Partition) -> SiteQueue:
    return SiteQueue(
        name=one.name,
        default_limit=one.default_limit,
        max_limit=one.max_limit,
        min_nodes=one.min_nodes,
        max_nodes=one.max_nodes,
        up=one.up,
        is_default=one.is_default,
        whole=one.whole,
        priority_tier=one.tier,
        priority_factor=one.factor,
        total_nodes=one.total_nodes,
        allow_accounts=one.allow_accounts,
        deny_accounts=one.deny_accounts,
        allow_qos=one.allow_qos,
        deny_qos=one.deny_qos,
        allow_groups=one.allow_groups,
    )


def parse_nodes(text: str) -> list[SiteNode]:
    """`scontrol -o show node`."""
    return [_node(one) for one in scontrol_show.parse_nodes(text)]


def _node(one: scontrol_show.Node) -> SiteNode:
    return SiteNode(
        name=one.name,
        cpus=one.cpus,
        mem=one.mem,
        gpus=gpus_of(one.gres),
        gpu_shares=shares_of(parse_gres(one.gres)),
        features=one.all_features,
        queues=one.queues,
        weight=one.weight,
    )


def gpus_of(gres: str) -> Mapping[str, int]:
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
