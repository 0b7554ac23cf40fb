"""Why a job waits, when it can start, and what change would start it now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from adminkit.errors import AdminkitError, UsageError
from adminkit.fit import ask
from adminkit.fit.fair_share import behind, without_shares
from adminkit.fit.place import SHOWN, Board, Said, board, by_vectors
from adminkit.fit.request import Request
from adminkit.fit.several import up_at
from adminkit.fit.verdict import Answer, Start, verdict
from adminkit.messages import message
from adminkit.slurm.fair_share import Shares, fair_shares
from adminkit.slurm.process import User
from adminkit.slurm.reasons import meaning
from adminkit.slurm.room import READY, Room, RoomJob
from adminkit.slurm.site import UNTYPED
from adminkit.slurm.will_run import user_of
from adminkit.users import name_of

#: How Slurm's reasons begin that no room changes.
_OWN: Final = (
    "JobHeld",
    "JobHold",
    "Dependency",
    "BeginTime",
    "JobArrayTaskLimit",
    "Licenses",
    "BurstBuffer",
    "Reservation",
    "Prolog",
    "Cleaning",
    "DeadLine",
)
#: From the best to the worst.
_WORDS: Final = ("now", "later", "unknown", "never")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job, what is said of it, and Slurm's own reason with its meaning. `change`: a command for its owner; `share`:
    what fair share has to do with it, None where nothing or not known."""

    job: RoomJob
    answer: Answer
    slurm: str
    change: str | None = None
    share: str | None = None


def waiting(job_id: int) -> Waiting:
    """A waiting job that slurmctld shows to this user. UsageError where no job of this number waits."""
    room = ask.current().room
    job = next((one for one in room.jobs if job_id in (one.job_id, one.job_id_array) and one.state == "PENDING"), None)
    if job is None and (waking := next((one for one in room.jobs if one.job_id == job_id and _wakes(one)), None)):
        return wakes(room, waking)
    if job is None:
        open_ = any(one.job_id == job_id for one in room.jobs)
        raise UsageError(
            f"job {job_id} is not waiting" if open_ else f"no such job is waiting: {job_id}",
            "squeue lists the jobs that wait, as far as you may see them",
        )
    try:
        shares = fair_shares()
    except AdminkitError:
        shares = {}  # another PriorityType, or sprio is not to be had
    return explain(room, job, lambda request: _limits(room, job, request), shares)


def explain(room: Room, job: RoomJob, limits: Callable[[Request], Said], shares: Shares | None = None) -> Waiting:
    """Pure but for `limits`, what unused limits say of a request of the job's owner."""
    said = Said("unknown", None, "", message("slurmctld has not planned it"))
    if job.reason not in READY:
        said = Said("later", job.starts, job.reason, meaning(job.reason))
    elif job.starts is not None:
        said = Said("later", job.starts, "priority", meaning(job.reason))
    reason = message("Slurm says {code}: {meaning}", code=job.reason, meaning=meaning(job.reason))
    if not job.even or job.reservation is not None or job.reason.startswith(_OWN):
        start = Start(
            "later", job.starts, None if job.starts is None else "slurm", None, job.reason, meaning(job.reason)
        )
        return Waiting(job, Answer(request_of(job), start), reason)
    before = board_before(room, job)
    request = _soonest(before, job)
    start = verdict({**ask.by_nodes(before, request), "limits": limits(request), "test_only": said})
    start = replace(start, disagree=())  # Slurm's plan and the reason are shown beside
    if start.verdict not in ("later", "never"):
        return Waiting(job, Answer(request, start), reason)
    passed = behind(room, job, shares or {})
    share = passed.text if passed is not None and passed.jobs else None
    if share is not None and start.why == "priority" and _starts_without_shares(room, job, shares or {}):
        start = replace(start, why="fair_share", text=share)
    found = []
    for other in ask.smaller(before, request):
        if limits(other).word == "now":
            found.append(other)
    shorter = next((one for one in found if replace(one, time_limit=request.time_limit) == request), None)
    change = None
    if shorter is not None and shorter.time_limit is not None:
        change = f"scontrol update JobId={job.job_id} TimeLimit={shorter.time_limit // 60}"
    return Waiting(job, Answer(request, start, tuple(found[:2])), reason, change, share)


def _wakes(job: RoomJob) -> bool:
    return job.state == "CONFIGURING"


def wakes(room: Room, job: RoomJob) -> Waiting:
    """The answer for a job that has its nodes, and waits until they are up."""
    asleep = [node for node in room.nodes if node.name in job.nodes and node.power]
    since = room.at if job.starts is None else job.starts
    at, names = up_at(since, since, asleep), ", ".join(node.name for node in asleep[:SHOWN])
    text = message("it has its nodes, which are preparing to run it")
    if asleep:
        text = message("it has its nodes, and waits until they are up: {nodes}", nodes=names)
    says = message("Slurm says {code}: a node is waking up, or its prolog is running", code=job.state)
    start = Start("wakes", at if asleep else None, None, None, "wakes", text)
    return Waiting(job, Answer(request_of(job), start), says)


def _starts_without_shares(room: Room, job: RoomJob, shares: Shares) -> bool:
    """Whether nodes would have room for it now, if nobody's fair share counted."""
    other, mine = without_shares(room, job, shares)
    return by_vectors(board_before(other, mine), request_of(mine)).word == "now"


def _soonest(before: Board, job: RoomJob) -> Request:
    """The queue where it could start first. Trap: the list has its owner's order, since 26.11 Slurm's."""

    def rank(request: Request) -> tuple[int, float]:
        said = by_vectors(before, request)
        return _WORDS.index(said.word), inf if said.at is None else said.at

    found = [request_of(job, name) for name in sorted(job.queue.split(","))]
    return found[0] if len(found) == 1 else min(found, key=rank)


def request_of(job: RoomJob, queue: str | None = None) -> Request:
    """What the job asks for on each of its nodes, in one of its queues."""
    kinds = [(kind, many) for kind, many in job.each.gpus.items() if many]
    share, shares = next(iter(job.each.shares.items()), (None, 0))
    kind = kinds[0][0] if len(kinds) == 1 and kinds[0][0] != UNTYPED else None
    return Request(
        queue=queue or min(job.queue.split(",")),
        cpus=job.each.cpus,
        mem=job.each.mem,
        gpus=sum(many for _, many in kinds),
        gpu_type=kind,
        share=share,
        shares=shares,
        time_limit=job.time_limit,
        account=job.account,
        qos=job.qos,
        nodes=job.many,
        exclusive=job.exclusive,
        features=job.features,
        licences=job.licences,
    )


def board_before(room: Room, job: RoomJob) -> Board:
    """The nodes with the jobs that come before this one: those of higher priority, and of the same the older ones."""

    def first(other: RoomJob) -> bool:
        return other.state != "PENDING" or (-other.priority, other.job_id) < (-job.priority, job.job_id)

    return board(replace(room, jobs=tuple(one for one in room.jobs if one is not job and first(one))))


def _limits(room: Room, job: RoomJob, request: Request) -> Said:
    """What the limits of the job's owner say, who may be unknown to this host."""
    queue = room.queue(request.queue)
    who = _owner(job)
    if queue is None or who is None:
        return Said("unknown", None, "limits", message("its owner's limits are not known"))
    return ask.limits_say(room, queue, request, who, waits=True)


def _owner(job: RoomJob) -> User | None:
    try:
        name = None if job.uid is None else name_of(job.uid)
        return None if name is None else user_of(name)
    except AdminkitError:
        return None
