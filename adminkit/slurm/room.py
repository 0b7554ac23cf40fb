"""What each node has, what of it is taken and until when: nodes, queues, reservations and open jobs of slurmctld.

Traps: AllocTRES and CfgTRES name GPUs only where AccountingStorageTRES does, so GPUs are read from Gres and GresUsed. A
job's own share of each of several nodes is not listed: `each` is an even one. With
PrivateData=jobs the jobs of others are hidden, and so is when they end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from adminkit.gres import parse_tres as parse_tres_gpus
from adminkit.slurm import scontrol_show, squeue
from adminkit.slurm.associations import parse_tres
from adminkit.slurm.keyvalue import given, number, settings
from adminkit.slurm.partitions import shares_of
from adminkit.slurm.planning import next_start
from adminkit.slurm.power_saving import Power, Timeouts, parse_state, parse_timeouts, timeouts_of
from adminkit.slurm.release import Release, parse_release
from adminkit.slurm.scontrol_show import Around
from adminkit.slurm.seal import Marks
from adminkit.slurm.shares import Shares, gpus_of_tres, node_gres
from adminkit.slurm.show_config import show_config

#: Seconds that slurmctld may take for each question; backfill holds its locks for two at a time.
PATIENCE: Final = 6.0

_MIB: Final = 1 << 20
#: Reasons of jobs that the scheduler will start as soon as there is room for them.
READY: Final = frozenset({"None", "Priority", "Resources", ""})
#: Jobs of a day-long queue are as many; more are counted, not read.
MOST_JOBS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Vector:
    """An amount of what a node has: CPUs, bytes of memory, GPUs by type (site.UNTYPED without one), shards and MPS."""

    cpus: int = 0
    mem: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    shares: Shares = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoomNode:
    """A node. `taken`: GPUs that are cut into shards in use are taken, and so are the shards of GPUs that are taken.

    `away`: why it takes no new job, in one word of adminkit's; "" where it does.

    `wakes`: seconds in which one that is not up is so at the latest, once a job has it; `falls`: in which one that is
    on its way down can be given to a job. None: not known, or it is up.
    """

    name: str
    has: Vector
    taken: Vector
    queues: frozenset[str]
    state: str
    away: str = ""  # drained, down
    reason: str = ""  # an operator's text
    threads: int = 1  # CPUs of a core: a job gets whole cores
    features: frozenset[str] = frozenset()  # those that it has now
    features_else: frozenset[str] = frozenset()  # those that it could have after a reboot
    cut: Mapping[str, int] = field(default_factory=dict)  # GPUs by type of which shards or MPS are in use
    widest: Shares = field(default_factory=dict)  # the most that is free on a GPU that is cut, where Slurm says it
    power: Power = ""
    wakes: int | None = None
    falls: int | None = None


@dataclass(frozen=True, slots=True)
class RoomQueue:
    """A queue. Limits in seconds, memory in bytes; None: none."""

    name: str
    default_limit: int | None
    max_limit: int | None
    up: bool = True
    is_default: bool = False
    whole: bool = False  # its jobs take whole nodes
    default_mem_cpu: int | None = None
    default_mem_node: int | None = None
    max_mem_cpu: int | None = None
    max_mem_node: int | None = None
    max_cpus_node: int | None = None
    min_nodes: int = 0  # of one job
    max_nodes: int | None = None
    total_nodes: int | None = None  # more than are shown where a cloud's sleep: PrivateData=cloud shows them
    qos: str | None = None
    allow_accounts: frozenset[str] | None = None
    deny_accounts: frozenset[str] | None = None
    allow_qos: frozenset[str] | None = None
    deny_qos: frozenset[str] | None = None
    allow_groups: frozenset[str] | None = None
    tier: int = 1  # PriorityTier
    preempt_mode: str = "OFF"


@dataclass(frozen=True, slots=True)
class Reserved:
    """A reservation's next time on its nodes, epoch seconds."""

    name: str
    nodes: frozenset[str]
    starts: int
    ends: int


@dataclass(frozen=True, slots=True)
class RoomJob:
    """A job that runs (`nodes`, `ends`) or waits (`nodes`, `starts`: backfill's plan, empty and None without)."""

    job_id: int
    state: str
    queue: str
    nodes: tuple[str, ...]
    each: Vector  # on each of its nodes
    many: int  # nodes that it has or asks for
    time_limit: int | None  # seconds
    starts: int | None
    ends: int | None
    priority: int
    reason: str
    uid: int | None
    account: str | None = None
    qos: str | None = None
    job_id_array: int = 0
    eligible_time: int | None = None  # since when it could start; epoch seconds
    even: bool = True  # it names its nodes, and what it asks for can be shared by them without a rest
    features: str | None = None  # as its -C says it
    licences: str | None = None
    exclusive: bool = False
    apart: bool = False  # only its user's jobs, or those of its label, may be on its nodes
    reservation: str | None = None  # that it asks for

    @property
    def runs(self) -> bool:
        return self.state in ("RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING")


