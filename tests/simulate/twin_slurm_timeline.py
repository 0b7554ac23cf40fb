"""The twin of the model `slurm`: the slots of a pass of backfill, and which nodes are free in each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.simulate.twin_slurm_input import Node


@dataclass
class Slot:
    begin: int
    end: int
    free: set[Node]


class TimeLine:
    """`made` counts the slots ever made."""

    def __init__(self, begin: int, end: int, free: Iterable[Node], resolution: int) -> None:
        self.slots = [Slot(begin, end, set(free))]
        self.resolution = resolution
        self.made = 1

    def usable(self, possible: set[Node], start: int, end: int, stop_sets_later: bool) -> tuple[set[Node], int | None]:
        """The nodes that are free from start to end, and when it is worth to try later."""
        usable, later = set(possible), None
        for i, slot in enumerate(self.slots):
            following = self.slots[i + 1 : i + 3]
            if (
                slot.end > start
                and following
                and later is None
                and not (possible & following[0].free) <= (usable & slot.free)
            ):
                later = slot.end
            if slot.end <= start:
                continue
            if slot.begin <= end:
                usable &= slot.free
                continue
            if stop_sets_later and later is None and len(following) == 2:
                later = following[0].end
            break
        return usable, later

    def overlap(self, nodes: set[Node], begin: int, end: int) -> bool:
        return any(slot.end > begin and slot.begin < end and not nodes <= slot.free for slot in self.slots)

    def add(self, begin: int, end: int, nodes: set[Node]) -> None:
        """Take nodes away from begin to end."""
        slots = self.slots
        begin = max(begin, slots[0].begin)
        end = max(end, begin + self.resolution)
        j = next((i for i, slot in enumerate(slots) if slot.end >= begin), None)
        if j is None:
            return
        if slots[j].end > begin:
            self._cut(j, begin)
        k = j + 1
        while k < len(slots):
            if end < slots[k].end:
                self._cut(k, end)
            slots[k].free -= nodes
            if slots[k].end == end:
                break
            k += 1
        for i in range(max(j - 1, 0), min(k + 1, len(slots) - 1)):
            if slots[i].free == slots[i + 1].free:
                slots[i].end = slots[i + 1].end
                del slots[i + 1]
                break

    def _cut(self, i: int, at: int) -> None:
        slot = self.slots[i]
        self.slots.insert(i + 1, Slot(at, slot.end, set(slot.free)))
        slot.end = at
        self.made += 1
