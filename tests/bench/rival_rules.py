"""AccaSim's EASY as rules, each of which can be replaced by that of EASY as it was published.

AccaSim decides once for all that happens in a second."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from tests.support.swf import Columns


@dataclass
class Rules:
    """`retried`: the first is tried, and its reservation made, at each decision; else it is not tried before the moment
    of its reservation. `bounded`: who passes it must end by then or leave it enough; else whoever fits passes."""

    jobs: Columns
    free: int
    retried: bool
    bounded: bool
    now: int = 0
    reserved: int | None = None
    left: int = 0  # what the first leaves at its reservation
    queue: list[int] = field(default_factory=list)
    starts: dict[int, int] = field(default_factory=dict)
    ends: list[tuple[int, int]] = field(default_factory=list)  # a heap of (end, job)

    def run(self) -> list[int]:
        """The start of each job."""
        self.submit, self.runs, self.limit, self.procs = (
            self.jobs[name].tolist() for name in ("submit", "run", "limit", "procs")
        )
        coming = sorted(range(len(self.submit)), key=lambda job: (-self.submit[job], -job))
        while coming or self.ends:
            self.now = min([self.submit[job] for job in coming[-1:]] + [end for end, _ in self.ends[:1]])
            while self.ends and self.ends[0][0] == self.now:
                self.free += self.procs[heapq.heappop(self.ends)[1]]
            while coming and self.submit[coming[-1]] == self.now:
                self.queue.append(coming.pop())
            self.decide()
        return [self.starts[job] for job in range(len(self.submit))]

    def decide(self) -> None:
        if self.retried or (self.reserved is not None and self.reserved <= self.now and self.fits(self.queue[0])):
            self.reserved = None
        if self.reserved is None:
            while self.queue and self.fits(self.queue[0]):
                self.start(self.queue.pop(0))
            if self.queue:
                self.reserve(self.queue[0])
        for job in self.queue[1:]:
            late = self.reserved is not None and self.now + self.limit[job] > self.reserved
            if self.fits(job) and not (self.bounded and late and self.procs[job] > self.left):
                self.left -= self.procs[job] if late else 0
                self.queue.remove(job)
                self.start(job)

    def fits(self, job: int) -> bool:
        return bool(self.procs[job] <= self.free)

    def start(self, job: int) -> None:
        self.free -= self.procs[job]
        self.starts[job] = self.now
        heapq.heappush(self.ends, (self.now + self.runs[job], job))

    def reserve(self, first: int) -> None:
        """The first moment at which enough plans have ended; all that end then count for what is left."""
        free = self.free
        for planned, job in sorted((self.starts[job] + self.limit[job], job) for _, job in self.ends):
            if free >= self.procs[first] and planned != self.reserved:
                break
            free += self.procs[job]
            self.reserved = planned
        self.left = free - self.procs[first]