@dataclass(frozen=True, slots=True)
class Room:
    """One moment of one cluster."""

    at: int  # epoch seconds
    nodes: tuple[RoomNode, ...]
    queues: tuple[RoomQueue, ...]
    reserved: tuple[Reserved, ...] = ()
    jobs: tuple[RoomJob, ...] = ()
    memory: bool = True  # it is handed out to jobs
    hidden: int = 0  # nodes whose CPUs in use no job that is shown has
    cluster: str = ""

    def queue(self, name: str | None) -> RoomQueue | None:
        """The queue of this name, the default one for None."""
        return next((one for one in self.queues if (one.is_default if name is None else one.name == name)), None)


def room(now: int) -> Room:
    """Ask slurmctld. AdminkitError when it is away, or hides its nodes (PrivateData=nodes)."""
    nodes = scontrol_show.nodes(patience=PATIENCE)
    config = settings(show_config())  # later, as it waits longer for a slurmctld that is away
    there = Around(nodes, scontrol_show.partitions(patience=PATIENCE), scontrol_show.reservations(PATIENCE), "")
    return room_of(now, there, config, listed(config)[0])


def room_of(now: int, there: Around, config: Mapping[str, str], jobs: Sequence[RoomJob]) -> Room:
    """The room of what slurmctld showed."""
    timeouts = parse_timeouts(there.partitions, config)
    nodes = tuple(with_timeouts(map(node_of, there.nodes), *timeouts))
    queues = tuple(_queue(one, config) for one in there.partitions)
    reserved = tuple(_reserved(there.reservations, now))
    shown = {name for one in jobs if one.runs for name in one.nodes}
    hidden = sum(one.taken.cpus > 0 and one.name not in shown for one in nodes)
    memory = "MEMORY" in config.get("SelectTypeParameters", "").upper()
    cluster = given(config.get("ClusterName")) or ""
    return Room(now, nodes, queues, reserved, tuple(jobs), memory, hidden, cluster)


def listed(config: Mapping[str, str], *more: str) -> tuple[list[RoomJob], list[squeue.QueuedJob]]:
    """The open jobs, and the same as squeue lists them with `more` of its fields: the last may be a user's text."""
    release = parse_release(config.get("SLURM_VERSION", ""))
    found = squeue.jobs((*fields(release), *more), "-r", patience=PATIENCE, most=MOST_JOBS)
    return [_job(one, release) for one in found], found


def parse_nodes(text: str) -> Iterator[RoomNode]:
    """`scontrol -o -d show node`."""
    return map(node_of, scontrol_show.parse_nodes(text))


def node_of(one: scontrol_show.Node) -> RoomNode:
    state = parse_state(one.state or "UNKNOWN")
    gres = node_gres(one.gres, one.gres_used, one.alloc_tres)
    return RoomNode(
        name=one.name,
        has=Vector(one.usable_cpus or one.cpus or 0, (one.mem or 0) - (one.own_mem or 0), gres.has, gres.shares),
        taken=Vector(one.alloc_cpus or 0, one.alloc_mem or 0, gres.taken, gres.taken_shares),
        queues=one.queues,
        state=one.state,
        away=state.away,
        cut=gres.cut,
        widest=gres.widest,
        power=state.power,
        reason=one.reason,
        threads=one.threads or 1,
        features=one.features,
        features_else=one.all_features - one.features,
    )


def with_timeouts(nodes: Iterable[RoomNode], whole: Timeouts, own: Mapping[str, Timeouts]) -> Iterator[RoomNode]:
    """Give nodes that are not up the seconds until they are, by slurm.conf and their queues."""
    for node in nodes:
        if not node.power:
            yield node
            continue
        found = timeouts_of(node.queues, whole, own)
        yield replace(node, wakes=found.resume, falls=found.suspend if node.power == "falling" else None)


def parse_queues(text: str, config: Mapping[str, str]) -> Iterator[RoomQueue]:
    """`scontrol -o show partition`."""
    return (_queue(one, config) for one in scontrol_show.parse_partitions(text))


