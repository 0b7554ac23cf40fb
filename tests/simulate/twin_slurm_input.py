"""What a Request gives the twin of the model `slurm`: the records of workload.h, and what a run makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from adminkit.simulate.core import NONE, NOT_RUN

YEAR: Final = 365 * 86400
NEW, WAITING, RUNNING, COMPLETING, OVER = "new", "waiting", "running", "completing", "over"


@dataclass(frozen=True)
class Settings:
    """A site's settings, with the program's defaults."""

    procs: int = NONE
    order: int = 0
    depth: int = NONE
    promises: int = 0
    release: int = 2605
    default_queue_depth: int = 100
    partition_job_depth: int = 0
    sched_interval: int = 60
    sched_min_interval: int = 2
    batch_sched_delay: int = 3
    backfill: int = 1
    bf_interval: int = 30
    bf_window: int = 86400
    bf_resolution: int = 60
    bf_max_job_test: int = 500
    bf_max_job_start: int = 0
    bf_max_job_user: int = 0
    bf_max_job_part: int = 0
    bf_max_job_array_resv: int = 20
    bf_max_time: int = NONE
    bf_continue: int = 0
    bf_min_prio_reserve: int = 0
    bf_min_age_reserve: int = 0
    bf_job_part_count_reserve: int = 0
    bf_one_resv_per_job: int = 0
    bf_window_linear: int = 0
    bf_yield_interval: int = 2000000
    bf_yield_sleep: int = 500000
    time_min_as_soft_limit: int = 0
    kill_wait: int = 30
    complete_wait: int = 0
    epilog: int = 0
    over_time_limit: int = 0
    tick: int = 30
    priority_calc_period: int = 300
    priority_max_age: int = 604800
    priority_favor_small: int = 0
    priority_weight_age: int = 0
    priority_weight_job_size: int = 0
    priority_weight_partition: int = 0
    priority_weight_qos: int = 0
    test_micros: int = 0
    extend_every: int = 0
    extend_lead: int = 600
    extend_times: int = 8


@dataclass(frozen=True)
class Queue:
    """A queue and its number."""

    number: int
    tier: int = 1
    factor: int = 1
    max_limit: int = NONE
    default_limit: int = NONE
    min_nodes: int = NONE
    max_nodes: int = NONE
    whole: int = 0
    up: int = 1

    @property
    def longest(self) -> int:
        """Its max_limit, of a second at least."""
        return self.max_limit or 1

    @property
    def usual(self) -> int:
        """Its default_limit, of a second at least."""
        return self.default_limit or 1


@dataclass(frozen=True)
class Kind:
    """A class of nodes."""

    count: int = 1
    cpus: int = 1
    mem: int = 0
    gpus: int = 0
    gpu_type: int = NONE
    features: int = 0
    queues: int = 1
    weight: int = 1


@dataclass(eq=False)
class Down:
    """From start to end, some nodes of a class take no new job: `held` while that lasts."""

    nodes: int = 0
    count: int = 1
    start: int = 0
    end: int = 0
    held: list[Node] = field(init=False, default_factory=list)


@dataclass(frozen=True)
class Qos:
    priority: int = 0
    max_user_cpus: int = NONE
    max_user_gpus: int = NONE
    max_user_jobs: int = NONE
    group_cpus: int = NONE
    group_gpus: int = NONE
    group_jobs: int = NONE


class Take(NamedTuple):
    """What a job holds of one node."""

    cpus: int
    gpus: int
    mem: int


@dataclass(eq=False)
class Job:
    """A job as it was given, by what the page derives from that, and where it stands."""

    place: int
    submit: int
    run: int
    id: int = NONE
    limit: int = NONE
    procs: int = NONE
    plan: int = NONE
    priority: int = NONE
    queues: int = 1
    features: int = 0
    nodes: int = 1
    most_nodes: int = NONE
    cpus: int = 1
    mem: int = 0
    gpus: int = 0
    gpu_type: int = NONE
    user: int = NONE
    array: int = NONE
    qos: int = NONE
    nice: int = 0
    site_factor: int = 0
    whole: int = 0
    most_limit: int = NONE
    step: int = 0

    turn: int = field(init=False, default=NONE)
    state: str = field(init=False, default=NEW)
    main: list[Queue] = field(init=False, default_factory=list)
    back: list[Queue] = field(init=False, default_factory=list)
    priority_in: dict[Queue, int] = field(init=False, default_factory=dict)
    planned: bool = field(init=False, default=False)
    promised: int = field(init=False, default=NONE)

    queue: Queue | None = field(init=False, default=None)
    held: dict[Node, Take] = field(init=False, default_factory=dict)
    start: int = field(init=False, default=NONE)
    asked: int = field(init=False, default=NONE)  # its limit when it started
    ran_with: int = field(init=False, default=NONE)  # the one in force
    raises: int = field(init=False, default=NONE)
    raised_at: float = field(init=False, default=-math.inf)
    hard_end: int = field(init=False, default=NONE)
    end: int = field(init=False, default=NONE)
    ended_by_tick: bool = field(init=False, default=False)
    release: int = field(init=False, default=NONE)
    outcome: int = field(init=False, default=NOT_RUN)
    order: int = field(init=False, default=NONE)

    def __post_init__(self) -> None:
        self.plan = self.plan or 1

    @property
    def least(self) -> int:
        return max(1, self.nodes)

    @property
    def most(self) -> int:
        return max(self.least, self.most_nodes)

    @property
    def cpu_share(self) -> int:
        return max(1, -(-self.cpus // self.least)) if self.most == self.least else 1

    @property
    def gpu_share(self) -> int:
        return -(-self.gpus // self.least)

    def whole_in(self, queue: Queue) -> bool:
        return self.whole == 1 or queue.whole == 1

    def limit_in(self, queue: Queue) -> int:
        """The limit that it runs with; NONE: none."""
        return next((x for x in (self.limit, queue.usual, queue.longest) if x != NONE), NONE)

    def planned_limit(self, queue: Queue) -> int:
        """The page's L."""
        limit = next((x for x in (self.limit, queue.longest) if x != NONE), YEAR)
        return limit if queue.longest == NONE else min(limit, queue.longest)

    def backfill_limit(self, queue: Queue) -> int:
        """The page's P."""
        limit = self.planned_limit(queue)
        return self.plan if self.plan != NONE and self.plan < limit else limit

    def soft_end(self, settings: Settings) -> int | None:
        """start + plan, where that is its soft limit."""
        limit = YEAR if self.asked == NONE else self.asked
        has_one = settings.time_min_as_soft_limit == 1 and self.plan != NONE and self.plan < limit
        return self.start + self.plan if has_one else None

    def planned_end(self, now: int, settings: Settings, soft: bool) -> int:
        end = self.soft_end(settings) if soft else None
        if end is None:
            return self.hard_end
        if end >= now:
            return end
        return now + (self.hard_end - now) // 2 if self.hard_end > now else self.hard_end


