"""Whether this Slurm may plan by need, and what its scripts are told of it for the next minutes: the lease.

docs/soft-limits.md has each danger. A reason to refuse has a name, so that an operator can look it up there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adminkit.errors import AdminkitError
from adminkit.slurm.planning import PARAMETER, PlannedJob, Planning, PlanQueue, open_jobs, planning
from adminkit.slurm.release import Release, show_release
from adminkit.slurm.room import RoomQueue

#: The first releases of their series that hold what the guard relies on.
FIT: Final[tuple[Release, ...]] = ((25, 5, 6), (25, 11, 1))
#: The first release whose backfill leaves an update of a limit alone that is made while it yields; 25.05.8 and 25.11.7,
#: the last of their series so far, do not have it.
BEST: Final[Release] = (26, 5, 3)
FORMAT: Final = 1
#: The reasons of a job that waits for nodes, and for nothing else.
_FOR_NODES: Final = ("Priority", "Resources")
#: Entry of policy.lua that turns soft limits on.
_ENTRY: Final = re.compile(r'^  \["soft_limits"\] = ', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why there are no soft limits here."""

    name: str  # as docs/soft-limits.md has it
    why: str
    hint: str


def turns_on(policy: str) -> bool:
    """Whether the text of policy.lua turns soft limits on."""
    return _ENTRY.search(policy) is not None


def is_fit(release: Release) -> bool:
    """25.05.6 and later of 25.05, and everything since 25.11.1."""
    return release >= FIT[1] or FIT[0] <= release < (25, 11, 0)


def undone(release: Release) -> str:
    """What an older backfill does to the guard's work; "" for one that does not."""
    if release >= BEST:
        return ""
    return (
        f"slurmctld is {show_release(release)}: before {show_release(BEST)} backfill may, in rare cases, undo an"
        " update of a limit that is made in the middle of its pass"
    )


def reasons(site: Planning) -> list[Reason]:
    """Every reason to refuse; the parameter is not among them."""
    return list(_reasons(site))


def _reasons(site: Planning) -> Iterator[Reason]:
    if not is_fit(site.release):
        yield Reason(
            "release",
            f"slurmctld is {show_release(site.release)}: before 25.05.6 and 25.11.1 a job without a limit can hang it"
            " for good, and before 25.05.4 wide jobs starve",
            "update Slurm, or set soft_limits.enabled = false",
        )
    if site.scheduler != "sched/backfill":
        yield Reason("scheduler", f"SchedulerType is {site.scheduler}", "only sched/backfill plans by need")
    endless = [queue.name for queue in site.queues if queue.default_limit is None]
    if endless:
        yield Reason(
            "default_time",
            f"no DefaultTime in {', '.join(endless)}: a job there that has --time-min and no --time has no end",
            "give each queue a DefaultTime in slurm.conf",
        )
    if site.enforce != "ALL":
        yield Reason(
            "enforce_part_limits",
            f"EnforcePartLimits is {site.enforce or 'unknown'}: a queue's MaxTime would not hold",
            "set EnforcePartLimits=ALL in slurm.conf",
        )
    if site.federated:
        yield Reason("federation", "the cluster is in a federation: siblings of a job keep their TimeMin", "")


def parameter(site: Planning) -> Reason | None:
    """Where the running slurmctld does not plan by need."""
    if PARAMETER in site.parameters:
        return None
    return Reason(
        "parameter",
        f"the running slurmctld does not name {PARAMETER}",
        f"add {PARAMETER} to SchedulerParameters in slurm.conf, then: scontrol reconfigure",
    )


def warnings(site: Planning) -> list[str]:
    """What an operator should know before soft limits are on: who gets none, and why."""
    found = []
    for what, listed in (
        ("QOS", sorted(site.bounds.qos)),
        ("accounts", sorted(site.bounds.accounts)),
        ("uids", sorted(map(str, site.bounds.uids))),
    ):
        if listed:
            found.append(f"no soft limits, as limits on minutes would not hold: {what} {', '.join(listed)}")
    if older := undone(site.release):
        found.append(older)
    if (missing := parameter(site)) is not None:
        found.append(f"no soft limits yet: {missing.why}; once the guard runs, {missing.hint}")
    return found


