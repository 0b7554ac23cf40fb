"""The Site of a running cluster, as Slurm tells it: what `policy install` compiles a policy for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adminkit.errors import AdminkitError
from adminkit.slurm import associations, partitions
from adminkit.slurm.cluster import OPERATORS, admin_level, admin_levels
from adminkit.slurm.controller import Controller, controller
from adminkit.slurm.scheduler import scheduler
from adminkit.slurm.site import Site, SiteNode, SiteQueue, sized
from adminkit.slurm.site_file import writable
from adminkit.users import uid_of


@dataclass(frozen=True, slots=True)
class Gathered:
    """A Site, and sentences on what is unknown."""

    site: Site
    notes: tuple[str, ...] = ()


def gather(users: Iterable[str] = (), slurmctld: Controller | None = None) -> Gathered:
    """Ask Slurm. `users` are names whose uids are wanted. AdminkitError when slurmctld is away."""
    known = slurmctld or controller()
    nodes, without = _nodes()
    queues = _queues(nodes)
    privileged, notes = _privileged(known)
    notes += without
    uids, unknown = _uids(users)
    notes += [f"no such user on this host, so no rule applies to them or excepts them: {name}" for name in unknown]
    return Gathered(Site(known.cluster, queues, frozenset(privileged), uids, tuple(nodes)), tuple(notes))


def describe() -> Gathered:
    """Like `gather`, with the scheduler, QOS and associations. A note says what slurmdbd does not tell."""
    gathered = gather()
    site = replace(gathered.site, scheduler=scheduler())
    try:
        whole = replace(
            site, qos=tuple(associations.qos()), associations=tuple(associations.associations(site.cluster))
        )
    except AdminkitError as error:
        site, left_out = writable(site)
        notes = (*gathered.notes, f"without QOS and associations: {error.message}", *left_out)
        return replace(gathered, site=site, notes=notes)
    whole, left_out = writable(whole)
    return replace(gathered, site=whole, notes=(*gathered.notes, *left_out))


def complete(site: Site) -> Site:
    """The local cluster with its scheduler and QOS, and with what pyslurm does not have of queues. AdminkitError where
    slurmctld or slurmdbd does not say.
    """
    told = partitions.told_by_scontrol() if partitions.source() == "pyslurm" else {}
    queues = tuple(_with(queue, told[queue.name]) if queue.name in told else queue for queue in site.queues)
    return replace(site, queues=queues, qos=tuple(associations.qos()), scheduler=scheduler())


def _nodes() -> tuple[list[SiteNode], list[str]]:
    """Nodes, and notes. With PrivateData=nodes slurmctld shows nodes to operators only, but queues to all."""
    try:
        return partitions.nodes(), []
    except AdminkitError as error:
        return [], [f"without nodes: {error.message}"]


def _queues(nodes: Sequence[SiteNode]) -> tuple[SiteQueue, ...]:
    """The local cluster's, with the size of the largest node of each."""
    queues = partitions.queues()
    if partitions.source() == "pyslurm":
        told = partitions.told_by_scontrol()
        queues = [_with(queue, told[queue.name]) if queue.name in told else queue for queue in queues]
    return tuple(sized(queue, nodes) for queue in queues)


def _with(queue: SiteQueue, told: SiteQueue) -> SiteQueue:
    """The queue with what pyslurm does not have."""
    known = {name: getattr(told, name) for name in ("whole", "priority_tier", "priority_factor")}
    return replace(queue, **known)


def privileged(slurmctld: Controller) -> tuple[set[int], list[str]]:
    """The uids no rule holds: root, SlurmUser, and whom slurmdbd calls operator or administrator; notes.

    AdminkitError where slurmdbd does not say. An empty answer is an error: slurmdbd always has a user.
    Trap: sacctmgr escapes nothing, and a coordinator may give a new user a name that looks like a line of its list. So
    each operator is asked for by name too.
    """
    listed = admin_levels()
    if not any(map(any, listed)):
        raise AdminkitError(
            "couldn't find the operators: slurmdbd listed no users", "check its output: sacctmgr show user"
        )
    if not any(level in OPERATORS for _, level in listed):
        raise AdminkitError(
            "couldn't find the operators: slurmdbd listed none, although it always has one",
            "check its output: sacctmgr show user",
        )
    known, unknown = _uids(name for name, level in listed if level in OPERATORS)
    operators = {uid for name, uid in known.items() if admin_level(name) in OPERATORS}
    return _always(slurmctld) | operators, [f"operator {name} is not a user of this host" for name in unknown]


def _privileged(slurmctld: Controller) -> tuple[set[int], list[str]]:
    try:
        return privileged(slurmctld)
    except AdminkitError as error:
        return _always(slurmctld), [f"operators are not known, so rules apply to them too: {error.message}"]


def _always(slurmctld: Controller) -> set[int]:
    return {0} | ({slurmctld.uid} if slurmctld.uid is not None else set())


def _uids(names: Iterable[str]) -> tuple[Mapping[str, int], list[str]]:
    uids: dict[str, int] = {}
    unknown = []
    for name in dict.fromkeys(names):
        uid = uid_of(name)
        if uid is None:
            unknown.append(name)
        else:
            uids[name] = uid
    return uids, unknown
