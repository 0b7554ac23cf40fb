"""Runs in the order of events: each at its submission, and again when it has ended."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from adminkit.stats.runs import Run


def online(runs: Iterable[Run]) -> Iterator[tuple[bool, Run]]:
    """(False, run) at its submission, (True, run) once it has ended, in the order in which a clock would see it.

    `runs` come by submission. Held in memory: the runs that have not ended yet.
    """
    waiting: list[tuple[int, int, Run]] = []
    for number, run in enumerate(runs):
        while waiting and waiting[0][0] < run.submit_time:
            yield True, heapq.heappop(waiting)[2]
        yield False, run
        heapq.heappush(waiting, (run.end_time, number, run))
    while waiting:
        yield True, heapq.heappop(waiting)[2]
