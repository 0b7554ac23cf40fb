"""The look-alike's scheduler: first come, first served among jobs of one user and shape; whatever fits, starts."""

from __future__ import annotations

import heapq
import sys
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

NODES: Final = 50
GPUS_PER_NODE: Final = 8
JOBS_PER_USER: Final = 48  # running at once


@dataclass(frozen=True, slots=True)
class Request:
    """What one job asks of the nodes."""

    user: int
    ready: int  # epoch seconds
    busy: int  # seconds its nodes are taken
    nodes: int
    gpus_per_node: int


def place(requests: Sequence[Request]) -> list[tuple[int, list[int]]]:
    """Each request's start and its nodes, numbered from 0. No node ever gives more than its 8 GPUs."""
    free = [GPUS_PER_NODE] * NODES
    arrivals = deque(sorted(range(len(requests)), key=lambda i: requests[i].ready))
    waiting: dict[tuple[int, int, int], deque[int]] = {}  # (user, nodes, gpus) -> requests, first come first
    running: Counter[int] = Counter()  # user -> jobs
    ends: list[tuple[int, int]] = []  # a heap of (when, request)
    placed: list[tuple[int, list[int]]] = [(0, [])] * len(requests)
    while arrivals or ends:
        next_end = ends[0][0] if ends else sys.maxsize
        now = min(next_end, requests[arrivals[0]].ready if arrivals else sys.maxsize)
        while ends and ends[0][0] <= now:
            number = heapq.heappop(ends)[1]
            running[requests[number].user] -= 1
            for node in placed[number][1]:
                free[node] += requests[number].gpus_per_node
        while arrivals and requests[arrivals[0]].ready <= now:
            number = arrivals.popleft()
            request = requests[number]
            waiting.setdefault((request.user, request.nodes, request.gpus_per_node), deque()).append(number)
        for kind in sorted(waiting, key=lambda kind: waiting[kind][0]):
            user, count, gpus = kind
            line = waiting[kind]
            while line and running[user] < JOBS_PER_USER and (nodes := find(free, count, gpus)):
                number = line.popleft()
                placed[number] = (now, nodes)
                heapq.heappush(ends, (now + requests[number].busy, number))
                for node in nodes:
                    free[node] -= gpus
                running[user] += 1
            if not line:
                del waiting[kind]
    return placed


def find(free: list[int], nodes: int, gpus: int) -> list[int]:
    """Nodes that have room: those with the least of it, the last first, so that whole nodes stay free. [] for none."""
    room = [(left, -node) for node, left in enumerate(free) if left >= gpus]
    if len(room) < nodes:
        return []
    return sorted(-node for _, node in heapq.nsmallest(nodes, room))
