"""Which GPUs of the nodes accounting does not track, as slurm.conf has it (AccountingStorageTRES). docs/gpus.md."""

from __future__ import annotations

from collections.abc import Iterable

from adminkit.gres import is_slice
from adminkit.slurm.keyvalue import settings
from adminkit.slurm.show_config import show_config
from adminkit.slurm.site import UNTYPED, SiteNode


def tracked_tres() -> str | None:
    """The running AccountingStorageTRES, Slurm's own TRES included; None where it is not shown. AdminkitError when
    slurmctld is away.
    """
    return settings(show_config()).get("AccountingStorageTRES")


def lacking(nodes: Iterable[SiteNode], tres: str) -> list[str]:
    """What AccountingStorageTRES needs besides for the nodes' GPUs, shards and MPS: gres/gpu, gres/shard …"""
    has = {word.strip().lower() for word in tres.split(",")}
    types = {name.lower() for node in nodes for name, count in node.gpus.items() if count}
    shared = {name.partition(":")[0] for node in nodes for name in node.gpu_shares}
    whole = "gres/gpu" in has or (UNTYPED not in types and all(f"gres/gpu:{name}" in has for name in types))
    wanted = [] if whole or not types else ["gres/gpu"]
    wanted += sorted(f"gres/gpu:{name}" for name in types if is_slice(name) and f"gres/gpu:{name}" not in has)
    return wanted + [f"gres/{name}" for name in sorted(shared) if f"gres/{name}" not in has]
