"""The plain models once more, slowly and plainly: docs/simulate-spec.md in Python.

Nothing is kept from one moment to the next but the queue, who runs, and the reservations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

NONE = -1
NOT_RUN, DONE, KILLED = 0, 1, 2


@dataclass(frozen=True)
class Job:
    id: int
    submit: int
    run: int
    limit: int
    procs: int
    plan: int = NONE
    priority: int = NONE

    @property
    def need(self) -> int:
        """What it runs for."""
        return self.run if self.limit == NONE else min(self.run, self.limit)

    @property
    def planned(self) -> int:
        """What it is planned to run for."""
        return max(1, next(value for value in (self.plan, self.limit, self.run) if value != NONE))

    @property
    def corrected(self) -> int:
        """The same, once it outlived its plan."""
        return self.need if self.limit == NONE else self.limit


@dataclass
class Entry:
    """A job on its way: it waits, runs, has ended."""

    job: Job
    place: int
    start: int = NONE
    end: int = NONE
    order: int = NONE
    planned_end: int = NONE
    reserved: int | None = None
    promised: int = NONE

    @property
    def outcome(self) -> int:
        return NOT_RUN if self.start == NONE else KILLED if self.job.run > self.job.need else DONE


@dataclass
class Twin:
    """One run. `decide` starts who may start; `freed` says that a plan gave up time."""

    model: str
    jobs: Sequence[Job]
    procs: int
    order: str = "submit"
    depth: int = NONE
    now: int = 0
    queue: list[Entry] = field(default_factory=list)
    running: list[Entry] = field(default_factory=list)
    started: int = 0

    def simulate(self) -> list[Entry]:
        """What came of each job, as they were given."""
        entries = {id(job): Entry(job, NONE) for job in self.jobs}
        can_run = [job for job in self.jobs if job.need > 0 and 0 < job.procs <= self.procs]
        arriving = [entries[id(job)] for job in sorted(can_run, key=lambda job: (job.submit, job.id))]
        for place, entry in enumerate(arriving):
            entry.place = place
        while moments := [*(entry.job.submit for entry in arriving[:1]), *self.moments()]:
            self.now = min(moments)
            if outlived := [entry for entry in self.running if entry.planned_end == self.now < entry.end]:
                for entry in outlived:
                    entry.planned_end = entry.start + entry.job.corrected
                self.decide(self.repair())
            if any(entry.reserved == self.now for entry in self.queue):
                self.decide(False)
            while arriving and arriving[0].job.submit == self.now:
                self.queue.append(arriving.pop(0))
                self.queue.sort(key=self.rank)
                self.decide(False)
            while ended := [entry for entry in self.running if entry.end == self.now]:
                first = min(ended, key=lambda entry: entry.order)
                self.running.remove(first)
                self.decide(first.planned_end > self.now)
        return [entries[id(job)] for job in self.jobs]

    def moments(self) -> Iterator[int]:
        for entry in self.running:
            yield entry.end
            if self.now < entry.planned_end < entry.end:
                yield entry.planned_end
        yield from (entry.reserved for entry in self.queue if entry.reserved is not None)

    def rank(self, entry: Entry) -> tuple[int, int]:
        if self.order == "need":
            return entry.job.planned, entry.place
        return (-entry.job.priority if self.order == "priority" else 0), entry.place

    def decide(self, freed: bool) -> None:
        if self.model == "fcfs":
            while self.queue and sum(entry.job.procs for entry in (*self.running, self.queue[0])) <= self.procs:
                self.start(self.queue[0])
        elif self.model == "conservative":
            self.conserve(freed)
        else:
            self.start_first()
            if self.queue:
                self.backfill()
                self.note_promise(self.queue[0])

    # ---- the pool, as it is planned ----

    def use(self, entry: Entry) -> tuple[int, int, int]:
        """From when to when it holds how many processors."""
        if entry.start != NONE:
            return entry.start, entry.planned_end, entry.job.procs
        assert entry.reserved is not None
        return entry.reserved, entry.reserved + entry.job.planned, entry.job.procs

    def uses(self) -> list[tuple[int, int, int]]:
        return [
            self.use(entry)
            for entry in (*self.running, *self.queue)
            if entry.start != NONE or entry.reserved is not None
        ]

    def free(self, moment: int) -> int:
        return self.procs - sum(procs for start, end, procs in self.uses() if start <= moment < end)

    def fits(self, job: Job, start: int) -> bool:
        inside = [moment for moment, _, _ in self.uses() if start < moment < start + job.planned]
        return all(self.free(moment) >= job.procs for moment in (start, *inside))

    def earliest(self, job: Job) -> int:
        ends = [end for _, end, _ in self.uses() if end > self.now]
        return next(moment for moment in sorted((self.now, *ends)) if self.fits(job, moment))

    def start(self, entry: Entry) -> None:
        self.queue.remove(entry)
        self.running.append(entry)
        entry.start, entry.order, entry.reserved = self.now, self.started, None
        entry.end, entry.planned_end = self.now + entry.job.need, self.now + entry.job.planned
        self.started += 1

    # ---- the models ----

    def start_first(self) -> None:
        while self.queue and self.queue[0].job.procs <= self.free(self.now):
            self.start(self.queue[0])

    def backfill(self) -> None:
        head, *others = self.queue
        shadow = next(m for m in sorted(entry.planned_end for entry in self.running) if self.free(m) >= head.job.procs)
        extra = self.free(shadow) - head.job.procs
        if self.model == "easy-sjbf":
            others.sort(key=lambda entry: (entry.job.planned, entry.place))
        for entry in others:
            in_time = self.now + entry.job.planned <= shadow
            if entry.job.procs <= self.free(self.now) and (in_time or entry.job.procs <= extra):
                self.start(entry)
                extra -= 0 if in_time else entry.job.procs

    def note_promise(self, head: Entry) -> None:
        if head.promised == NONE:
            ends = sorted(entry.planned_end for entry in self.running)
            head.promised = next(moment for moment in ends if self.free(moment) >= head.job.procs)

    def conserve(self, freed: bool) -> None:
        """Reservations for the first of the queue; behind them starts who delays none."""
        again = True
        while again:
            again = False
            depth = len(self.queue) if self.depth == NONE else self.depth
            for entry in self.queue[depth:]:
                freed |= entry.reserved is not None
                entry.reserved = None
            for entry in self.queue[:depth]:
                if entry.reserved is None:
                    entry.reserved = self.earliest(entry.job)
            for entry in self.queue[:depth] if freed else []:
                entry.reserved = None
                entry.reserved = self.earliest(entry.job)
            freed = False
            for entry in [entry for entry in self.queue if entry.reserved == self.now]:
                self.start(entry)
                again = True
        for entry in self.queue[depth:]:
            if self.fits(entry.job, self.now):
                self.start(entry)

    def repair(self) -> bool:
        """While more is planned than there is, moves the last of the queue that is reserved at the first such moment.

        Whether it moved any."""
        moved = False
        while over := [
            entry.reserved for entry in self.queue if entry.reserved is not None and self.free(entry.reserved) < 0
        ]:
            first = min(over)
            last = [entry for entry in self.queue if entry.reserved is not None and self.holds(entry, first)][-1]
            last.reserved = None
            last.reserved = self.earliest(last.job)
            moved = True
        return moved

    def holds(self, entry: Entry, moment: int) -> bool:
        start, end, _ = self.use(entry)
        return start <= moment < end
