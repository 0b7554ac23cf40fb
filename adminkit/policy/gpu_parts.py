"""Slices of MIG, shards and MPS as rules count them: what part of a GPU each is, for the table and for requests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from adminkit.gres import UNTYPED, Gpus, GpuSettings, Shares, equivalents, is_slice
from adminkit.ingest.gpus import shares_of
from adminkit.slurm.site import SiteNode
from adminkit.trace import gpu_words

Table = dict[str, Any]

#: What a part whose share is unknown counts at least, as job_submit/adminkit/gres.lua has it.
_SOME: Final = 1e-5


def shares_table(shares: Shares) -> Table:
    """The shares as gres.lua reads them."""
    table = {"shard": dict(shares.shards), "mps": dict(shares.mps), "given": dict(shares.given)}
    return {name: words for name, words in table.items() if words}


def node_facts(queue: str, nodes: Iterable[SiteNode], shares: Shares) -> Table:
    """The most GPUs, in GPUs, and the most slices that a node of this queue has; nothing where none has slices.

    A slice whose share is unknown counts as a GPU: there is no more of it.
    """
    inside = [node for node in nodes if queue in node.queues]
    slices = max((sum(count for kind, count in node.gpus.items() if is_slice(kind)) for node in inside), default=0)
    if not slices:
        return {}
    size = max(sum(count * _most(kind, shares) for kind, count in node.gpus.items()) for node in inside)
    return {"node_gpu_size": round(size, 7), "node_gpu_slices": slices}


def _most(kind: str, shares: Shares) -> float:
    share = equivalents(0, f"slice:{kind}=1", shares) if is_slice(kind) else 1.0
    return 1.0 if share is None else share


def typed_parts(gpus: Gpus, nodes: int, fixed: bool, shares: Shares) -> Table:
    """The fields of a request for these GPUs: on each of its nodes, or of the whole job where they are `fixed`."""
    times = 1 if fixed else nodes
    pieces = gpus.slices + sum(gpus.shards.values()) + _held(gpus.mps, shares)
    size = equivalents(gpus.whole, gpus.parts, shares)
    most = math.inf if size is None else size
    if size is None:
        size = gpus.whole + _SOME * pieces
    fields = _gpus(size, most, nodes, times)
    types = ",".join(sorted(kind for kind in gpus.types if kind != UNTYPED)) or None
    if not pieces:
        return {**fields, "gpu_type": types, "gpu_slices": 0}
    whole = gpus.whole + gpus.slices
    return {
        **fields,
        "gpu_type": types,
        "gpu_slices": pieces * times,
        "counts": _gpus(whole, whole, nodes, times),
        "bodies": _gpus(gpus.whole + pieces, gpus.whole + pieces, nodes, times),
    }


def _gpus(least: float, most: float, nodes: int, times: int) -> Table:
    each = None if times < nodes else most
    return {
        "gpus": round(least * times, 7),
        "gpus_fixed": most if each is None else 0,
        "gpus_each": each,
        "node_gpus_most": each,
        "gpus_per_node": each if each is None else round(least, 7),
    }


def _held(mps: Mapping[str, int], shares: Shares) -> int:
    """How many GPUs these parts of MPS are of at least."""
    words = {kind: "mps" if kind == UNTYPED else f"mps:{kind}" for kind in mps}
    return sum(
        math.ceil(round(equivalents(0, f"{words[kind]}={count}", shares) or 0.01, 7)) for kind, count in mps.items()
    )


def shares_of_site(nodes: Iterable[SiteNode], settings: GpuSettings) -> Shares:
    """How many shards and how much MPS a GPU has on these nodes, as the trace has it, and what the config gives."""
    return shares_of([gpu_words.Node(*node_row(one), one.queues) for one in nodes], settings)


def node_row(node: SiteNode) -> tuple[int, str, str]:
    """A node's GPUs, their types, and its shards and MPS, in the form of the table `node`."""
    counts = [",".join(f"{name}:{count}" for name, count in sorted(of.items())) for of in (node.gpus, node.gpu_shares)]
    return sum(node.gpus.values()), counts[0], counts[1]
