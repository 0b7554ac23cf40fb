"""What slurmctld says of planning by need: its settings, queues, reservations and bounds, the open jobs; and two acts.

Everything is asked of the running slurmctld, never of slurm.conf or slurmdbd: what it has not loaded does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.slurm import assoc_limits, scontrol_show, show_config, squeue
from adminkit.slurm.keyvalue import given, number, options, settings
from adminkit.slurm.process import TIMEOUT, ask
from adminkit.slurm.release import Release, parse_release
from adminkit.slurm.seal import Marks

PARAMETER: Final = "time_min_as_soft_limit"
#: Seconds after which a reservation with this flag begins again.
_AGAIN: Final = {"HOURLY": 3600, "DAILY": 86_400, "WEEKDAY": 86_400, "WEEKEND": 86_400, "WEEKLY": 7 * 86_400}
#: squeue's words for what a PlannedJob has.
_FIELDS: Final = (
    "JobID", "ArrayJobID", "ArrayTaskID", "State", "Partition", "TimeLimit", "MinTime", "RestartCnt", "Deadline",
    "StartTime", "UserID", "Account", "QOS", "NumNodes", "Reason", "SubmitTime", "tres-alloc",
    "admin_comment",
)  # fmt: skip
#: Jobs that one call of scontrol changes.
_AT_ONCE: Final = 100
#: The limits on minutes, which do not hold for a job with a TimeMin.
_MINUTES: Final = ("GrpTRESMins", "GrpTRESRunMins", "MaxTRESMinsPJ")
#: The QOS that a QOS preempts; printed where it is set.
_PREEMPTS: Final = "Preempt"
#: PreemptMode of jobs that those of their own QOS with a higher priority preempt. Trap: beside GANG, Slurm prints
#: UNKNOWN for it.
_WITHIN: Final = frozenset({"WITHIN", "UNKNOWN"})
#: Nodes that a message names.
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class PlanQueue:
    """A queue. Limits in seconds; None: it has none."""

    name: str
    default_limit: int | None
    max_limit: int | None
    qos: str | None = None  # the queue's own
    tier: int = 1  # PriorityTier
    preempt_mode: str = "OFF"
    nodes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reservation:
    """`starts`: its next start, epoch seconds; None for one that has begun and does not come again."""

    name: str
    starts: int | None
    nodes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Who has limits on minutes: QOS; accounts, with those below them; uids. And the QOS whose jobs others preempt."""

    qos: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    uids: frozenset[int] = frozenset()
    preempted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Planning:
    """The running slurmctld."""

    release: Release
    parameters: frozenset[str]  # SchedulerParameters, without values
    scheduler: str
    enforce: str  # EnforcePartLimits
    preempt: str  # PreemptType
    federated: bool
    queues: tuple[PlanQueue, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    bounds: Bounds = Bounds()


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """An open job. Limits in seconds; `time_min` None for none. `job_id` is what scontrol changes only this job by.

    Trap: the last task of an array has the array's id, by which scontrol changes every task.
    """

    job_id_raw: int
    job_id: str
    state: str  # PENDING, RUNNING …
    queues: tuple[str, ...]
    time_limit: int | None
    time_min: int | None
    restarts: int
    has_deadline: bool
    start_time: int | None
    uid: int | None
    account: str
    qos: str
    comment: str
    nodes: int = 1  # that it has, or asks for at least
    reason: str = ""  # why it waits: Priority, Resources …
    whole: str = ""  # all that it has, or asks for while it waits: cpu=4,mem=8G,node=1,gres/gpu=2
    odd: str = ""  # why what squeue says of it cannot be read; nothing is done to it then


def planning(now: int) -> Planning:
    """Ask the running slurmctld. AdminkitError when it is away."""
    show_config.forget()
    words = settings(show_config.show_config())
    every = scontrol_show.nodes()
    nodes = _nodes(every)
    return Planning(
        release=parse_release(words.get("SLURM_VERSION", "")),
        parameters=frozenset(options(words.get("SchedulerParameters"))),
        scheduler=words.get("SchedulerType", ""),
        enforce=words.get("EnforcePartLimits", ""),
        preempt=words.get("PreemptType", ""),
        federated=_is_federated(ask(["scontrol", "show", "federation"])),
        queues=tuple(_queue(one, nodes) for one in scontrol_show.partitions()),
        reservations=tuple(_reservations(now, {one.name for one in every})),
        bounds=parse_bounds(assoc_limits.assoc_mgr(patience=TIMEOUT), is_within(words)),
    )


def _is_federated(text: str) -> bool:
    if text.strip() and "ederation" not in text:  # where there is none, releases say so or say nothing
        raise AdminkitError("couldn't read the output of scontrol show federation", "run it by hand")
    return "Federation:" in text


def parse_queues(text: str, nodes: Mapping[str, frozenset[str]]) -> Iterator[PlanQueue]:
    """`scontrol -o show partition`; `nodes` are those of each queue."""
    return (_queue(one, nodes) for one in scontrol_show.parse_partitions(text))


def _queue(one: scontrol_show.Partition, nodes: Mapping[str, frozenset[str]]) -> PlanQueue:
    inside = nodes.get(one.name, frozenset())
    return PlanQueue(one.name, one.default_limit, one.max_limit, one.qos, one.tier or 0, one.preempt_mode, inside)


def _nodes(every: Iterable[scontrol_show.Node]) -> dict[str, frozenset[str]]:
    """The nodes of each queue."""
    found: dict[str, set[str]] = {}
    for one in every:
        for queue in one.queues:
            found.setdefault(queue, set()).add(one.name)
    return {queue: frozenset(inside) for queue, inside in found.items()}


def _reservations(now: int, known: Set[str]) -> Iterator[Reservation]:
    """The reservations of nodes. A node that the site lacks would leave jobs planned into the reservation unseen."""
    for one in scontrol_show.reservations():
        if not one.nodes <= known:
            lacking = ", ".join(sorted(one.nodes - known)[:_NAMED])
            raise AdminkitError(
                f"reservation {quote(one.name)} has nodes that the site does not have: {lacking}",
                "compare scontrol show reservation with scontrol show node",
            )
        if one.nodes:
            yield Reservation(one.name, next_start(one, now), one.nodes)


def next_start(one: scontrol_show.Reservation, now: int) -> int | None:
    """When a reservation begins next; of one whose start moves with the clock, now."""
    if one.start_time is None or "TIME_FLOAT" in one.flags:
        return now
    if one.start_time > now:
        return one.start_time
    again = min((seconds for flag, seconds in _AGAIN.items() if flag in one.flags), default=None)
    return None if again is None else one.start_time + ((now - one.start_time) // again + 1) * again


def is_within(config: Mapping[str, str]) -> bool:
    """Whether jobs of every QOS may preempt others of the same QOS; `config`: `scontrol show config`."""
    return config.get("PreemptType") == "preempt/qos" and _is_within(config.get("PreemptMode", ""))


def _is_within(mode: str) -> bool:
    return not _WITHIN.isdisjoint(mode.strip().upper().split(","))


def parse_bounds(text: str, within: bool = False) -> Bounds:
    """`scontrol show assoc_mgr flags=assoc,qos`: what slurmctld itself holds jobs to; `within`: is_within().
    AdminkitError as records(), and where there is no record at all.
    """
    qos: set[str] = set()
    accounts: set[str] = set()
    uids: set[int] = set()
    preempted: set[str] = set()
    parents: dict[str, str] = {}
    found = list(assoc_limits.records(text))
    if not found:
        raise AdminkitError("couldn't read the output of scontrol show assoc_mgr: no QOS is in it", "run it by hand")
    for one in found:
        bounded = any(_is_set(one.words.get(name, "")) for name in _MINUTES)
        if one.head.startswith("QOS="):
            own = {one.head.removeprefix("QOS=").rpartition("(")[0]}
            qos |= own if bounded else set()
            preempted |= own if within or _is_within(one.words.get("PreemptMode", "")) else set()
            preempted |= set((given(one.words.get(_PREEMPTS)) or "").split(",")) - {""}
        elif user := one.words.get("UserName"):
            uid = number(user.rpartition("(")[2].rstrip(")"))
            uids |= {uid} if bounded and uid is not None else set()
        else:
            account = one.words.get("Account", "")
            parents[account] = one.words.get("ParentAccount", "").partition("(")[0]
            accounts |= {account} if bounded else set()
    return Bounds(frozenset(qos), _with_those_below(accounts, parents), frozenset(uids), frozenset(preempted))


def _is_set(value: str) -> bool:
    """cpu=N(0),mem=N(0): no limit; cpu=100(5) and cpu=100 are one."""
    return any(item.partition("=")[2].strip()[:1].isdigit() for item in value.split(","))


def _with_those_below(accounts: Iterable[str], parents: Mapping[str, str]) -> frozenset[str]:
    found, grown = set(accounts), True
    while grown:
        below = {account for account, parent in parents.items() if parent in found} - found
        found, grown = found | below, bool(below)
    return frozenset(found)


def open_jobs() -> list[PlannedJob]:
    """Every open job, of every state. AdminkitError when slurmctld is away."""
    return list(map(planned_job, squeue.jobs(_FIELDS)))


def parse_jobs(text: str, marks: Marks) -> list[PlannedJob]:
    """The jobs in squeue's answer."""
    return list(map(planned_job, squeue.parse(text, _FIELDS, marks)))


def planned_job(job: squeue.QueuedJob) -> PlannedJob:
    """The view of one that squeue listed with the fields of this module."""
    return PlannedJob(
        job_id_raw=job.job_id,
        job_id=squeue.name_of(job),
        state=job.state,
        queues=tuple(filter(None, (job.queue or "").split(","))),
        time_limit=job.time_limit,
        time_min=job.time_min,
        restarts=job.restarts or 0,
        has_deadline=job.deadline is not None,
        start_time=job.start_time,
        uid=job.uid,
        account=job.account or "",
        qos=job.qos or "",
        comment=job.admin_comment or "",
        nodes=job.many or 1,
        reason=job.reason,
        whole=job.tres or "",
        odd=job.odd,
    )


def clear(jobs: Sequence[int]) -> None:
    """Take TimeMin from pending jobs, by their ids; then AdminkitError with Slurm's words where it refused some."""
    refused = None
    for first in range(0, len(jobs), _AT_ONCE):
        listed = ",".join(map(str, jobs[first : first + _AT_ONCE]))
        try:
            ask(["scontrol", "update", f"JobId={listed}", "TimeMin=0"])
        except AdminkitError as error:
            refused = refused or error
    if refused is not None:
        raise refused


def set_limit(job: str, limit: int, *more: str) -> None:
    """Give the open job of this name this limit, in seconds, in whole minutes; `more` in the same update."""
    ask(["scontrol", "update", f"JobId={job}", f"TimeLimit={-(-limit // 60)}", *more])


def restore(job: str, limit: int) -> None:
    """Give a pending job this limit, and take its TimeMin, in one update."""
    set_limit(job, limit, "TimeMin=0")
