"""What a workload runs on: nodes, queues and settings. slurm.conf and the simulator's site are both made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Nodes:
    """`count` nodes that are alike, called PREFIX1, PREFIX2, …"""

    prefix: str
    count: int
    cpus: int
    mem: int  # MiB
    gpus: int = 0
    gpu_type: str = ""
    weight: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}{number}" for number in range(1, self.count + 1))


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of the nodes of these prefixes."""

    name: str
    prefixes: tuple[str, ...]
    max_limit: int  # seconds, whole minutes
    tier: int = 1
    factor: int = 1
    max_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """`scheduler` are words of SchedulerParameters (True for one without a value), `settings` keys of slurm.conf.

    Both are in Slurm's own units; what is not named has Slurm's default.
    """

    nodes: tuple[Nodes, ...]
    queues: tuple[Queue, ...]
    scheduler: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)

    @property
    def cpus(self) -> int:
        return sum(one.count * one.cpus for one in self.nodes)

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(name for one in self.nodes for name in one.names)

    def queue(self, name: str) -> Queue:
        return next(one for one in self.queues if one.name == name)

    def nodes_of(self, queue: str) -> tuple[Nodes, ...]:
        return tuple(one for one in self.nodes if one.prefix in self.queue(queue).prefixes)


def conf_settings(shape: Shape) -> dict[str, str | None]:
    """The keys of slurm.conf."""
    words = [key if value is True else f"{key}={value}" for key, value in shape.scheduler.items()]
    own = {key: str(value) for key, value in shape.settings.items()}
    return {
        "PriorityWeightAge": None,
        "PriorityWeightPartition": None,
        "JobAcctGatherType": "jobacct_gather/none",
        "JobAcctGatherFrequency": None,
        "MinJobAge": "86400",
        "SchedulerParameters": ",".join(words),
        **own,
    }


def conf_lines(shape: Shape, hosts: Mapping[str, str]) -> list[str]:
    """The nodes and queues of slurm.conf; `hosts` says for each node how it is reached."""
    lines = []
    for one in shape.nodes:
        gres = f" Gres=gpu:{one.gpu_type}:{one.gpus}" if one.gpus else ""
        for name in one.names:
            lines.append(
                f"NodeName={name} {hosts[name]} CPUs={one.cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={one.cpus} "
                f"ThreadsPerCore=1 RealMemory={one.mem} Weight={one.weight}{gres} State=UNKNOWN"
            )
    for number, queue in enumerate(shape.queues):
        nodes = ",".join(name for one in shape.nodes_of(queue.name) for name in one.names)
        most = "" if queue.max_nodes is None else f" MaxNodes={queue.max_nodes}"
        lines.append(
            f"PartitionName={queue.name} Nodes={nodes} Default={'NO' if number else 'YES'} "
            f"MaxTime={queue.max_limit // 60} PriorityTier={queue.tier} PriorityJobFactor={queue.factor}{most} "
            "OverTimeLimit=0 State=UP"
        )
    return lines


def gres_lines(shape: Shape, devices: str) -> str:
    """gres.conf; `devices` is the folder of fake GPUs."""
    return "".join(
        f"NodeName={','.join(one.names)} Name=gpu Type={one.gpu_type} File={devices}/gpu[0-{one.gpus - 1}]\n"
        for one in shape.nodes
        if one.gpus
    )
