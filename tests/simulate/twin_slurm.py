"""A plain and slow twin of the model `slurm`, written from docs/simulate-slurm.md alone: one second, the main loop."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adminkit.simulate.core import DONE, KILLED, NONE, Request, Schedule
from tests.simulate.twin_slurm_backfill import Backfill
from tests.simulate.twin_slurm_extend import extend
from tests.simulate.twin_slurm_input import (
    COMPLETING,
    NEW,
    OVER,
    RUNNING,
    WAITING,
    YEAR,
    Down,
    Job,
    Kind,
    Node,
    Qos,
    Queue,
    Settings,
    read_jobs,
)
from tests.simulate.twin_slurm_limits import Priority, alone_above, held, queues_of
from tests.simulate.twin_slurm_nodes import Chosen, eligible, pick, take

FACTS = (
    "passes full_passes backfill_passes job_tests reservations main_starts backfill_starts most_waiting started"
).split()
EXTENDED = "raises lowered refused_most refused_waiting refused_planned".split()
Record = tuple[Job, Queue, int]


def twin(request: Request) -> Schedule:
    """What adminkit-simulate answers."""
    run = Run(request)
    run.run()

    def column(name: str) -> NDArray[np.int64]:
        return np.array([getattr(job, name) for job in run.jobs], np.int64)

    extends = run.set.extend_every > 0
    facts = {name: run.facts[name] for name in (*FACTS, *(EXTENDED if extends else ()))}
    promised = column("promised") if run.set.promises else None
    schedule = Schedule(column("start"), column("end"), column("outcome"), column("order"), facts, promised)
    return replace(schedule, last_limit=column("ran_with"), raises=column("raises")) if extends else schedule


class Run:
    def __init__(self, request: Request) -> None:
        self.set = Settings(**request.settings)
        self.queues = [Queue(number, **each) for number, each in enumerate(request.queues)]
        kinds = [(i, Kind(**each)) for i, each in enumerate(request.nodes)]
        each_node = [(i, kind) for i, kind in kinds for _ in range(kind.count)]
        self.nodes = [Node(number, kind, i) for number, (i, kind) in enumerate(each_node)]
        self.down = [Down(**each) for each in request.down]
        self.qos = [Qos(**each) for each in request.qos]
        self.jobs = read_jobs(request.jobs, request.count)
        self.facts: Counter[str] = Counter()
        self.plans: list[tuple[Job, int, set[Node]]] = []  # of the pass of backfill that is the last one
        self.priority = Priority(self.set, self.queues, self.nodes, self.qos)
        can_run = [job for job in self.jobs if job.run > 0 and job.limit != 0]
        turn = sorted(can_run, key=lambda job: (job.submit, job.id, job.place))
        for i, job in enumerate(turn):
            job.turn = i
        self.origin = turn[0].submit if turn else 0
        self.turn = [job for job in turn if self._can_run(job)]
        self.last_submit = max((job.submit for job in turn), default=self.origin)  # also of jobs that cannot run
        # Times that were never reached are minus infinity.
        self.second: float = -math.inf  # whose steps 1 to 4 were last
        self.submitted: float = -math.inf  # whose step 6 was last
        self.last_full: float = self.origin
        self.last_bf: float = self.origin
        self.last_sched = self.last_pass = self.locked_until = self.changed = -math.inf
        self.request = self.full = False
        self.queued_since: int | None = None  # None: nothing is queued
        self.changes = 0
        self.settled = 0  # 1: a full pass started nothing since all is quiet; 2: and then one of backfill

    def _can_run(self, job: Job) -> bool:
        shorter = job.plan if job.plan != NONE else job.limit
        job.main = queues_of(job, self.queues, self.nodes, job.limit)
        job.back = queues_of(job, self.queues, self.nodes, shorter) if self.set.backfill == 1 else []
        return bool(job.main or job.back) and not alone_above(job, self._qos_of(job))

    def _qos_of(self, job: Job) -> Qos | None:
        return self.qos[job.qos] if job.qos != NONE else None

    # The states of jobs

    def having(self, state: str) -> list[Job]:
        """By turn."""
        return [job for job in self.turn if job.state == state]

    def held(self, job: Job) -> bool:
        return held(job, self._qos_of(job), self.having(RUNNING))

    def change(self, t: int) -> None:
        self.changed = max(self.changed, t)
        self.changes += 1

    def start(self, job: Job, queue: Queue, chosen: Chosen, t: int, limit: int) -> None:
        job.state, job.queue, job.start, job.asked, job.raises = RUNNING, queue, t, limit, 0
        job.held = take(job, job.whole_in(queue), chosen)
        for node, what in job.held.items():
            node.running[job] = what
        self.end_with(job, limit)
        job.order = self.facts["started"]
        self.facts["started"] += 1
        self.change(t)

    def end_with(self, job: Job, limit: int) -> None:
        s, t = self.set, job.start
        job.ran_with = limit
        job.hard_end = t + (YEAR if limit == NONE else limit)
        tick = self.origin + -((self.origin - job.hard_end - s.over_time_limit) // s.tick) * s.tick
        job.end = t + job.run
        job.ended_by_tick = limit != NONE and tick < job.end
        if job.ended_by_tick:
            job.end = tick
        job.release = job.end + s.epilog + (s.kill_wait if job.ended_by_tick else 0)
        job.outcome = KILLED if limit != NONE and job.run > limit + s.over_time_limit else DONE

    def records(self, backfill: bool) -> list[Record]:
        found = [
            (job, queue, job.priority_in[queue])
            for job in self.having(WAITING)
            for queue in (job.back if backfill else job.main)
        ]
        return sorted(found, key=lambda each: (-each[1].tier, -each[2], each[0].turn, each[1].number))

    def eligible_up(self, job: Job, queue: Queue) -> set[Node]:
        """The queue's eligible nodes that are not down."""
        return {node for node in self.nodes if node.in_queue(queue) and not node.down and eligible(job, node)}

    # One second

    def run(self) -> None:
        while not self.over():
            t = self.next_due()
            self.steps_1_to_4(t)
            if self.backfill_due(t):
                settled = self.settled
                Backfill(self, t).run()
                self.settled = 2 if settled and self.quiet() else self.settled
            self.submissions()

    def quiet(self) -> bool:
        going = any(job.state in (NEW, RUNNING, COMPLETING) for job in self.turn)
        going = going or self.submitted < self.last_submit
        return not going and not any(line.start < line.end and line.end > self.second for line in self.down)

    def over(self) -> bool:
        if not self.quiet():
            self.settled = 0
            return False
        return not self.having(WAITING) or self.settled == (2 if self.set.backfill == 1 else 1)

    def next_due(self) -> int:
        """The next second in which anything may be due: one too many does no harm."""
        s = self.set
        dates: list[float] = [self.origin, self.last_submit, self._next_priorities()]
        dates += [job.submit for job in self.turn if job.state == NEW]
        dates += [job.end for job in self.turn if job.state == RUNNING]
        dates += [job.release for job in self.turn if job.state == COMPLETING]
        dates += [max(self.origin, at) for line in self.down for at in (line.start, line.end)]
        if (every := s.extend_every) and self.having(RUNNING):
            dates += [self.origin + int(max(0, self.second - self.origin + every) // every) * every]
        # What is due from a second on, until it is done.
        first = max(self.origin, self.second + 1)
        dates += [max(first, self.last_full + s.sched_interval)]
        dates += [max(first, self.last_sched + s.batch_sched_delay)] if self.queued_since is not None else []
        dates += [first] if self.request else []
        dates += [max(first, self.last_bf + s.bf_interval)] if s.backfill and self.changed >= self.last_bf else []
        return int(min(date for date in dates if date > self.second))

    def _next_priorities(self) -> float:
        period = self.set.priority_calc_period
        return self.origin + (max(0, self.second - self.origin) // period + 1) * period

    def up_to(self, now: int) -> None:
        """All that is due up to and with `now`, but for backfill."""
        self.submissions()
        while self.second < now and (t := self.next_due()) <= now:
            self.steps_1_to_4(t)
            self.submissions()

    def steps_1_to_4(self, t: int) -> None:
        self.second = t
        self.go_down_and_come_back(t)
        self.background(t)
        self.main_loop_if_due(t)
        self.end_and_release(t)
        self.main_loop_if_due(t)
        extend(self, t)

    def go_down_and_come_back(self, t: int) -> None:
        lines = [line for line in self.down if line.start < line.end and line.end > self.origin]
        for line in self.down:
            if line.end == t and line.held:
                for node in line.held:
                    node.down = False
                line.held = []
                self.change(t)
        for line in lines:
            if max(line.start, self.origin) == t:
                kind = [node for node in self.nodes if node.class_number == line.nodes and not node.down]
                line.held = sorted(kind, key=lambda node: (not node.idle, node.number))[: line.count]
                for node in line.held:
                    node.down = True
                if line.held:
                    self.change(t)

    def end_and_release(self, t: int) -> None:
        for job in self.having(RUNNING):
            if job.end == t:
                job.state = COMPLETING
                for node in job.held:
                    del node.running[job]
                    node.completing.add(job)
                self.change(t)
        for job in self.having(COMPLETING):
            if job.release == t:
                job.state = OVER
                for node in job.held:
                    node.completing.remove(job)
                self.change(t)
                if self.set.release < 2311 or self.set.epilog > 0 or job.ended_by_tick:
                    self.request = True
                else:
                    self.queue(t)

    def queue(self, t: int) -> None:
        if self.queued_since is None:
            self.queued_since = t

    def background(self, t: int) -> None:
        s = self.set
        since = t - self.origin
        if since > 0 and since % s.priority_calc_period == 0:
            for job in self.having(WAITING):
                self.set_priority(job, t)
                self.change(t)
        if t - self.last_full >= s.sched_interval:
            self.request = self.full = True
            self.last_full = self.last_sched = t
            self.queued_since = None
        elif self.queued_since is not None and self.queued_since < t and t - self.last_sched >= s.batch_sched_delay:
            self.request = True
            self.last_sched = t
            self.queued_since = None

    def set_priority(self, job: Job, t: int) -> None:
        for queue in {*job.main, *job.back}:
            job.priority_in[queue] = self.priority.of(job, queue, t)

    def waits_for_completing(self, t: int) -> bool:
        wait = self.set.complete_wait
        return wait > 0 and any(job.end >= t - wait for job in self.having(COMPLETING))

    def submissions(self) -> None:
        """Step 6 of the second whose steps 1 to 4 were last, once."""
        t = int(self.second)
        if self.submitted == t:
            return
        self.submitted = t
        for job in self.turn:
            if job.submit == t and job.state == NEW:
                job.state = WAITING
                self.set_priority(job, t)
                self.queue(t)
                self.change(t)
        self.facts["most_waiting"] = max(self.facts["most_waiting"], len(self.having(WAITING)))

    def backfill_due(self, t: int) -> bool:
        s = self.set
        due = s.backfill == 1 and t >= self.last_bf + s.bf_interval and self.changed >= self.last_bf
        return due and not self.waits_for_completing(t)

    # Main loop

    def main_loop_if_due(self, t: int) -> None:
        if not self.request or t < self.locked_until:
            return
        if t - self.last_pass < self.set.sched_min_interval // 10**6:
            return
        full, self.request, self.full = self.full, False, False
        if self.waits_for_completing(t):
            return
        self.last_pass = t
        if self.records(backfill=False):
            self.facts["passes"] += 1
            self.facts["full_passes"] += full
        MainPass(self, t, full).run()
        if full and self.quiet():
            self.settled = max(self.settled, 1)


class MainPass:
    def __init__(self, run: Run, t: int, full: bool) -> None:
        self.of, self.t, self.full = run, t, full
        self.avail = {node for node in run.nodes if not node.down}
        self.blocked: set[Queue] = set()
        self.rejected: set[tuple[int, Queue]] = set()
        self.depth: Counter[Queue] = Counter()

    def run(self) -> None:
        s = self.of.set
        before = 0
        for job, queue, priority in self.of.records(backfill=False):
            self.of.change(self.t)
            if job.state != WAITING or (job.array, queue) in self.rejected:
                continue
            self.depth[queue] += 1
            if 0 < s.partition_job_depth < self.depth[queue]:
                continue
            if not self.full:
                if before > s.default_queue_depth:
                    return
                before += 1
            if queue not in self.blocked:
                self.record(job, queue, priority)

    def record(self, job: Job, queue: Queue, priority: int) -> None:
        s = self.of.set
        if self.of.held(job):
            self.reject(job, queue)
            return
        if job.least > sum(node.in_queue(queue) for node in self.avail):
            busy = True
        else:
            eligible_here = {node for node in self.avail if node.in_queue(queue) and eligible(job, node)}
            whole = job.whole_in(queue)
            self.of.facts["job_tests"] += 1
            chosen = pick(job, whole, [node for node in eligible_here if not node.completing], Node.free)
            if chosen is not None:
                self.of.start(job, queue, chosen, self.t, job.limit_in(queue))
                self.of.facts["main_starts"] += 1
                return
            busy = self.busy(job, whole, eligible_here)
        self.reject(job, queue)
        young = self.t - job.submit < s.bf_min_age_reserve
        if busy and not young and not priority < s.bf_min_prio_reserve:
            self.blocked.add(queue)
            self.avail -= {node for node in self.avail if node.in_queue(queue)}

    def busy(self, job: Job, whole: bool, nodes: Iterable[Node]) -> bool:
        if whole and any(not node.idle for node in nodes):
            return True
        if not whole and any(node.completing or node.has_whole_job for node in nodes):
            return True
        return pick(job, whole, nodes, Node.when_empty) is not None

    def reject(self, job: Job, queue: Queue) -> None:
        if job.array != NONE:
            self.rejected.add((job.array, queue))
