"""What a request takes of each node of a queue, and what of all together."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from adminkit.fit.request import Request
from adminkit.fit.timeline import NEVER, Need, holds
from adminkit.slurm.licences import parse_asked
from adminkit.slurm.room import RoomJob, RoomNode, RoomQueue, Vector
from adminkit.slurm.site import UNTYPED

#: Memory of a need: all that the node has.
ALL: Final = -1


@dataclass(frozen=True)
class Parts:
    """A request in one queue. `nodes`: how many, None for as many as the tasks need; `each`: a node's part with one
    task; `tasks`: of all nodes; `per_node`: of each, None where nodes may have different numbers of them.

    `mem_cpu`: bytes a CPU, where memory grows with them. `most`: CPUs that the queue gives of a node.
    """

    nodes: int | None
    tasks: int
    per_node: int | None
    each: Need
    mem_cpu: int | None = None
    mem_cpu_max: int | None = None
    most: int | None = None

    def need(self, tasks: int) -> Need:
        """A node's part with `tasks` tasks."""
        cpus = self.each.cpus * tasks
        if self.mem_cpu is not None:
            return replace(self.each, cpus=cpus, mem=self.mem_cpu * cpus)
        if self.mem_cpu_max and self.each.mem > 0:
            cpus = max(cpus, -(-self.each.mem // self.mem_cpu_max))
        return replace(self.each, cpus=cpus)

    @cached_property
    def one(self) -> Need:
        """The part of a node with the fewest tasks that it may have."""
        return self.need(self.per_node or 1)

    def counts(self, node: RoomNode) -> Sequence[int]:
        """How many tasks the node may have, the fewest first."""
        if self.per_node is not None:
            return (self.per_node,)
        cpus = node.has.cpus if self.most is None else min(self.most, node.has.cpus)
        return range(1, min(self.tasks, cpus // max(1, self.each.cpus)) + 1)

    def enough(self, room: Sequence[int]) -> bool:
        """Whether nodes whose `room` is the number of tasks each can take are enough together."""
        if self.per_node is not None:
            return sum(map(bool, room)) >= (self.nodes or 1)
        if self.nodes is None:
            return sum(room) >= self.tasks
        best = heapq.nlargest(self.nodes, room)
        return all(best) and len(best) == self.nodes and sum(best) >= self.tasks

    def large(self, nodes: Sequence[RoomNode]) -> list[tuple[RoomNode, int]]:
        """The nodes that are large enough when they are empty, and for how many of `counts`."""
        if self.per_node is not None:  # a page asks it of 50 profiles on 1,000 nodes
            one = self.one
            return [(node, 1) for node in nodes if holds(node.has, own(one, node), node)]
        return [(node, fit) for node in nodes if (fit := self._fit(node))]

    def _fit(self, node: RoomNode) -> int:
        fit = 0
        for tasks in self.counts(node):
            need = self.need(tasks)
            if (self.most is not None and need.cpus > self.most) or not holds(node.has, own(need, node), node):
                break
            fit += 1
        return fit


@dataclass(frozen=True, slots=True)
class Total:
    """The amounts that limits count over all nodes; `least`: those that are only a lower bound."""

    nodes: int
    all: Vector
    each: Vector
    gpu_type: str | None
    seconds: int
    least: frozenset[str] = frozenset()
    licences: Mapping[str, int] = field(default_factory=dict)


def parts_of(request: Request, queue: RoomQueue, memory: bool) -> Parts:
    """The parts, with the queue's default limit and memory, in CPUs where those count; `memory`: jobs get their own."""
    cpus, mem, mem_cpu = request.cpus, request.mem, request.mem_cpu
    if mem is None and mem_cpu is None:
        mem, mem_cpu = (None, queue.default_mem_cpu) if queue.default_mem_cpu else (queue.default_mem_node, None)
    if mem_cpu and queue.max_mem_cpu and mem_cpu > queue.max_mem_cpu:
        times = -(-mem_cpu // queue.max_mem_cpu)  # Slurm gives more CPUs to each task instead
        cpus, mem_cpu = cpus * times, -(-mem_cpu // times)
    limit = request.time_limit or queue.default_limit or queue.max_limit or NEVER // 2
    if memory and not mem and not mem_cpu:  # 0, and no default: all of the node's
        mem = ALL
    whole = queue.whole or request.exclusive
    each = Need(
        cpus, mem or 0, request.gpus, request.gpu_type, limit, whole, (mem_cpu or 0) if whole else 0,
        request.share or "", request.shares,
    )  # fmt: skip
    return Parts(
        request.nodes, request.tasks, request.per_node, each, mem_cpu or None, queue.max_mem_cpu, queue.max_cpus_node
    )


def total_of(request: Request, queue: RoomQueue, memory: bool) -> Total:
    """What limits of QOS and associations count. It is known in part for nodes that nobody has chosen yet."""
    parts = parts_of(request, queue, memory)
    one, nodes = parts.one, parts.nodes or 1
    least: set[str] = set()
    if one.mem < 0:
        one = replace(one, mem=0)
        least |= {"mem"}
    cpus, mem = one.cpus * nodes, one.mem * nodes
    if parts.per_node is None:
        cpus = max(cpus, parts.each.cpus * parts.tasks)
        mem = parts.mem_cpu * cpus if parts.mem_cpu is not None else mem
    if parts.nodes is None:
        least |= {"node", "mem"} | ({"gres/gpu"} if one.gpus else set())
    if one.whole:
        least |= {"cpu", "mem", "gres/gpu"}
    kind = one.gpu_type if one.gpu_type != UNTYPED else None
    each = Vector(one.cpus, one.mem, {UNTYPED: one.gpus}, {one.share: one.shares} if one.shares else {})
    gpus, shares = {UNTYPED: one.gpus * nodes}, {one.share: one.shares * nodes} if one.shares else {}
    licences: Mapping[str, int] = parse_asked(request.licences or "") or {}
    return Total(nodes, Vector(cpus, mem, gpus, shares), each, kind, one.seconds, frozenset(least), licences)


def need_of_job(job: RoomJob) -> Need:
    """What a job takes of each of its nodes."""
    kinds = [(kind, many) for kind, many in job.each.gpus.items() if many]
    kind, many = kinds[0] if len(kinds) == 1 else (None, sum(number for _, number in kinds))
    seconds = job.time_limit or NEVER // 2
    whole = job.exclusive and not job.runs
    share, shares = next(iter(job.each.shares.items()), ("", 0))
    return Need(job.each.cpus, job.each.mem, many, None if kind == UNTYPED else kind, seconds, whole, 0, share, shares)


def alike(need: Need, nodes: int) -> Parts:
    """The same need on each of `nodes` nodes."""
    return Parts(nodes, nodes, 1, need)


def own(need: Need, node: RoomNode) -> Need:
    """The need with all of this node's memory, where it takes all."""
    return replace(need, mem=node.has.mem) if need.mem < 0 else need
