"""A queue on the look-alike's machine as Slurm keeps one: first come, first served, EASY backfill by time limits."""

from __future__ import annotations

import heapq
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.demo.nodes import GPUS_PER_NODE, NODES, find

#: How many jobs behind the first one are tried, as Slurm's bf_max_job_test bounds them.
TRIED: Final = 500
#: Seconds for which the first job's reservation is kept before it is computed again.
KEPT: Final = 600


@dataclass(frozen=True, slots=True)
class Wish:
    """What one job asks of the machine."""

    ready: int  # epoch seconds
    busy: int  # seconds its nodes are taken
    limit: int  # seconds it may take them
    nodes: int
    gpus_per_node: int


@dataclass(slots=True)
class _Machine:
    """What is free and what runs: jobs by number, with the latest end that their limit allows."""

    wishes: Sequence[Wish]
    free: list[int] = field(default_factory=lambda: [GPUS_PER_NODE] * NODES)
    ends: list[tuple[int, int]] = field(default_factory=list)  # a heap of (when, job)
    running: dict[int, tuple[int, list[int]]] = field(default_factory=dict)  # job -> latest end, nodes

    def start(self, number: int, nodes: list[int], now: int) -> None:
        wish = self.wishes[number]
        for node in nodes:
            self.free[node] -= wish.gpus_per_node
        self.running[number] = (now + max(wish.limit, wish.busy), nodes)
        heapq.heappush(self.ends, (now + wish.busy, number))

    def end(self, now: int) -> None:
        while self.ends and self.ends[0][0] <= now:
            number = heapq.heappop(self.ends)[1]
            for node in self.running.pop(number)[1]:
                self.free[node] += self.wishes[number].gpus_per_node

    def reservation(self, first: Wish, now: int) -> int:
        """When `first` can start at the latest, if every job runs as long as its limit allows."""
        free = list(self.free)
        fit = sum(left >= first.gpus_per_node for left in free)
        for latest, number in sorted((latest, number) for number, (latest, _) in self.running.items()):
            gpus = self.wishes[number].gpus_per_node
            for node in self.running[number][1]:
                fit += free[node] < first.gpus_per_node <= free[node] + gpus
                free[node] += gpus
            if fit >= first.nodes:
                return latest
        return now


def starts(wishes: Sequence[Wish]) -> list[tuple[int, list[int]]]:
    """Each job's start and its nodes, numbered from 0. No node ever gives more than its 8 GPUs."""
    machine = _Machine(wishes)
    arrivals = deque(sorted(range(len(wishes)), key=lambda number: wishes[number].ready))
    queue: deque[int] = deque()
    placed: list[tuple[int, list[int]]] = [(0, [])] * len(wishes)
    reserved: tuple[int, int, int] = (-1, 0, 0)  # the first job, its reservation, when that was computed
    while arrivals or machine.ends:
        now = min(
            machine.ends[0][0] if machine.ends else sys.maxsize,
            wishes[arrivals[0]].ready if arrivals else sys.maxsize,
        )
        machine.end(now)
        while arrivals and wishes[arrivals[0]].ready <= now:
            queue.append(arrivals.popleft())
        while queue and (nodes := find(machine.free, wishes[queue[0]].nodes, wishes[queue[0]].gpus_per_node)):
            number = queue.popleft()
            placed[number] = (now, nodes)
            machine.start(number, nodes, now)
        if len(queue) < 2:
            continue
        if reserved[0] != queue[0] or now - reserved[2] > KEPT:
            reserved = (queue[0], machine.reservation(wishes[queue[0]], now), now)
        for number, nodes in _backfilled(machine, queue, reserved[1], now):
            placed[number] = (now, nodes)
    return placed


def _backfilled(machine: _Machine, queue: deque[int], reserved: int, now: int) -> list[tuple[int, list[int]]]:
    """Start what fits and is over, by its limit, before the first job's reservation."""
    started: list[tuple[int, list[int]]] = []
    full: set[tuple[int, int]] = set()  # shapes for which there is no room
    for place in range(1, min(len(queue), TRIED)):
        wish = machine.wishes[queue[place]]
        shape = (wish.nodes, wish.gpus_per_node)
        if shape in full or now + wish.limit > reserved:
            continue
        if nodes := find(machine.free, *shape):
            started.append((queue[place], nodes))
            machine.start(queue[place], nodes, now)
        else:
            full.add(shape)
    for number, _ in started:
        queue.remove(number)
    return started