def _queue(one: scontrol_show.Partition, config: Mapping[str, str]) -> RoomQueue:
    """A queue, with slurm.conf's limits on memory where it has none."""

    def memory(own: int | None, name: str) -> int | None:
        return own or (number(config.get(name)) or 0) * _MIB or None

    # Trap: the queue prints only one of such a pair, and slurm.conf's other one does not count beside it.
    return RoomQueue(
        name=one.name,
        default_limit=one.default_limit,
        max_limit=one.max_limit,
        up=one.up,
        is_default=one.is_default,
        whole=one.whole,
        default_mem_cpu=None if one.default_mem_node else memory(one.default_mem_cpu, "DefMemPerCPU"),
        default_mem_node=None if one.default_mem_cpu else memory(one.default_mem_node, "DefMemPerNode"),
        max_mem_cpu=memory(one.max_mem_cpu, "MaxMemPerCPU"),
        max_mem_node=memory(one.max_mem_node, "MaxMemPerNode"),
        max_cpus_node=one.max_cpus_node,
        min_nodes=one.min_nodes or 0,
        max_nodes=one.max_nodes,
        total_nodes=one.total_nodes,
        qos=one.qos,
        allow_accounts=one.allow_accounts,
        deny_accounts=one.deny_accounts,
        allow_qos=one.allow_qos,
        deny_qos=one.deny_qos,
        allow_groups=one.allow_groups,
        tier=one.tier or 0,
        preempt_mode=one.preempt_mode,
    )


def parse_reserved(text: str, now: int) -> Iterator[Reserved]:
    """`scontrol -o show reservation`."""
    return _reserved(scontrol_show.parse_reservations(text), now)


def _reserved(every: Iterable[scontrol_show.Reservation], now: int) -> Iterator[Reserved]:
    """What has begun, and the next time of each."""
    for one in every:
        if not one.nodes or one.start_time is None or one.end_time is None:
            continue
        if one.start_time <= now < one.end_time:
            yield Reserved(one.name, one.nodes, one.start_time, one.end_time)
        after = next_start(one, now)
        if after is not None and (after > now or not one.start_time <= now < one.end_time):
            yield Reserved(one.name, one.nodes, after, after + one.end_time - one.start_time)


def exclusive(release: Release) -> tuple[str, str]:
    """squeue's field that says of a job that it asks for whole nodes, and how. Trap: 26.05 has the other field too, and
    there it says NO of nearly all jobs."""
    return ("Exclusive", "NODE") if release >= (26, 5, 0) else ("OverSubscribe", "NO")


def fields(release: Release) -> tuple[str, ...]:
    """squeue's fields. The only users' texts among them are features and licences, which slurmctld has checked."""
    return (
        "JobID", "ArrayJobID", "State", "Partition", "NodeList", "SchedNodes", "tres-alloc", "NumNodes", "TimeLimit",
        "StartTime", "EndTime", "PriorityLong", "Reason", "UserID", "Account", "QOS", "EligibleTime", "Feature",
        "Licenses", exclusive(release)[0], "Reservation", "SubmitTime",
    )  # fmt: skip


def parse_jobs(text: str, marks: Marks, release: Release) -> Iterator[RoomJob]:
    """The jobs in squeue's answer."""
    return (_job(one, release) for one in squeue.parse(text, fields(release), marks, MOST_JOBS))


def _job(one: squeue.QueuedJob, release: Release) -> RoomJob:
    nodes = one.nodes or one.planned_nodes
    count, tres = max(1, len(nodes) or one.many or 1), one.tres or ""
    return RoomJob(
        job_id=one.job_id,
        state=one.state,
        queue=one.queue or "",
        nodes=nodes,
        each=_share(tres, count),
        many=count,
        time_limit=one.time_limit,
        starts=one.start_time,
        ends=one.end_time,
        priority=one.priority or 0,
        reason=one.reason,
        uid=one.uid,
        account=one.account,
        qos=one.qos,
        job_id_array=one.array_id or one.job_id,
        eligible_time=one.eligible_time,
        even=_even(tres, count),
        features=one.features,
        licences=one.licences,
        exclusive=one.sharing == exclusive(release)[1],
        apart=one.sharing in ("USER", "MCS"),  # squeue says so where the queue makes them, too
        reservation=one.reservation,
    )


@lru_cache(maxsize=4096)  # thousands of jobs have the same
def _share(tres: str, nodes: int) -> Vector:
    """A job's part of each of its nodes. GPUs of types count by type; without types as UNTYPED."""
    amounts, held = parse_tres(tres), parse_tres_gpus(tres)
    return Vector(
        math.ceil(amounts.get("cpu", 0) / nodes),
        math.ceil(amounts.get("mem", 0) / nodes),
        {name: math.ceil(many / nodes) for name, many in gpus_of_tres(tres).items()},
        {key: math.ceil(many / nodes) for key, many in shares_of(held.held() if held else None).items()},
    )


@lru_cache(maxsize=4096)
def _even(tres: str, nodes: int) -> bool:
    """Trap: where a job names only its tasks, squeue guesses its nodes, and TRES has the least."""
    amounts = parse_tres(tres)
    return amounts.get("node", nodes) == nodes and not any(
        many % nodes for name, many in amounts.items() if name in ("cpu", "mem", "gres/gpu")
    )