class Free(NamedTuple):
    cpus: int
    gpus: int
    mem: int
    empty: bool


@dataclass(eq=False)
class Node:
    number: int
    kind: Kind
    class_number: int
    down: bool = False
    running: dict[Job, Take] = field(default_factory=dict)
    completing: set[Job] = field(default_factory=set)

    @property
    def idle(self) -> bool:
        return not self.running and not self.completing

    @property
    def has_whole_job(self) -> bool:
        return any(job.queue is not None and job.whole_in(job.queue) for job in self.running)

    def free(self, without: set[Job] | None = None) -> Free:
        """What no running job holds, but for those `without` which the node is looked at."""
        takes = [take for job, take in self.running.items() if job not in (without or ())]
        return Free(
            self.kind.cpus - sum(take.cpus for take in takes),
            self.kind.gpus - sum(take.gpus for take in takes),
            self.kind.mem - sum(take.mem for take in takes),
            not takes,
        )

    def when_empty(self) -> Free:
        return Free(self.kind.cpus, self.kind.gpus, self.kind.mem, True)

    def in_queue(self, queue: Queue) -> bool:
        return bool(self.kind.queues >> queue.number & 1)


def read_jobs(columns: Mapping[str, Any], count: int) -> list[Job]:
    """The jobs in the order of the request; one without an id has its place."""
    lists = {name: [int(value) for value in column] for name, column in columns.items()}
    lists.setdefault("id", list(range(count)))
    return [Job(place=i, **{name: values[i] for name, values in lists.items()}) for i in range(count)]
