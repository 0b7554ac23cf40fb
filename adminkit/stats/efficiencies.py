"""What the runs of a queue, class, user or account used of what they had: CPUs, memory, GPUs and their memory.

efficiency.py has what one run used. Here it is added up: a share of hours, in which long runs weigh more, and its
spread over runs, each once. A run whose use of a resource is unknown is left out only of that resource.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.distribution import Distribution, distribution, merged
from adminkit.stats.exact_sums import exact_sums
from adminkit.stats.select import Filter, clusters, select, snapshot, span
from adminkit.stats.taken import Taken, add, as_they_come, blocks, grouped, split, taken
from adminkit.trace.columns import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a row may be about -> SQL over the view run.
PARTS: Final[Mapping[str, str]] = {"queue": "queue", "class": "class", "user": "user", "account": "account"}
RESOURCES: Final = ("cpu", "mem", "gpu", "gpu_mem")
#: What --mem has to be, of what it was: the most that the fullest node can have held.
NODE_MEM: Final = "node_mem"
_USES: Final = (*RESOURCES, NODE_MEM)
_COUNTED: Final = ("gpu_jobs", "monitored", "idle", "idle_seconds")
#: GPUs that were busy for less than this share of the time count as idle.
IDLE: Final = 0.01

_NUMBERS: Final = (
    "elapsed", "size_cpus", "cpu_time", "coalesce(mem, req_mem)", "measured_mem", "size_gpus",
    "CASE WHEN gpu_kind = 'whole' THEN measured_gpu_seconds END", "measured_monitored_gpu",
    "measured_monitored_gpu_used", "measured_monitored_gpu_there", "measured_node_mem * coalesce(size_nodes, 1)",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spread:
    """Shares over runs, each once; quantiles are linear."""

    mean: float
    p10: float
    p25: float
    median: float
    p75: float
    p90: float


@dataclass(slots=True)
class Use:
    """One resource: seconds × CPUs, bytes or GPUs that were reserved, and used of these."""

    used: float
    reserved: float
    jobs: int  # runs of which the use is known
    spread: Spread | None  # of their shares; None where no use is known

    @property
    def share(self) -> float | None:
        return self.used / self.reserved if self.reserved else None


@dataclass(slots=True)
class Group:
    """The runs with one value of a part (PARTS); None for unknown."""

    value: str | None
    cluster: str | None
    jobs: int = 0
    uses: dict[str, Use] = field(default_factory=dict)  # of each of RESOURCES, and NODE_MEM
    gpu_jobs: int = 0  # runs that had GPUs
    monitored: int = 0  # of these, Jobstats or adminkit's plugin measured the GPUs
    idle: int = 0  # of these, the GPUs were idle
    idle_seconds: float = 0.0  # their GPU-seconds


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """`groups` by GPU-hours and CPU-hours that were reserved and not used, most first."""

    groups: Sequence[Group]
    overall: Group
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


def efficiencies(db: sqlite3.Connection, chosen: Filter, parts: Sequence[str]) -> list[Efficiencies]:
    """Measure what the runs that `chosen` takes used, whatever their limits: once for each of `parts`, in one scan."""
    selection = select(chosen, limits=False)
    with snapshot(db):
        jobs = taken(db, selection, ("cluster", *(PARTS[part] for part in parts)), _NUMBERS)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    found = []
    cluster, *values = jobs.texts
    for value in values:
        groups, overall = _groups(jobs, cluster, value)
        found.append(Efficiencies(sorted(groups, key=_order), overall, jobs.excluded, names, ends))
    return found


def _groups(jobs: Taken, *by: Texts) -> tuple[list[Group], Group]:
    """The groups in the order in which their runs come first, and all together."""
    import numpy as np

    number, keys = as_they_come(*grouped(*by))
    groups = [Group(value, cluster) for cluster, value in keys]
    counted = {name: np.zeros(len(keys)) for name in ("jobs", *_COUNTED)}
    chunks: dict[str, list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]] = {
        name: [(number[:0], np.zeros(0), np.zeros(0))] for name in _USES
    }
    for block in blocks(jobs.jobs):
        mine, numbers = number[block], [one[block].astype(np.float64) for one in jobs.numbers]
        counts, uses = _block(*numbers)
        for name, one in counts.items():
            add(counted[name], mine, one)  # whole numbers: their order does not matter
        for name, (share, reserved) in uses.items():
            some = np.flatnonzero((share >= 0) & (reserved > 0))  # a use is known, of something
            chunks[name].append((mine[some], share[some], reserved[some]))
    overall = Group(None, None)
    for name, parts in chunks.items():
        its, share, reserved = (np.concatenate(one) for one in zip(*parts, strict=True))
        used, had = (exact_sums(its, len(keys), one).tolist() for one in (share * reserved, reserved))
        apart = [distribution(own) for own in split(its, len(keys), share)]
        for k, own in enumerate(apart):
            groups[k].uses[name] = Use(used[k], had[k], own.jobs, spread_of(own))
        together = merged(apart)
        overall.uses[name] = Use(math.fsum(used), math.fsum(had), together.jobs, spread_of(together))
    for k, group in enumerate(groups):
        group.jobs, group.idle_seconds = int(counted["jobs"][k]), float(counted["idle_seconds"][k])
        group.gpu_jobs, group.monitored, group.idle = (int(counted[name][k]) for name in _COUNTED[:3])
        for name in ("jobs", *_COUNTED):
            setattr(overall, name, getattr(overall, name) + getattr(group, name))
    return groups, overall


def spread_of(shares: Distribution) -> Spread | None:
    """None for no share."""
    if not shares.jobs:
        return None
    return Spread(shares.mean(), *shares.quantiles((0.1, 0.25, 0.5, 0.75, 0.9)))


def _block(
    elapsed: NDArray[Any], cpus: NDArray[Any], cpu_time: NDArray[Any], mem: NDArray[Any], used: NDArray[Any],
    gpus: NDArray[Any], busy: NDArray[Any], told: NDArray[Any], gpu_mem: NDArray[Any], gpu_mem_there: NDArray[Any],
    node_mem: NDArray[Any],
) -> tuple[dict[str, NDArray[Any]], dict[str, tuple[NDArray[Any], NDArray[Any]]]]:  # fmt: skip
    """For each run of a block what counts it, and for each of _USES the share that was used, and what was reserved.

    What monitoring left counts before what Slurm's plugin saw busy.
    """
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        elapsed = np.where(elapsed > 0, elapsed, 0)
        had = np.where(gpus > 0, elapsed * gpus, 0)
        share = np.where(np.isnan(told), busy / had, told)
        uses = {
            "cpu": (cpu_time / (elapsed * cpus), elapsed * cpus),
            "mem": (used / mem, elapsed * mem),
            "gpu": (share, had),
            "gpu_mem": (gpu_mem / gpu_mem_there, np.where(had > 0, elapsed * gpu_mem_there, 0)),
            NODE_MEM: (node_mem / mem, elapsed * mem),
        }
        idle = (had > 0) & (share < IDLE)
    counts = {
        "jobs": np.ones(len(had)), "gpu_jobs": had > 0, "monitored": (had > 0) & ~np.isnan(told), "idle": idle,
        "idle_seconds": np.where(idle, had, 0),
    }  # fmt: skip
    return counts, uses


def _order(group: Group) -> tuple[float, float, str, str]:
    gpu, cpu = group.uses["gpu"], group.uses["cpu"]
    return gpu.used - gpu.reserved, cpu.used - cpu.reserved, group.cluster or "", group.value or ""
