"""The gaps of `report waste` as its page defines them, one run, gap and moment after the other: the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from adminkit.stats.waste_room import Node
from adminkit.stats.waste_search import LOOKS

MINUTE = 60


class Run(NamedTuple):
    """A run of known size; times in epoch seconds."""

    number: int
    eligible: float
    start: int
    elapsed: int
    limit: int
    gpus: float
    cpus: float
    queue: int
    places: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.start + self.elapsed


def free(runs: Sequence[Run], place: int, node: Node, at: int) -> tuple[float, float] | None:
    """GPUs and CPUs that are free on a place in the second after `at`; None where it is down."""
    there = next(one for one in node.times if one[0] <= at < one[1])
    if any(since <= at < until for since, until in node.outages):
        return None
    held = [one for one in runs if place in one.places and one.start <= at < one.end]
    gpus = (there[2] or 0) - sum(one.gpus / len(one.places) for one in held)
    cpus = (there[3] or 0) - sum(one.cpus / len(one.places) for one in held)
    return max(gpus, 0), max(cpus, 0)


def first_fits(runs: Sequence[Run], nodes: Sequence[Node], of_queue: Sequence[Any], until: int) -> list[int]:
    """The numbers of the runs that would have fitted, in the order in which they were eligible."""
    moments = sorted({0, until, *(m for one in runs for m in (one.start, one.end)), *(
        m for node in nodes for out in node.outages for m in out)})  # fmt: skip
    moments = [one for one in moments if 0 <= one <= until]
    rooms = [[free(runs, place, node, at) for at in moments[:-1]] for place, node in enumerate(nodes)]
    given: list[tuple[int, float, float, float, float]] = []
    found = []
    for run in sorted(runs, key=lambda one: (one.eligible, one.number)):
        if len(run.places) != 1 or run.start - run.eligible < MINUTE or not MINUTE <= run.elapsed < run.limit:
            continue
        size = 1
        while size < (run.gpus or run.cpus):
            size *= 2
        looked = 0
        for end, place, begin in sorted(_gaps(runs, moments, rooms, size, run.gpus > 0, of_queue[run.queue])):
            if end < run.eligible + run.elapsed:
                continue
            if looked == LOOKS or end >= run.start + run.limit:
                break
            looked += 1
            at = max(begin, run.eligible)
            kept = min(one.eligible for one in runs if one.start == end and place in one.places)
            if not (at < run.start != end and run.elapsed <= end - at < run.limit and kept <= at):
                continue
            over = at + run.elapsed
            least = [
                room for since, to, room in zip(moments, moments[1:], rooms[place], strict=False)
                if since < over and to > at
            ]  # fmt: skip
            beside = [one for one in given if one[0] == place and one[1] < over and one[2] > at]
            room = [min(one[n] for one in least if one) - sum(one[3 + n] for one in beside) for n in (0, 1)]
            if (not run.gpus or room[0] >= run.gpus) and room[1] >= run.cpus:
                given.append((place, at, over, run.gpus, run.cpus))
                found.append(run.number)
                break
    return found


def _gaps(
    runs: Sequence[Run], moments: Sequence[int], rooms: Any, size: int, gpus: bool, places: Any
) -> list[tuple[int, int, int]]:
    """(end, place, begin) of the longest stretches of time with `size` free that a run ended that had waited."""
    found = []
    for place, room in enumerate(rooms):
        begin = None
        for at, free_now in zip(moments, [*room, None], strict=True):
            open_ = bool(places[place]) and free_now is not None and free_now[0 if gpus else 1] >= size
            if open_ and begin is None:
                begin = at
            elif not open_ and begin is not None:
                kept = [one.eligible for one in runs if one.start == at and place in one.places]
                if kept and at - begin >= MINUTE and at - min(kept) >= MINUTE:
                    found.append((at, place, begin))
                begin = None
    return found
