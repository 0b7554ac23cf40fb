"""The Site of a running cluster, as Slurm tells it: what `policy install` compiles a policy for."""

from __future__ import annotations

import pwd
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm import bindings
from adminkit.slurm.cluster import OPERATORS, admin_level, parse_limit
from adminkit.slurm.controller import Controller, controller
from adminkit.slurm.run import ask
from adminkit.slurm.site import Node, Site, SiteQueue

_NO_LIST: Final = ("", "ALL", "(null)", "N/A")


@dataclass(frozen=True, slots=True)
class Gathered:
    """A Site, and sentences on what could not be found out."""

    site: Site
    notes: tuple[str, ...] = ()


def gather(users: Iterable[str] = (), found: Controller | None = None) -> Gathered:
    """Ask Slurm. `users` are names whose uids are wanted. AdminkitError when slurmctld is away."""
    known = found or controller()
    queues = site_queues()
    privileged, notes = _privileged(known)
    uids, unknown = _uids(users)
    notes += [f"no such user on this host, so no rule counts for or excepts them: {name}" for name in unknown]
    return Gathered(Site(known.cluster, tuple(queues), frozenset(privileged), uids), tuple(notes))


def site_queues() -> list[SiteQueue]:
    """The local cluster's, from pyslurm where it goes with this Slurm, else from scontrol."""
    pyslurm, _ = bindings.found()
    if pyslurm is not None:
        nodes = bindings.nodes(pyslurm)
        # pyslurm does not tell of OverSubscribe.
        whole = {one.name for one in parse_queues(ask(["scontrol", "-o", "--all", "show", "partition"])) if one.whole}
        found = [_sized(one.queue, nodes) for one in bindings.partitions(pyslurm)]
        return [replace(one, whole=one.name in whole) for one in found]
    nodes = parse_nodes(ask(["scontrol", "-o", "--all", "show", "node"]))
    return parse_queues(ask(["scontrol", "-o", "--all", "show", "partition"]), nodes)


def _sized(queue: SiteQueue, nodes: Iterable[Node]) -> SiteQueue:
    """The queue with what its largest node has."""
    inside = [node for node in nodes if queue.name in node.queues]
    if not inside:
        return queue
    return replace(
        queue,
        node_cpus=max(node.cpus for node in inside),
        node_mem_mib=max(node.mem for node in inside),
        node_gpus=max(node.gpus for node in inside),
        gpu_types=frozenset().union(*(node.gpu_types for node in inside)),
        features=frozenset().union(*(node.features for node in inside)),
    )


def parse_queues(text: str, nodes: Iterable[Node] = ()) -> list[SiteQueue]:
    """`scontrol -o show partition`, with the largest node of each queue taken from `nodes`."""
    found, known = [], list(nodes)
    for words in _lines(text, "PartitionName"):
        found.append(
            SiteQueue(
                name=words["PartitionName"],
                default_limit=parse_limit(words.get("DefaultTime", "NONE")),
                max_limit=parse_limit(words.get("MaxTime", "UNLIMITED")),
                min_nodes=_number(words.get("MinNodes")),
                max_nodes=_number(words.get("MaxNodes")),
                # One for root alone, or for reservations alone, is none that a user could be sent to.
                up=words.get("State", "UP") == "UP" and "YES" not in (words.get("RootOnly"), words.get("ReqResv")),
                is_default=words.get("Default") == "YES",
                whole=words.get("OverSubscribe") == "EXCLUSIVE" or words.get("Exclusive") == "NODE",  # 26.05
                total_nodes=_number(words.get("TotalNodes")),
                allow_accounts=_names(words.get("AllowAccounts")),
                deny_accounts=_names(words.get("DenyAccounts")),
                allow_qos=_names(words.get("AllowQos")),
                deny_qos=_names(words.get("DenyQos")),
                allow_groups=_names(words.get("AllowGroups")),
            )
        )
    return [_sized(queue, known) for queue in found]


def parse_nodes(text: str) -> list[Node]:
    """`scontrol -o show node`."""
    found = []
    for words in _lines(text, "NodeName"):
        gpus, types = parse_gres(words.get("Gres", ""))
        found.append(
            Node(
                queues=_names(words.get("Partitions")) or frozenset(),
                cpus=_number(words.get("CPUTot")) or 0,
                mem=_number(words.get("RealMemory")) or 0,
                gpus=gpus,
                gpu_types=types,
                features=_names(words.get("AvailableFeatures")) or frozenset(),
            )
        )
    return found


def parse_gres(text: str) -> tuple[int, frozenset[str]]:
    """gpu:8, gpu:a100:4(S:0-1),gpu:v100:2,craynetwork:4 -> how many GPUs, and of which types."""
    total, types = 0, set()
    for item in text.split(","):
        name, *rest = item.partition("(")[0].split(":")
        if name != "gpu":
            continue
        count = rest.pop() if rest and rest[-1].isdigit() else "1"
        total += int(count)
        types.update(rest[:1])
    return total, frozenset(types)


def privileged(found: Controller) -> tuple[set[int], list[str]]:
    """The uids no rule holds: root, SlurmUser, and whom slurmdbd calls operator or administrator; notes.

    AdminkitError where slurmdbd does not say. It always knows somebody, and never answers with nobody.
    Trap: sacctmgr escapes nothing, and a coordinator's new user may be called what looks like a line of its list. So
    each one is asked for by name too.
    """
    answer = ask(["sacctmgr", "-n", "-P", "show", "user", "format=user,adminlevel"])
    if not answer.strip():
        raise AdminkitError("slurmdbd names no user at all", "look whether it answers: sacctmgr show user")
    listed = [line.partition("|")[::2] for line in answer.splitlines()]
    known, unknown = _uids(name for name, level in listed if level in OPERATORS)
    operators = {uid for name, uid in known.items() if admin_level(name) in OPERATORS}
    return _always(found) | operators, [f"operator {name} is no user of this host" for name in unknown]


def _privileged(found: Controller) -> tuple[set[int], list[str]]:
    try:
        return privileged(found)
    except AdminkitError as error:
        return _always(found), [f"operators are not known, so rules hold for them: {error.message}"]


def _always(found: Controller) -> set[int]:
    return {0} | ({found.uid} if found.uid is not None else set())


def _uids(names: Iterable[str]) -> tuple[Mapping[str, int], list[str]]:
    found: dict[str, int] = {}
    unknown = []
    for name in dict.fromkeys(names):
        try:
            found[name] = pwd.getpwnam(name).pw_uid
        except (KeyError, ValueError):
            unknown.append(name)
    return found, unknown


def _lines(text: str, key: str) -> Iterable[dict[str, str]]:
    """Key=Value words, a line per thing. Trap: text of operators (Reason, Comment) comes last, so the first counts."""
    for line in text.splitlines():
        words: dict[str, str] = {}
        for word in line.split(" "):
            name, equals, value = word.partition("=")
            if equals:
                words.setdefault(name, value)
        if key in words:
            yield words


def _names(text: str | None) -> frozenset[str] | None:
    """A list of names; None where all are meant."""
    return None if text is None or text in _NO_LIST else frozenset(filter(None, text.split(",")))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
