"""Site: a cluster's queues, nodes, QOS and associations, as a value that can be kept in a file (site_file.py).

`policy install` gathers it from Slurm and `adminkit site` writes it down; other commands take it from a file (--site).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

#: The first uid of users who are known by name only: above any that a system gives away.
_MADE_UP: Final = 4_000_000_000

#: What Slurm calls a GPU of no type.
UNTYPED: Final = "gpu"

_FORM: Final[Any] = {"extra": "forbid", "strict": True}


@dataclass(frozen=True, slots=True)
class SiteQueue:
    """A queue as it is configured. None is unknown; for a limit or a list of who may use it: no such limit or list.

    Trap: `default_limit` is None where the queue has no DefaultTime of its own; `usual_limit` is what a job then gets.
    """

    __pydantic_config__ = _FORM

    name: str
    default_limit: int | None = None  # seconds
    max_limit: int | None = None  # seconds
    min_nodes: int | None = None
    max_nodes: int | None = None
    up: bool = True
    is_default: bool = False
    total_nodes: int | None = None
    node_cpus: int | None = None  # of its largest node, like the next two
    node_mem: int | None = None  # bytes
    node_gpus: int | None = None
    gpu_types: frozenset[str] | None = None
    features: frozenset[str] | None = None
    allow_accounts: frozenset[str] | None = None
    deny_accounts: frozenset[str] | None = None
    allow_qos: frozenset[str] | None = None
    deny_qos: frozenset[str] | None = None
    allow_groups: frozenset[str] | None = None
    whole: bool = False  # its jobs take whole nodes: OverSubscribe=EXCLUSIVE
    priority_tier: int | None = None
    priority_factor: int | None = None  # PriorityJobFactor

    @property
    def usual_limit(self) -> int | None:
        """The limit of a job that asks for none, seconds; None for no limit."""
        return self.max_limit if self.default_limit is None else self.default_limit


@dataclass(frozen=True, slots=True)
class SiteNode:
    """A node as it is configured. None is unknown."""

    __pydantic_config__ = _FORM

    name: str
    cpus: int | None = None
    mem: int | None = None  # bytes
    gpus: Mapping[str, int] = field(default_factory=dict)  # how many of each type; UNTYPED for one without
    features: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    weight: int | None = None
    gpu_shares: Mapping[str, int] = field(default_factory=dict)  # shards and MPS of all of them: shard, shard:a100, mps


@dataclass(frozen=True, slots=True)
class SiteQos:
    """A QOS. None: unlimited."""

    __pydantic_config__ = _FORM

    name: str
    priority: int = 0
    max_limit: int | None = None  # seconds: MaxWall
    flags: frozenset[str] = frozenset()
    preempts: frozenset[str] = frozenset()
    max_tres: Mapping[str, int] = field(default_factory=dict)  # of one job; memory in bytes
    max_user_tres: Mapping[str, int] = field(default_factory=dict)  # of one user's running jobs
    group_tres: Mapping[str, int] = field(default_factory=dict)  # of all running jobs
    max_user_jobs: int | None = None  # that run
    group_jobs: int | None = None


@dataclass(frozen=True, slots=True)
class Association:
    """An account, or a user's part of one (`user`), in one queue where `queue` names it. None: unlimited."""

    __pydantic_config__ = _FORM

    account: str
    user: str | None = None
    queue: str | None = None
    parent: str | None = None  # of an account
    shares: int | None = None  # None: its parent's
    max_limit: int | None = None  # seconds: MaxWall
    qos: frozenset[str] = frozenset()
    default_qos: str | None = None


