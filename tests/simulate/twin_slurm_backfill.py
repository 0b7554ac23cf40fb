"""The twin of the model `slurm`: one pass of backfill."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adminkit.simulate.core import NONE
from tests.simulate.twin_slurm_input import WAITING, Job, Node, Queue
from tests.simulate.twin_slurm_nodes import Chosen, pick
from tests.simulate.twin_slurm_timeline import TimeLine
from tests.simulate.twin_slurm_willrun import will_run

if TYPE_CHECKING:
    from tests.simulate.twin_slurm import Run


class PassEnds(Exception):
    """The pass of backfill ends here."""


@dataclass
class Record:
    """A job in one of its queues, and how far its tests are."""

    job: Job
    queue: Queue
    noreserve: bool = False
    counted: bool = False

    @property
    def where(self) -> tuple[int, Queue]:
        return self.job.array, self.queue


class Backfill:
    def __init__(self, run: Run, t0: int) -> None:
        self.of, self.set, self.t0 = run, run.set, t0
        s = run.set
        res = s.bf_resolution
        self.window_end = (t0 + s.bf_window) // res * res
        self.line = TimeLine(t0 // res * res, self.window_end, [node for node in run.nodes if not node.down], res)
        self.micros = self.yielded = 0
        self.now = self.resumed = t0
        self.most_time = s.bf_interval if s.bf_max_time == NONE else s.bf_max_time
        self.tests = self.starts = 0
        self.queue_tests: Counter[Queue] = Counter()
        self.queue_reserved: Counter[Queue] = Counter()
        self.user_tests: Counter[int] = Counter()
        self.rejected: set[tuple[int, Queue]] = set()
        self.array_reserved: Counter[tuple[int, Queue]] = Counter()

    def run(self) -> None:
        records = self.of.records(backfill=True)
        if not self.of.having(WAITING):
            self.of.last_bf = self.t0
            return
        self.of.facts["backfill_passes"] += 1
        self.of.plans = []
        for job in self.of.turn:
            job.planned = False
        try:
            for job, queue, priority in records:
                self.record(job, queue, priority)
        except PassEnds:
            pass
        self.of.last_bf = self.of.locked_until = self.now

    def tell_time(self) -> None:
        self.now = self.t0 + self.micros // 10**6

    def give_way(self) -> None:
        """The page's yield."""
        if self.micros - self.yielded < self.set.bf_yield_interval:
            return
        self.of.locked_until = self.now
        self.micros += self.set.bf_yield_sleep
        self.yielded = self.micros
        self.tell_time()
        self.resumed = self.now
        changes = self.of.changes
        self.of.up_to(self.now)
        if not self.set.bf_continue and self.of.changes > changes:
            raise PassEnds

    def record(self, job: Job, queue: Queue, priority: int) -> None:
        """Steps 1 to 6."""
        s = self.set
        if self.tests >= s.bf_max_job_test or self.window_end < self.now or self.now - self.t0 >= self.most_time:
            raise PassEnds
        self.give_way()
        if job.state != WAITING or self.of.held(job):
            return
        record = Record(job, queue, self.reserves_nothing(job, queue, priority))
        if job.array != NONE:
            if record.where in self.rejected or self.array_reserved[record.where] >= s.bf_max_job_array_resv:
                return
            self.rejected.add(record.where)
        if 0 < s.bf_max_job_part <= self.queue_tests[queue]:
            return
        if job.user != NONE and 0 < s.bf_max_job_user <= self.user_tests[job.user]:
            return
        self.queue_tests[queue] += 1
        self.user_tests[job.user] += 1
        start: int | None = self.now
        while start is not None:
            start = self.attempt(record, start)

    def reserves_nothing(self, job: Job, queue: Queue, priority: int) -> bool:
        s = self.set
        return (
            priority < s.bf_min_prio_reserve
            or self.now - job.submit < s.bf_min_age_reserve
            or (s.bf_one_resv_per_job == 1 and job.planned)
            or 0 < s.bf_job_part_count_reserve <= self.queue_reserved[queue]
        )

    def attempt(self, record: Record, start: int) -> int | None:
        """Steps 7 to 15: when to try again; None: on to the next record."""
        job, queue, noreserve = record.job, record.queue, record.noreserve
        if self.now - self.t0 >= self.most_time:
            raise PassEnds
        self.give_way()
        if job.state != WAITING or self.window_end < start:
            return None
        plan = job.backfill_limit(queue)
        newer = self.set.release >= 2311
        usable, later = self.line.usable(
            self.of.eligible_up(job, queue), start, max(start, self.now) + plan, stop_sets_later=newer
        )
        again = None if noreserve else later
        if len(usable) < job.least:
            return again
        if not record.counted:
            self.tests += 1
            record.counted = True
        self.of.facts["job_tests"] += 1
        self.micros += self.set.test_micros
        will = will_run(self.of, job, queue, usable, start, later, noreserve, self.now)
        self.tell_time()
        if will is None:
            return again
        when, nodes = max(will.when, start), set(will.chosen)
        asked = newer and when > self.now
        if asked and self.overlaps(nodes, when, plan):
            return when
        if when <= self.now and any(node.completing for node in nodes):
            when, later = self.now + 1, None
        if when <= self.now:
            here = [node for node in usable if not node.completing]
            chosen = pick(job, job.whole_in(queue), here, Node.free)
            if chosen is not None:
                self.start(record, chosen)
                return None
            later = None
        if when > self.now and noreserve:
            job.planned = True
            return None
        if later is not None and when > later:
            return later
        if when > self.resumed + self.set.bf_window:
            job.planned = True
            return None
        if not asked and (newer or when > self.now) and self.overlaps(nodes, when, plan):
            return when
        if not noreserve:
            self.reserve(record, when, nodes, plan)
        return None

    def slot_of(self, when: int, plan: int) -> tuple[int, int]:
        res = self.set.bf_resolution
        end = when + plan + (res - 1 if self.set.release >= 2311 else 0)
        return when // res * res, end // res * res

    def overlaps(self, nodes: set[Node], when: int, plan: int) -> bool:
        return self.line.overlap(nodes, *self.slot_of(when, plan))

    def reserve(self, record: Record, when: int, nodes: set[Node], plan: int) -> None:
        self.queue_reserved[record.queue] += 1
        self.rejected.discard(record.where)
        record.job.planned = True
        if record.job.promised == NONE:
            record.job.promised = when
        if self.line.made >= self.set.bf_max_job_test:
            raise PassEnds
        self.line.add(*self.slot_of(when, plan), nodes)
        self.of.plans.append((record.job, when, nodes))
        self.array_reserved[record.where] += 1
        self.of.facts["reservations"] += 1

    def start(self, record: Record, chosen: Chosen) -> None:
        """Step 10, where nodes were found."""
        job, queue, s = record.job, record.queue, self.set
        self.of.start(job, queue, chosen, self.now, self.limit(job, queue, set(chosen)))
        self.of.facts["backfill_starts"] += 1
        self.rejected.discard(record.where)
        self.starts += 1
        if job.whole_in(queue) and self.line.made < s.bf_max_job_test:
            end = job.planned_end(self.now, s, soft=True)
            end = -(-end // s.bf_resolution) * s.bf_resolution
            self.line.add(self.line.slots[0].begin, end, set(chosen))
        if 0 < s.bf_max_job_start <= self.starts:
            raise PassEnds

    def limit(self, job: Job, queue: Queue, nodes: set[Node]) -> int:
        longest = job.planned_limit(queue)
        if self.set.time_min_as_soft_limit == 1 or job.plan == NONE or job.plan >= longest:
            return job.limit_in(queue)
        if self.set.release < 2505:
            return job.plan
        limit = longest
        for slot in self.line.slots:
            if slot.begin != self.now and slot.begin < self.now + longest and not nodes <= slot.free:
                limit = min(limit, (slot.begin - self.now) // 60 * 60)
        return max(job.plan, limit)
