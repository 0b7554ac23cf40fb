"""What a cluster has and what its jobs have and ask for, at this moment, added up.

Trap: squeue's rows are records of slurmctld's, and one record stands for all tasks of an array that wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.gres import parse_tres as parse_tres_gpus
from adminkit.slurm import room, scontrol_show, squeue
from adminkit.slurm.arrays import tasks_of
from adminkit.slurm.associations import parse_tres
from adminkit.slurm.keyvalue import given, settings
from adminkit.slurm.process import ask
from adminkit.slurm.seal import Marks
from adminkit.slurm.show_config import show_config

_PATIENCE: Final = 10.0
#: Account is the last, as it is a text that others may choose.
_FIELDS: Final = ("JobID", "JobArrayID", "ArrayJobID", "State", "Partition", "tres-alloc", "Reason", "SubmitTime",
                  "Account")  # fmt: skip
#: Reasons that nothing but a time, another job or a person ends: such a job waits for no node.
_HELD: Final = frozenset({
    "BeginTime", "Dependency", "DependencyNeverSatisfied", "JobHeldUser", "JobHeldAdmin", "JobArrayTaskLimit",
    "DeadLine",
})  # fmt: skip
_RUNS: Final = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "STAGE_OUT", "SIGNALING", "STOPPED"})
_SHARES: Final = ("Account", "User", "NormShares", "EffectvUsage", "LevelFS")


@dataclass(frozen=True, slots=True)
class Load:
    """Jobs of one queue and account in one state, and what they have or ask for. None: not known."""

    queue: str
    account: str
    state: str  # running, waiting, held
    jobs: int
    cpus: int
    mem: int | None  # bytes
    gpus: int | None  # whole ones and slices
    cut: int = 0  # arrays of which Slurm cut the list of tasks short; each is one job here


@dataclass(frozen=True, slots=True)
class Stock:
    """One kind of what nodes have: in use, free on nodes that take jobs, and on nodes that do not."""

    in_use: int
    free: int
    away: int


@dataclass(frozen=True, slots=True)
class AccountShare:
    """An account in the tree of fair shares. Shares of the whole, from 0 to 1; `level` is sshare's LevelFS."""

    account: str
    shares: float | None
    usage: float | None
    level: float | None


@dataclass(frozen=True, slots=True)
class Gauges:
    cluster: str
    nodes: Mapping[str, int]  # by state: allocated, mixed, idle, drained, down, asleep, waking, falling
    cpus: Stock
    mem: Stock  # bytes
    gpus: Mapping[str, Stock]  # by type
    loads: Sequence[Load]
    shares: Sequence[AccountShare]  # empty without priority/multifactor
    own_metrics: bool  # slurmctld has metrics of its own


def gauges() -> Gauges:
    """Ask slurmctld. AdminkitError when it is away, or hides its nodes or jobs."""
    nodes = list(map(room.node_of, scontrol_show.nodes(patience=_PATIENCE)))
    config = settings(show_config())
    tracked = "gres/gpu" in config.get("AccountingStorageTRES", "").lower().split(",")
    listed = squeue.jobs(_FIELDS, patience=_PATIENCE)
    return Gauges(
        given(config.get("ClusterName")) or "",
        states_of(nodes),
        *stocks(nodes),
        loads(listed, tracked),
        account_shares() if "multifactor" in config.get("PriorityType", "") else [],
        given(config.get("MetricsType")) is not None,
    )


def states_of(nodes: Sequence[room.RoomNode]) -> dict[str, int]:
    """Nodes by what they can do for jobs."""
    found: dict[str, int] = {}
    for one in nodes:
        state = one.away or one.power or _busy(one)
        found[state] = found.get(state, 0) + 1
    return found


def _busy(node: room.RoomNode) -> str:
    if not node.taken.cpus:
        return "idle"
    return "allocated" if node.taken.cpus >= node.has.cpus else "mixed"


def stocks(nodes: Sequence[room.RoomNode]) -> tuple[Stock, Stock, dict[str, Stock]]:
    """CPUs, memory, and GPUs by type. Trap: a node that is drained may still have jobs, whose part is in use."""
    kinds = sorted({kind for one in nodes for kind in one.has.gpus})
    return (
        _stock([(one, one.has.cpus, one.taken.cpus) for one in nodes]),
        _stock([(one, one.has.mem, one.taken.mem) for one in nodes]),
        {
            kind: _stock([(one, one.has.gpus.get(kind, 0), one.taken.gpus.get(kind, 0)) for one in nodes])
            for kind in kinds
        },
    )


def _stock(parts: Sequence[tuple[room.RoomNode, int, int]]) -> Stock:
    rest = [(node, max(0, has - taken)) for node, has, taken in parts]
    return Stock(
        sum(min(has, taken) for _, has, taken in parts),
        sum(left for node, left in rest if not node.away),
        sum(left for node, left in rest if node.away),
    )


def parse_loads(text: str, marks: Marks, tracked: bool) -> list[Load]:
    """The same of squeue's answer."""
    return loads(list(squeue.parse(text, _FIELDS, marks)), tracked)


def loads(jobs: Sequence[squeue.QueuedJob], tracked: bool) -> list[Load]:
    """What jobs have and ask for, by queue, account and state. `tracked`: AccountingStorageTRES lists gres/gpu.

    A job that asks for several queues counts in the first one.
    """
    found: dict[tuple[str, str, str], Load] = {}
    for job in jobs:
        state = _state(job)
        if state is None:
            continue
        key = (job.queue or "").partition(",")[0], job.account or "", state
        before = found.get(key, Load(*key, 0, 0, 0, 0 if tracked else None))
        found[key] = _with(before, job)
    return list(found.values())


def _state(job: squeue.QueuedJob) -> str | None:
    if job.state in _RUNS:
        return "running"
    if job.state != "PENDING":
        return None
    return "held" if job.reason.strip("()") in _HELD else "waiting"


def _with(load: Load, job: squeue.QueuedJob) -> Load:
    """That load with one record more. What is not known of one job is not known of all."""
    tasks = tasks_of(job.listed_id) if job.state == "PENDING" else 1
    many = tasks or 1
    amounts, held = parse_tres(job.tres or ""), parse_tres_gpus(job.tres or "")
    gpus = None if held is None else held.whole + held.slices
    return Load(
        load.queue,
        load.account,
        load.state,
        load.jobs + many,
        load.cpus + many * amounts.get("cpu", 0),
        _plus(load.mem, amounts.get("mem"), many),
        _plus(load.gpus, gpus, many),
        load.cut + (tasks is None),
    )


def _plus(sum_: int | None, value: int | None, many: int) -> int | None:
    return None if sum_ is None or value is None else sum_ + many * value


def account_shares() -> list[AccountShare]:
    """The accounts of the tree of fair shares. AdminkitError when slurmctld is away."""
    return list(parse_shares(ask(["sshare", "-n", "-P", "-a", "-o", ",".join(_SHARES)], _PATIENCE)))


def parse_shares(text: str) -> Iterator[AccountShare]:
    """The lines of accounts: users' have a name in the second cell, and the first cell is indented by depth."""
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == len(_SHARES) and cells[0] and not cells[1]:
            yield AccountShare(cells[0], *map(_number, cells[2:]))


def _number(cell: str) -> float | None:
    """None for inf, which an account has that used nothing."""
    return float(cell) if re.fullmatch(r"\d+(?:\.\d+)?", cell, re.ASCII) else None
