"""The joules of the story's last jobs: what their nodes drew while they ran, whoever else was on them.

All of it is invented, and drawn from no chance: the watts follow from what the jobs used of their GPUs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from adminkit.demo.nodes import GPUS_PER_NODE
from adminkit.demo.used import Use
from adminkit.job import Job
from adminkit.slurm.hostlist import hosts

#: Watts of a node without its GPUs, and of a GPU: nothing runs on it, something waits on it, it computes.
_NODE: Final = 300
_FREE: Final = 30
_WAITING: Final = 110
_COMPUTING: Final = 250


def metered(used: Iterable[tuple[Job, Use]]) -> Iterator[tuple[Job, Use]]:
    """The same jobs; those whose `energy` is known, 0 so far, have it. They come last."""
    late = []
    for job, use in used:
        if job.energy is None:
            yield job, use
        else:
            late.append((job, use))
    for (job, use), joules in zip(late, _joules(late), strict=True):
        yield replace(job, energy=joules), use


def _joules(late: Sequence[tuple[Job, Use]]) -> list[int]:
    """The joules of each job's nodes from its start to its end."""
    on = [hosts(job.node_list or "") for job, _ in late]
    by_node: defaultdict[str, list[tuple[int, int, float]]] = defaultdict(list)  # start, end, watts above those of rest
    for (job, use), nodes in zip(late, on, strict=True):
        for node in nodes:
            by_node[node].append((job.start_time or 0, job.end_time or 0, _watts(job, use) / len(nodes)))
    return [
        round(sum(_drawn(by_node[node], job.start_time or 0, job.end_time or 0) for node in nodes))
        for (job, _), nodes in zip(late, on, strict=True)
    ]


def _drawn(others: Sequence[tuple[int, int, float]], start: int, end: int) -> float:
    """Joules of one node; `others` has the job itself, too."""
    rest = _NODE + GPUS_PER_NODE * _FREE
    above = sum(watts * max(0, min(end, last) - max(start, first)) for first, last, watts in others)
    return rest * (end - start) + above


def _watts(job: Job, use: Use) -> float:
    """What a job adds to the watts of its nodes. A program that never finds a GPU adds nothing."""
    gpus, elapsed = job.gpus or 0, job.elapsed or 0
    busy = sum(step.gpus_used or 0 for step in use.steps) / gpus if gpus and elapsed else 0.0
    return gpus * (_WAITING - _FREE + (_COMPUTING - _WAITING) * busy) if busy else 0.0
