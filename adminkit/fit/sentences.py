"""What node vectors say, in sentences. tests/fit/test_japanese.py compares them with the Japanese ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adminkit.fit.needs import Parts
from adminkit.slurm.room import RoomNode
from adminkit.slurm.site import UNTYPED

#: What keeps a request from a node, the nearest to a start first.
REASONS: Final = ("wakes", "priority", "reserved", "busy", "drained", "down", "hidden")


_TEXTS: Final = {
    "wakes": "powering down, to be woken then",
    "priority": "kept for waiting jobs of higher priority (age, fair share, size)",
    "reserved": "reserved",
    "busy": "busy",
    "drained": "drained",
    "down": "down",
    "hidden": "busy until nobody knows when",
}


def wakes(parts: Parts, where: Sequence[str], now: int, up: int | None) -> str:
    within = "when it is up is not known" if up is None else f"it is up within {up - now} s"
    if parts.nodes == 1:
        return f"{where[0]} has room and sleeps: {within}"
    within = "when they are up is not known" if up is None else f"they are up within {up - now} s"
    return f"nodes have room, and some of them sleep: {within}"


def has_room(parts: Parts, where: Sequence[str]) -> str:
    if parts.nodes == 1:
        return f"{where[0]} has room"
    return "nodes have room" if parts.nodes is None else f"{parts.nodes} nodes have room"


def too_few(parts: Parts, fit: int) -> str:
    if parts.per_node is None:
        return f"the nodes have no room for {parts.tasks} tasks, with nothing else on them"
    return f"{fit} of the queue's nodes {'is' if fit == 1 else 'are'} large enough, and it asks for {parts.nodes}"


def largest(nodes: Sequence[RoomNode]) -> str:
    if not nodes:
        return "the queue has no nodes"
    cpus = max(node.has.cpus for node in nodes)
    mem = max(node.has.mem for node in nodes) >> 20
    gpus = max(sum(node.has.gpus.values()) for node in nodes)
    kinds: dict[str, int] = {}
    for node in nodes:
        for kind, many in (*node.has.gpus.items(), *node.has.shares.items()):
            kinds[kind] = max(many, kinds.get(kind, 0))
    typed = kinds.keys() - {UNTYPED}
    listed = [f"{kinds[kind]} of {kind}" if typed else kind for kind in sorted(kinds)]
    return f"no node has as much: the most are {cpus} CPUs, {mem} MiB, {gpus} GPUs ({', '.join(listed[:8]) or 'none'})"


def sentence(why: Mapping[str, int], fit: int) -> str:
    parts = [f"{why[word]} {_TEXTS[word]}" for word in REASONS if why.get(word)]
    free = fit - sum(why.values())
    if free:
        parts.insert(0, f"{free} free, which {'is' if free == 1 else 'are'} too few")
    return f"of {fit} {'node' if fit == 1 else 'nodes'} large enough: {', '.join(parts)}"
