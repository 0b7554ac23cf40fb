"""Whether a waiting job would start later if a running one continued. Pure; in doubt, it would.

What is known of a job that waits: where and when backfill plans to start it, or only what it asks for. The planned ones
are put on the nodes' timelines, where an extension must leave room for all of them. One without a plan counts wherever
an empty node could hold it. Who waits for no node, but for a person, another job or a clock, counts nowhere: else
anybody could keep everybody from more time at no cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from adminkit.fit.needs import ALL, need_of_job, own
from adminkit.fit.place import in_line
from adminkit.fit.running import PAST, running, runs_by_node
from adminkit.fit.timeline import NEVER, Need, Timeline, Use, holds
from adminkit.slurm.features import parse_features
from adminkit.slurm.licences import parse_asked
from adminkit.slurm.room import MOST_JOBS, READY, Room, RoomJob, RoomNode, Vector
from adminkit.slurm.site import UNTYPED

Why = Literal["free", "planned", "waiting", "reservation", "draining", "licences", "unknown"]

#: How Slurm's reasons begin of jobs that wait for a person, another job or a reservation of their own.
_NOT_FOR_NODES: Final = (
    "JobHeld",
    "JobHold",
    "job_requeued_in_held_state",
    "launch_failed_requeued_held",
    "Dependency",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "DeadLine",
    "Reservation",
)
#: And of jobs that exceed a limit by themselves, and so never start as they are: in the one queue that was tried last.
_NEVER: Final = re.compile(r"(?:QOS|Assoc)M(?:ax|in)\w*PerJob|Partition(?:Node|Time)Limit")
#: Backfill plans with whole minutes and a resolution of one; so less is no earlier start.
_ROUNDED: Final = 60
EARLIER: Final = 60
#: What stands for licences that cannot be read.
_ANY: Final = ""


@dataclass(frozen=True, slots=True)
class Said:
    """`until`: up to when the job may run, epoch seconds; `behind`: the waiting job that is the reason."""

    why: Why
    until: int
    behind: RoomJob | None = None


@dataclass
class Outlook:
    """The nodes with running and planned jobs, and who waits without a plan. What is given is booked as it is given."""

    room: Room
    lines: Mapping[str, Timeline]
    planned: Mapping[str, Sequence[RoomJob]]  # by node
    wanted: Mapping[str, RoomJob]  # by node: the first waiting job without a plan that could use it
    bound: Sequence[RoomJob]  # that wait for a limit of their user, account or QOS
    licences: Mapping[str, RoomJob]  # by name: the first waiting job that asks for some
    nodes: Mapping[str, RoomNode]
    runs: Mapping[str, Sequence[RoomJob]]
    above: Mapping[str, frozenset[str]]  # by account: those above it that have a limit for all below

    def may_run(self, job: RoomJob, until: int) -> Said:
        """How long the running job may continue, at most `until`, such that nobody is known to start later."""
        assert job.ends is not None
        if self.room.hidden or len(self.room.jobs) >= MOST_JOBS:
            return Said("unknown", job.ends)
        if not job.nodes or not all(name in self.nodes for name in job.nodes):
            return Said("unknown", job.ends)
        nodes = [self.nodes[name] for name in job.nodes]
        if any(node.away or node.power == "falling" or _is_leaving(node.state) for node in nodes):
            return Said("draining", job.ends)
        if behind := self._for_licences(job):
            return Said("licences", job.ends, behind)
        if behind := self._without_plan(job, until):
            return Said("waiting", job.ends, behind)
        clear, why = until, "free"
        for name in job.nodes:
            end, found = self._clear_until(name, job, clear)
            clear, why = (end, found) if end < clear else (clear, why)
        if clear >= until:
            return Said("free", until)
        behind = min(
            (one for name in job.nodes for one in self.planned.get(name, ()) if (one.starts or 0) >= clear - _ROUNDED),
            key=lambda one: one.starts or 0,
            default=None,
        )
        if why == "reservation":
            return Said("reservation", clear, behind)
        return Said("unknown" if behind is None else "planned", clear, behind)

    def could_start(self, head: RoomJob, ends: Mapping[int, int]) -> bool:
        """Whether the planned job could start earlier on its nodes if these jobs, by id, ended then instead."""
        if head.starts is None or not head.even:
            return False
        need = _need(head, self.room)
        sooner = head.starts - EARLIER
        return all(
            name in self.nodes and self._before(name, head, ends).earliest(own(need, self.nodes[name])) <= sooner
            for name in head.nodes
        )

    def _before(self, name: str, head: RoomJob, ends: Mapping[int, int]) -> Timeline:
        """The node without the planned job and those planned after it, where the running ones end at `ends`."""
        node = self.nodes[name]
        runs = [replace(job, ends=ends.get(job.job_id, job.ends)) for job in self.runs.get(name, ())]
        line = running(node, self.room, runs)
        for one in self.planned.get(name, ()):
            if one is not head and (one.starts or 0) < (head.starts or 0):
                line.add(_use(one, node, self.room))
        return line

    def book(self, job: RoomJob, until: int) -> None:
        """The job runs until then."""
        assert job.ends is not None
        for name in job.nodes:
            if name in self.lines:
                self.lines[name].add(Use(self._end(job), until, _has(job, self.nodes[name])))

    def _end(self, job: RoomJob) -> int:
        """When the timelines let it end."""
        return max(job.ends or 0, self.room.at + PAST)

    def _for_licences(self, job: RoomJob) -> RoomJob | None:
        names = _licences(job)
        if _ANY in names:
            return next(iter(self.licences.values()), None)
        return next((self.licences[name] for name in (*names, _ANY) if names and name in self.licences), None)

    def _without_plan(self, job: RoomJob, until: int) -> RoomJob | None:
        for name in job.nodes:
            one = self.wanted.get(name)
            if one is not None and not _begins_after(one, until):
                return one
        return next((one for one in self.bound if self._shares_a_bound(one, job)), None)

    def _shares_a_bound(self, waiting: RoomJob, job: RoomJob) -> bool:
        """Whether the end of `job` may free what a limit keeps from `waiting`."""
        if waiting.reason.startswith("JobArrayTaskLimit"):
            return waiting.job_id_array == job.job_id_array
        if waiting.reason.startswith("BeginTime"):
            return False
        if waiting.uid == job.uid or waiting.account == job.account or waiting.qos == job.qos:
            return True
        above = self.above.get(waiting.account or "", frozenset())
        if above & self.above.get(job.account or "", frozenset()):
            return True
        return bool(_held_by_qos(waiting, self.room) & _held_by_qos(job, self.room))

    def _clear_until(self, name: str, job: RoomJob, until: int) -> tuple[int, str]:
        """Up to when the node has room for the job beside what is planned there, and what comes then."""
        assert job.ends is not None
        line = self.lines[name].copy()
        line.add(Use(self._end(job), until, _has(job, self.nodes[name])))
        planned = self.planned.get(name, ())
        sure = all(_is_sure(one, self.nodes[name], self.room) for one in (job, *self.runs.get(name, ()), *planned))
        starts = [] if sure else [one.starts for one in planned if one.starts is not None]
        odd = min((at for at in starts if job.ends - _ROUNDED <= at < until), default=until)
        steps = line.steps()
        ends = [at for at, _ in steps[1:]] + [NEVER]
        for (at, free), end in zip(steps, ends, strict=True):
            if end <= job.ends - _ROUNDED or at >= min(odd, until):
                continue
            if _is_short(free, self.room.memory):
                first = max(at, job.ends)
                reserved = any(name in one.nodes and one.starts < until for one in self.room.reserved)
                is_planned = any((one.starts or 0) <= first for one in planned)
                return first, "reservation" if reserved and not is_planned else "planned"
        return (max(odd, job.ends), "planned") if odd < until else (until, "free")


def outlook(room: Room, above: Mapping[str, frozenset[str]] | None = None) -> Outlook:
    """Once for a snapshot, whose nodes are at least those of the jobs that are looked at. `above` as Outlook has it."""
    nodes, runs = {node.name: node for node in room.nodes}, runs_by_node(room)
    lines = {node.name: running(node, room, runs.get(node.name, ())) for node in room.nodes}
    planned: dict[str, list[RoomJob]] = {}
    without, bound, licences, seen = list[RoomJob](), list[RoomJob](), dict[str, RoomJob](), set[int]()
    for job in in_line(room):
        if _waits_for_no_node(job):
            continue
        for name in _licences(job):
            licences.setdefault(name, job)
        # Trap: the tasks of an array that wait are one record with one plan, which is the first task's.
        is_first = job.job_id not in seen
        seen.add(job.job_id)
        if job.nodes and job.starts is not None and is_first:
            for name in job.nodes:
                planned.setdefault(name, []).append(job)
                if name in lines:
                    lines[name].add(_use(job, nodes[name], room))
        else:
            without.append(job)
            if job.reason not in READY:
                bound.append(job)
    return Outlook(room, lines, planned, _wanted(room, without), bound, licences, nodes, runs, above or {})


def _waits_for_no_node(job: RoomJob) -> bool:
    return job.reason.startswith(_NOT_FOR_NODES) or ("," not in job.queue and _NEVER.match(job.reason) is not None)


def _wanted(room: Room, waiting: Iterable[RoomJob]) -> dict[str, RoomJob]:
    """By node the first waiting job without a plan that an empty one could hold. Many jobs ask for the same."""
    found: dict[str, RoomJob] = {}
    kinds = dict[object, RoomJob]()
    for job in waiting:
        kinds.setdefault((job.queue, job.features, str(job.each), job.even, _begins(job)), job)
    for job in sorted(kinds.values(), key=_begins):  # one that begins later hides nobody who could start now
        queues, need = set(job.queue.split(",")), need_of_job(job)
        wanted = None if job.features is None else parse_features(job.features)
        for node in room.nodes:
            if node.name in found or not node.queues & queues:
                continue
            if wanted is not None and not wanted.on(node.features | node.features_else):
                continue
            if not job.even or holds(node.has, replace(need, whole=False), node):
                found[node.name] = job
    return found


def _licences(job: RoomJob) -> tuple[str, ...]:
    """The names of those that it asks for; _ANY where they cannot be read."""
    if not job.licences:
        return ()
    asked = parse_asked(job.licences)
    return (_ANY,) if asked is None else tuple(asked)


def _held_by_qos(job: RoomJob, room: Room) -> set[str]:
    """All QOS by which the job may be held: its own, and those of its queues."""
    queues = job.queue.split(",")
    return {name for name in (job.qos, *(one.qos for one in room.queues if one.name in queues)) if name}


def _is_whole(job: RoomJob, room: Room) -> bool:
    queues = [queue for queue in room.queues if queue.name in job.queue.split(",")]
    return job.exclusive or any(queue.whole for queue in queues)


def _is_sure(job: RoomJob, node: RoomNode, room: Room) -> bool:
    """Whether what it leaves of the node is known. Trap: Slurm may give eight CPUs of two nodes as seven and one."""
    whole = job.each.cpus >= node.has.cpus or (not job.runs and _is_whole(job, room))
    return job.even and not job.apart and (job.many == 1 or whole)


def _part(job: RoomJob, need: Need, node: RoomNode) -> Vector:
    """What the job takes of the node: in whole cores, of a whole node all CPUs and memory."""
    taken = own(need, node).on(node)
    return replace(taken, gpus=job.each.gpus) if not job.each.shares else taken


def _has(job: RoomJob, node: RoomNode) -> Vector:
    """What the running job has of the node, by what is listed of it."""
    return _part(job, replace(need_of_job(job), whole=False), node)


def _need(job: RoomJob, room: Room) -> Need:
    """What the waiting job takes of each of its nodes.

    Trap: a job that waits with --mem=0, or without any where there is no default, lists none and gets all.
    """
    need = replace(need_of_job(job), whole=_is_whole(job, room))
    return replace(need, mem=ALL) if room.memory and not job.each.mem else need


def _use(job: RoomJob, node: RoomNode, room: Room) -> Use:
    """A planned job on one of its nodes."""
    starts = max(job.starts or 0, room.at)
    return Use(starts, starts + (job.time_limit or NEVER), _part(job, _need(job, room), node))


def _is_short(free: Vector, memory: bool) -> bool:
    """Whether more is taken than there is. A use without a type is short only of all types together."""
    if free.cpus < 0 or (memory and free.mem < 0) or sum(free.gpus.values()) < 0:
        return True
    typed = (many for kind, many in free.gpus.items() if kind != UNTYPED)
    return any(many < 0 for many in typed) or any(many < 0 for many in free.shares.values())


def _is_leaving(state: str) -> bool:
    """Whether an operator waits for the node to become empty."""
    return any(word in state.upper() for word in ("DRAIN", "REBOOT", "MAINT", "FAIL"))


def _begins_after(job: RoomJob, until: int) -> bool:
    """A job that its user lets wait for a time (--begin) starts no earlier."""
    return _begins(job) >= until


def _begins(job: RoomJob) -> int:
    """When it may start, by its user's --begin; 0: at any time."""
    return (job.eligible_time or 0) if job.reason.startswith("BeginTime") else 0
