"""The QOS of a queue, to which Slurm holds every job in it, and how many GPUs a user may hold at a time by it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from adminkit.slurm.associations import qos as every_qos
from adminkit.slurm.keyvalue import settings
from adminkit.slurm.scontrol_show import partitions
from adminkit.slurm.show_config import show_config


@dataclass(frozen=True, slots=True)
class QueueQos:
    """`qos`: of the queue, None where it has none. `gpus`: of a user, None for no limit."""

    qos: str | None
    gpus: int | None


@dataclass(frozen=True, slots=True)
class HeldGpus:
    """What Slurm holds users to. `problems`: why it would hold nobody to any such limit."""

    queues: dict[str, QueueQos]
    problems: tuple[str, ...]


def held_gpus() -> HeldGpus:
    """What Slurm holds users to in every queue. AdminkitError where slurmctld or slurmdbd is not responding."""
    caps = {one.name: one.max_user_tres.get("gres/gpu") for one in every_qos()}
    queues = {one.name: QueueQos(one.qos, caps.get(one.qos) if one.qos else None) for one in partitions()}
    return HeldGpus(queues, _problems(settings(show_config())))


def _problems(words: dict[str, str]) -> tuple[str, ...]:
    found = []
    enforced = set(re.split(r"[,\s]+", words.get("AccountingStorageEnforce", "").lower()))
    if not {"limits", "safe"} & enforced:
        found.append("AccountingStorageEnforce lacks limits, so Slurm does not enforce it")
    if "gres/gpu" not in re.split(r"[,\s]+", words.get("AccountingStorageTRES", "")):
        found.append("AccountingStorageTRES lacks gres/gpu, so Slurm cannot count GPUs")
    return tuple(found)
