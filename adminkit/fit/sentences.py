"""What node vectors say, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adminkit.fit.needs import Parts
from adminkit.messages import Message, counted, joined, message
from adminkit.slurm.room import RoomNode
from adminkit.slurm.site import UNTYPED

#: What keeps a request from a node, the nearest to a start first.
REASONS: Final = ("wakes", "priority", "reserved", "busy", "drained", "down", "hidden")


def wakes(parts: Parts, where: Sequence[str], now: int, up: int | None) -> Message:
    if parts.nodes == 1 and up is None:
        return message("{node} has room but is powered down: it is not known when it will be up", node=where[0])
    if parts.nodes == 1 and up is not None:
        return message(
            "{node} has room but is powered down: it will be up within {seconds} s", node=where[0], seconds=up - now
        )
    if up is None:
        return message("nodes have room, but some of them are powered down: it is not known when they will be up")
    return message(
        "nodes have room, but some of them are powered down: they will be up within {seconds} s", seconds=up - now
    )


def has_room(parts: Parts, where: Sequence[str]) -> Message:
    if parts.nodes == 1:
        return message("{node} has room", node=where[0])
    return message("nodes have room") if parts.nodes is None else message("{nodes} nodes have room", nodes=parts.nodes)


def too_few(parts: Parts, fit: int) -> Message:
    if parts.per_node is None:
        return message("even when empty, the nodes have no room for {tasks} tasks", tasks=parts.tasks)
    return counted(
        "{number} of the queue's nodes is large enough, but the job asks for {nodes}",
        "{number} of the queue's nodes are large enough, but the job asks for {nodes}",
        fit,
        nodes=parts.nodes,
    )


def largest(nodes: Sequence[RoomNode]) -> Message:
    if not nodes:
        return message("the queue has no nodes")
    cpus = max(node.has.cpus for node in nodes)
    mem = max(node.has.mem for node in nodes) >> 20
    gpus = max(sum(node.has.gpus.values()) for node in nodes)
    kinds: dict[str, int] = {}
    for node in nodes:
        for kind, many in (*node.has.gpus.items(), *node.has.shares.items()):
            kinds[kind] = max(many, kinds.get(kind, 0))
    typed = kinds.keys() - {UNTYPED}
    listed = [message("{many} of {kind}", many=kinds[kind], kind=kind) if typed else kind for kind in sorted(kinds)[:8]]
    return message(
        "no node has that much: the most that any node has is {cpus} CPUs, {mem} MiB, {gpus} GPUs ({kinds})",
        cpus=cpus,
        mem=mem,
        gpus=gpus,
        kinds=joined(", ", listed) if listed else message("none"),
    )


def sentence(why: Mapping[str, int], fit: int) -> Message:
    parts = [_many(word, why[word]) for word in REASONS if why.get(word)]
    free = fit - sum(why.values())
    if free:
        parts.insert(0, counted("{number} free, which is too few", "{number} free, which are too few", free))
    said = parts[-1]
    for part in reversed(parts[:-1]):
        said = message("{first}, {others}", first=part, others=said)
    return counted(
        "of the {number} node that is large enough: {parts}",
        "of the {number} nodes that are large enough: {parts}",
        fit,
        parts=said,
    )


def _many(word: str, nodes: int) -> Message:
    """How many nodes are kept from it by one of REASONS."""
    match word:
        case "wakes":
            return message("{nodes} powering down, to be woken afterwards", nodes=nodes)
        case "priority":
            return message("{nodes} kept for waiting jobs of higher priority (age, fair share, size)", nodes=nodes)
        case "reserved":
            return message("{nodes} reserved", nodes=nodes)
        case "drained":
            return message("{nodes} drained", nodes=nodes)
        case "down":
            return message("{nodes} down", nodes=nodes)
        case "hidden":
            return message("{nodes} busy until an unknown time", nodes=nodes)
    return message("{nodes} busy", nodes=nodes)
