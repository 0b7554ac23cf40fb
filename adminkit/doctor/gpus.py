"""Whether accounting tracks the GPUs that the nodes have."""

from __future__ import annotations

from collections.abc import Iterator

from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.slurm.cluster import local_cluster
from adminkit.slurm.partitions import nodes
from adminkit.slurm.tracked import lacking, tracked_tres


def gpus() -> Iterator[Check]:
    """Nothing where no node has any, or none is shown."""
    try:
        its = [node for node in nodes(local_cluster()) if any(node.gpus.values()) or node.gpu_shares]
        tres = tracked_tres() if its else None
    except AdminkitError:
        return
    if tres is None:
        return
    if missing := lacking(its, tres):
        yield Check(
            "gpus",
            "warn",
            f"AccountingStorageTRES lacks {', '.join(missing)}: GPUs of runs, GPU-hours and classes are unknown",
            f"add AccountingStorageTRES={','.join(missing)} to slurm.conf and restart slurmctld: docs/gpus.md",
        )
    else:
        yield Check("gpus", "ok", "accounting tracks the GPUs of all nodes")
