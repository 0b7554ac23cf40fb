"""Limits that Slurm holds and no rule can: Lua sees one job, not what its user runs. What an operator has to type."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from adminkit.quote import quote
from adminkit.slurm.queue_qos import HeldGpus


def to_type(wanted: Mapping[str, int], there: HeldGpus) -> list[str]:
    """The commands that make Slurm hold users to `wanted` GPUs at a time in each queue; none where it does.

    The last line of a queue without a QOS lasts until slurmctld reads slurm.conf again: QOS= belongs there, too.
    """
    lines = []
    for queue, most in wanted.items():
        known = there.queues.get(queue)
        if known is None or (known.qos is not None and known.gpus == most):
            continue
        limit = f"MaxTRESPerUser=gres/gpu={most}"
        if known.qos is not None:
            lines.append(f"sacctmgr modify qos {shlex.quote(known.qos)} set {limit}")
            continue
        name = shlex.quote(f"{queue}-users".lower())
        lines.append(f"sacctmgr add qos {name} set {limit}")
        lines.append(f"scontrol update PartitionName={shlex.quote(queue)} QOS={name}")
    return lines


def notes(wanted: Mapping[str, int], there: HeldGpus) -> list[str]:
    """What `policy install` says of gpus_per_user."""
    lines = to_type(wanted, there)
    said = [f"gpus_per_user: {problem}" for problem in there.problems if wanted]
    said += [f"gpus_per_user: no such queue: {quote(queue)}" for queue in wanted if queue not in there.queues]
    said += [f"gpus_per_user: type {line}" for line in lines]
    if any(line.startswith("scontrol") for line in lines):
        said.append("gpus_per_user: write QOS= into the queue's line of slurm.conf, too, or a reconfigure removes it")
    return said