@dataclass(frozen=True, slots=True)
class SiteScheduler:
    """How slurmctld schedules, in the words of slurm.conf. Seconds, but for what yields, which is in microseconds.

    None is unknown: the simulator takes Slurm's default.
    """

    __pydantic_config__ = _FORM

    release: str | None = None  # 24.11
    backfill: bool | None = None
    default_queue_depth: int | None = None
    partition_job_depth: int | None = None
    sched_interval: int | None = None
    sched_min_interval: int | None = None  # microseconds
    batch_sched_delay: int | None = None
    bf_interval: int | None = None
    bf_window: int | None = None
    bf_resolution: int | None = None
    bf_max_job_test: int | None = None
    bf_max_job_start: int | None = None
    bf_max_job_user: int | None = None
    bf_max_job_part: int | None = None
    bf_max_job_array_resv: int | None = None
    bf_max_time: int | None = None
    bf_continue: bool | None = None
    bf_min_prio_reserve: int | None = None
    bf_min_age_reserve: int | None = None
    bf_job_part_count_reserve: int | None = None
    bf_one_resv_per_job: bool | None = None
    bf_window_linear: int | None = None
    bf_yield_interval: int | None = None  # microseconds
    bf_yield_sleep: int | None = None  # microseconds
    time_min_as_soft_limit: bool | None = None
    kill_wait: int | None = None
    complete_wait: int | None = None
    epilog: int | None = None  # what the site's Epilog takes; Slurm does not tell
    over_time_limit: int | None = None
    priority_calc_period: int | None = None
    priority_max_age: int | None = None
    priority_favor_small: bool | None = None
    priority_weight_age: int | None = None
    priority_weight_job_size: int | None = None
    priority_weight_partition: int | None = None
    priority_weight_qos: int | None = None
    priority_weight_fairshare: int | None = None
    priority_weight_assoc: int | None = None
    memory: bool | None = None  # it is handed out to jobs: CR_…_Memory
    whole_nodes: bool | None = None  # no two jobs share a node: select/linear
    preemption: bool | None = None
    other: frozenset[str] = frozenset()  # further words of SchedulerParameters that change when jobs start


@dataclass(frozen=True, slots=True)
class Site:
    """One cluster. `privileged` are the uids of root, SlurmUser, operators and administrators."""

    __pydantic_config__ = _FORM

    cluster: str
    queues: tuple[SiteQueue, ...] = ()
    privileged: frozenset[int] = frozenset({0})
    uids: Mapping[str, int] = field(default_factory=dict)  # of the users that the policy names
    nodes: tuple[SiteNode, ...] = ()
    qos: tuple[SiteQos, ...] = ()
    associations: tuple[Association, ...] = ()
    scheduler: SiteScheduler = field(default_factory=SiteScheduler)

    def queue(self, name: str) -> SiteQueue | None:
        """The queue of this name."""
        return next((one for one in self.queues if one.name == name), None)


#: The fields of a queue that its nodes say.
SIZES: Final = ("node_cpus", "node_mem", "node_gpus", "gpu_types", "features")


def sized(queue: SiteQueue, nodes: Iterable[SiteNode]) -> SiteQueue:
    """The queue with what its largest node has, where it does not say that itself."""
    inside = [node for node in nodes if queue.name in node.queues]
    if not inside:
        return queue
    sizes: dict[str, Any] = {
        "node_cpus": max((node.cpus for node in inside if node.cpus is not None), default=None),
        "node_mem": max((node.mem for node in inside if node.mem is not None), default=None),
        "node_gpus": max(sum(node.gpus.values()) for node in inside),
        "gpu_types": frozenset(name for node in inside for name in node.gpus if name != UNTYPED),
        "features": frozenset().union(*(node.features for node in inside)),
    }
    return replace(queue, **{name: value for name, value in sizes.items() if getattr(queue, name) is None})


def unsized(queue: SiteQueue, nodes: Iterable[SiteNode]) -> SiteQueue:
    """The queue without what `sized` would say of it."""
    nothing: dict[str, Any] = dict.fromkeys(SIZES)
    same = sized(replace(queue, **nothing), nodes)
    return replace(
        queue, **{name: none for name, none in nothing.items() if getattr(queue, name) == getattr(same, name)}
    )


def made_up(
    queues: Iterable[str], users: Iterable[str] = (), limits: Mapping[str, tuple[int | None, int | None]] | None = None
) -> Site:
    """A cluster of these queues, the first the default one, all of them up, open to everybody and of nodes with 8 GPUs.

    `limits` are queues' own default and maximum limits, where they are known.
    """
    limits = limits or {}
    names = list(dict.fromkeys(queues))
    uids = {user: _MADE_UP + number for number, user in enumerate(dict.fromkeys(users))}
    none = (None, None)
    return Site(
        "example",
        tuple(SiteQueue(name, *limits.get(name, none), is_default=name == names[0], node_gpus=8) for name in names),
        uids=uids,
    )


def keys_of(kind: type) -> list[str]:
    """The keys that a table of the file may have, in their order."""
    return [one.name for one in fields(kind)]