def typed(jobs: Iterable[PlannedJob]) -> str:
    """How many open jobs have a --time-min that is not the policy's: soft limits change what it means."""
    listed = list(jobs)
    own = [job for job in listed if job.time_min is not None and ",soft=" not in job.comment]
    users = len({job.uid for job in own})
    return (
        f"open jobs with a --time-min of their own: {len(own)} of {len(listed)}, users: {users}; adminkit policy replay"
        " counts those that ended"
    )


def refuse_unsafe(policy: str, now: int) -> list[str]:
    """AdminkitError with every reason by its name, where the text of policy.lua turns soft limits on and must not.

    Else what an operator should know; empty where soft limits are off.
    """
    if not turns_on(policy):
        return []
    site = planning(now)
    against = reasons(site)
    if against:
        listed = "; ".join(f"{one.name}: {one.why}" for one in against)
        raise AdminkitError(f"soft limits are refused here: {listed}", against[0].hint or "docs/soft-limits.md")
    return [*warnings(site), typed(open_jobs())]


def with_deadlines(jobs: Iterable[PlannedJob]) -> frozenset[str]:
    """The queues in which an open job has a deadline."""
    return frozenset(queue for job in jobs if job.has_deadline for queue in job.queues)


def beside_wide(site: Planning, jobs: Iterable[PlannedJob], percent: int) -> frozenset[str]:
    """The queues that share nodes with one in which a job waits that asks for `percent` of its nodes; none for 0."""
    inside = {queue.name: queue.nodes for queue in site.queues}
    taken: set[str] = set()
    for job in jobs:
        if percent and job.state == "PENDING" and job.reason in _FOR_NODES:
            for name in job.queues:
                nodes = inside.get(name, frozenset())
                if nodes and job.nodes * 100 >= percent * len(nodes):
                    taken |= nodes
    return frozenset(name for name, nodes in inside.items() if not taken.isdisjoint(nodes))


def lease(
    site: Planning, jobs: Sequence[PlannedJob], preemptible: bool, wide: int, now: int, seconds: int
) -> dict[str, Any]:
    """The data of the lease: what may be given a soft limit until `now` + `seconds`."""
    qos_off = site.bounds.qos | (frozenset() if preemptible else site.bounds.preempted)
    late = with_deadlines(jobs) | beside_wide(site, jobs, wide)
    queues = {
        queue.name: {"most": queue.max_limit, "reserved_at": reserved_at(queue, site)}
        for queue in site.queues
        if queue.name not in late
        and (queue.qos is None or queue.qos not in site.bounds.qos)
        and (preemptible or not is_preempted(queue, site.queues, site.preempt))
    }
    return {
        "format": FORMAT,
        "generation": "lease",
        "made_at": now,
        "valid_until": now + seconds,
        "queues": queues,
        "qos_off": qos_off,
        "accounts_off": site.bounds.accounts,
        "users_off": site.bounds.uids,
    }


def reserved_at(queue: PlanQueue, site: Planning) -> int | None:
    """When the next reservation begins on nodes of a queue, whoever may use it; None for none that is known."""
    starts = (
        one.starts
        for one in site.reservations
        if one.starts is not None and (not queue.nodes or not one.nodes.isdisjoint(queue.nodes))
    )
    return min(starts, default=None)


def is_preempted(queue: PlanQueue | RoomQueue, queues: Iterable[PlanQueue | RoomQueue], preempt: str) -> bool:
    """Whether another queue's jobs may preempt those of this one; `preempt`: PreemptType."""
    if preempt != "preempt/partition_prio" or queue.preempt_mode == "OFF":
        return False
    return any(other.tier > queue.tier for other in queues)


def unclear(job: PlannedJob, given: Mapping[str, Any], now: int) -> str:
    """Why a pending job may no longer be planned by need; "" where it may."""
    if job.restarts:
        return "requeued"
    if job.has_deadline:
        return "deadline"
    if job.qos in given["qos_off"] or job.account in given["accounts_off"] or job.uid in given["users_off"]:
        return "limit on minutes"
    margin = given["valid_until"] - given["made_at"]
    for name in job.queues:
        queue = given["queues"].get(name)
        if queue is None:
            return f"queue {name}"
        if job.time_limit is None or (queue["most"] is not None and job.time_limit > queue["most"]):
            return f"limit above that of {name}"
        if queue["reserved_at"] is not None and now + job.time_limit + margin >= queue["reserved_at"]:
            return f"reservation in {name}"
    return ""
