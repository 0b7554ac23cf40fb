"""Partitions, nodes and reservations as `scontrol show` prints them, asked and parsed only here.

Others take views: partitions.py for a site, room.py for what can start now, planning.py for soft limits. Words with
a parser of their own stay text: GRES and TRES (adminkit/gres.py), states and timeouts (power_saving.py).
"""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.slurm.cluster import on, parse_limit
from adminkit.slurm.hostlist import hosts
from adminkit.slurm.keyvalue import all_records, given, names, number, records
from adminkit.slurm.process import TIMEOUT, ask

_MIB: Final = 1 << 20
#: Characters of a list of nodes. Built without readline, scontrol cuts a line of 4096 in two.
_LONGEST: Final = 4000
#: A prompt with what scontrol read, and a bare one.
_ECHO: Final = re.compile(r"^scontrol: (?:show|oneliner)\b.*\n", re.MULTILINE)
_PROMPT: Final = re.compile(r"^(?:scontrol: )+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Limits in seconds, memory in bytes. None: no such limit or list, or none of the partition's own."""

    name: str
    default_limit: int | None
    max_limit: int | None
    min_nodes: int | None  # of one job
    max_nodes: int | None
    total_nodes: int | None
    up: bool  # users' jobs start in it
    is_default: bool
    whole: bool  # its jobs take whole nodes
    tier: int | None  # PriorityTier
    factor: int | None  # PriorityJobFactor
    preempt_mode: str
    qos: str | None
    default_mem_cpu: int | None
    default_mem_node: int | None
    max_mem_cpu: int | None
    max_mem_node: int | None
    max_cpus_node: int | None
    resume_timeout: str  # seconds, INFINITE, or GLOBAL for slurm.conf's own
    suspend_timeout: str
    allow_accounts: frozenset[str] | None
    deny_accounts: frozenset[str] | None
    allow_qos: frozenset[str] | None
    deny_qos: frozenset[str] | None
    allow_groups: frozenset[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Memory in bytes; None: not printed."""

    name: str
    cpus: int | None
    usable_cpus: int | None  # CPUEfctv: without those that are kept for its own programs
    alloc_cpus: int | None
    threads: int | None  # CPUs of a core
    mem: int | None
    own_mem: int | None  # MemSpecLimit
    alloc_mem: int | None
    gres: str
    gres_used: str | None  # with -d
    alloc_tres: str
    features: frozenset[str]  # that it has now
    all_features: frozenset[str]  # that it could have after a reboot, too
    queues: frozenset[str]
    weight: int | None
    state: str
    reason: str  # an operator's text


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Epoch seconds; None: not printed."""

    name: str
    nodes: frozenset[str]
    start_time: int | None
    end_time: int | None
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Around:
    """Nodes, and what jobs on them are held to; `limits`: `scontrol show assoc_mgr`, for assoc_limits."""

    nodes: Sequence[Node]
    partitions: Sequence[Partition]
    reservations: Sequence[Reservation]
    limits: str


def partitions(cluster: str | None = None, patience: float = TIMEOUT) -> list[Partition]:
    """Queues of a cluster, the local one for None, in Slurm's order. AdminkitError when slurmctld is away, and for an
    answer that cannot be read; so below."""
    return list(map(_partition, _asked("partition", "PartitionName", cluster, patience)))


def nodes(cluster: str | None = None, patience: float = TIMEOUT) -> list[Node]:
    """The nodes, with what of their GRES is used."""
    return list(map(_node, _asked("node", "NodeName", cluster, patience)))


def reservations(patience: float = TIMEOUT) -> list[Reservation]:
    return list(map(_reservation, _asked("reservation", "ReservationName", None, patience)))


def _asked(what: str, key: str, cluster: str | None, patience: float) -> list[dict[str, str]]:
    more = ["-d"] if what == "node" else []
    return all_records(ask(["scontrol", "-o", *more, *on(cluster), "--all", "show", what], patience), key)


def around(names: Collection[str], patience: float = TIMEOUT) -> Around:
    """What is around these nodes, from one scontrol; all nodes where none is named, or too many. AdminkitError as
    above.
    """
    listed = ",".join(sorted(names))
    which = f" {listed}" if 0 < len(listed) <= _LONGEST else ""
    asked = ("show assoc_mgr flags=assoc,qos", f"oneliner\nshow node{which}", "show partition", "show reservation")
    limits, *found = _at_once(asked, patience)
    return Around(
        list(map(_node, all_records(found[0], "NodeName"))),
        list(map(_partition, all_records(found[1], "PartitionName"))),
        list(map(_reservation, all_records(found[2], "ReservationName"))),
        limits,
    )


def _at_once(questions: Sequence[str], patience: float) -> list[str]:
    """The answers to several questions of one scontrol, as `scontrol -d --all` prints each.

    scontrol reads what it is asked, and behind each answer it prints a mark that nobody could know. Trap: it prints its
    prompt before the first line of an answer; built with readline, what it read as well, in a line of its own.
    """
    mark = "".join(secrets.choice(string.ascii_lowercase) for _ in range(24))
    typed = "".join(f"{question}\nshow hostlist {mark}\n" for question in questions)
    text = ask(["scontrol", "-d", "--all"], patience, typed=typed)
    *found, _ = re.split(rf"^{mark}\n", _PROMPT.sub("", _ECHO.sub("", text)), flags=re.MULTILINE)
    if len(found) != len(questions) or not all(map(str.strip, found)):
        raise AdminkitError("scontrol did not answer all that it was asked", "check that slurmctld runs: scontrol ping")
    return found


def parse_partitions(text: str) -> Iterator[Partition]:
    """`scontrol -o show partition`."""
    return map(_partition, records(text, "PartitionName"))


def parse_nodes(text: str) -> Iterator[Node]:
    """`scontrol -o -d show node`."""
    return map(_node, records(text, "NodeName"))


def parse_reservations(text: str) -> Iterator[Reservation]:
    """`scontrol -o show reservation`."""
    return map(_reservation, records(text, "ReservationName"))


def _partition(words: Mapping[str, str]) -> Partition:
    return Partition(
        name=words["PartitionName"],
        default_limit=parse_limit(words.get("DefaultTime", "NONE")),
        max_limit=parse_limit(words.get("MaxTime", "UNLIMITED")),
        min_nodes=number(words.get("MinNodes")),
        max_nodes=number(words.get("MaxNodes")),
        total_nodes=number(words.get("TotalNodes")),
        # One for root only, or for reservations only, is not up for users.
        up=words.get("State", "UP") == "UP" and "YES" not in (words.get("RootOnly"), words.get("ReqResv")),
        is_default=words.get("Default") == "YES",
        whole=words.get("OverSubscribe") == "EXCLUSIVE" or words.get("Exclusive") == "NODE",  # the latter since 26.05
        tier=number(words.get("PriorityTier")),
        factor=number(words.get("PriorityJobFactor")),
        preempt_mode=words.get("PreemptMode", "OFF"),
        qos=given(words.get("QoS")),
        default_mem_cpu=_mib(words.get("DefMemPerCPU")),
        default_mem_node=_mib(words.get("DefMemPerNode")),
        max_mem_cpu=_mib(words.get("MaxMemPerCPU")),
        max_mem_node=_mib(words.get("MaxMemPerNode")),
        max_cpus_node=number(words.get("MaxCPUsPerNode")),
        resume_timeout=words.get("ResumeTimeout", "GLOBAL"),
        suspend_timeout=words.get("SuspendTimeout", "GLOBAL"),
        allow_accounts=names(words.get("AllowAccounts")),
        deny_accounts=names(words.get("DenyAccounts")),
        allow_qos=names(words.get("AllowQos")),
        deny_qos=names(words.get("DenyQos")),
        allow_groups=names(words.get("AllowGroups")),
    )


def _node(words: Mapping[str, str]) -> Node:
    return Node(
        name=words["NodeName"],
        cpus=number(words.get("CPUTot")),
        usable_cpus=number(words.get("CPUEfctv")),
        alloc_cpus=number(words.get("CPUAlloc")),
        threads=number(words.get("ThreadsPerCore")),
        mem=_mib(words.get("RealMemory")),
        own_mem=_mib(words.get("MemSpecLimit")),
        alloc_mem=_mib(words.get("AllocMem")),
        gres=given(words.get("Gres")) or "",
        gres_used=words.get("GresUsed"),
        alloc_tres=words.get("AllocTRES", ""),
        features=names(words.get("ActiveFeatures")) or frozenset(),
        all_features=names(words.get("AvailableFeatures")) or frozenset(),
        queues=names(words.get("Partitions")) or frozenset(),
        weight=number(words.get("Weight")),
        state=words.get("State", ""),
        reason=words.get("Reason", ""),
    )


def _reservation(words: Mapping[str, str]) -> Reservation:
    """AdminkitError for nodes that cannot be read: they are not free."""
    listed = given(words.get("Nodes")) or ""
    nodes = frozenset(hosts(listed))
    if listed and not nodes:
        raise AdminkitError(f"couldn't read the nodes of a reservation: {quote(listed)}", "scontrol show reservation")
    return Reservation(
        name=words["ReservationName"],
        nodes=nodes,
        start_time=number(words.get("StartTime")),
        end_time=number(words.get("EndTime")),
        flags=frozenset(words.get("Flags", "").split(",")),
    )


def _mib(text: str | None) -> int | None:
    found = number(text)
    return None if found is None else found * _MIB
