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
from adminkit.stats.grouped import blocks, grouped
from adminkit.stats.select import Filter, clusters, select, snapshot, span
from adminkit.stats.taken import Alike, numbered, split, total
from adminkit.stats.uses import Used, uses
from adminkit.trace.columns import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a row may be about -> SQL over the view run.
PARTS: Final[Mapping[str, str]] = {"queue": "queue", "class": "class", "user": "user", "account": "account"}
RESOURCES: Final = ("cpu", "mem", "gpu", "gpu_mem")
#: What --mem has to be, of what it was: the most that the fullest node can have held.
NODE_MEM: Final = "node_mem"
_COUNTED: Final = ("gpu_jobs", "monitored", "idle", "idle_seconds")
#: GPUs that were busy for less than this share of the time count as idle.
IDLE: Final = 0.01


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
        jobs, used = uses(db, selection, ("cluster", *(PARTS[part] for part in parts)))
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    found = []
    for place in range(1, len(parts) + 1):
        groups, overall = _groups(jobs, used, place)
        found.append(Efficiencies(sorted(groups, key=_order), overall, jobs.excluded, names, ends))
    return found


def _groups(jobs: Alike, used: Mapping[str, Used], place: int) -> tuple[list[Group], Group]:
    """The groups by cluster and the text at `place`, and all together."""
    number, keys = grouped(jobs.texts[0], jobs.texts[place])
    many_of = (total(number, len(keys), one).tolist() for one in (jobs.many, jobs.many * jobs.numbers[0]))
    groups = [Group(value, cluster, jobs=many, gpu_jobs=had)
              for (cluster, value), many, had in zip(keys, *many_of, strict=True)]  # fmt: skip
    overall = Group(None, None)
    for name, its in used.items():
        own = _as_in(keys, its.texts[0], its.texts[place])
        _add_use(groups, overall, name, its, own)
        if name == "gpu":
            _add_idle(groups, its, own)
    for group in groups:
        for count in ("jobs", *_COUNTED):
            setattr(overall, count, getattr(overall, count) + getattr(group, count))
    return groups, overall


def _as_in(keys: Sequence[tuple[Any, ...]], *by: Texts) -> NDArray[Any]:
    """The number of each row among `keys`."""
    import numpy as np

    number, its = grouped(*by)
    place = {key: k for k, key in enumerate(keys)}
    found: NDArray[Any] = np.array([place[key] for key in its], number.dtype)[number]
    return found


def _add_use(groups: Sequence[Group], overall: Group, name: str, its: Used, number: NDArray[Any]) -> None:
    """Give the groups what they used of a resource."""
    import numpy as np

    parts = [(number[:0], np.zeros(0), np.zeros(0))]
    for block in blocks(len(number)):
        mine, (share, reserved) = number[block], its.of(block)
        some = np.flatnonzero((share >= 0) & (reserved > 0))  # a use is known, of something
        parts.append((mine[some], share[some], reserved[some]))
    own, share, reserved = (np.concatenate(one) for one in zip(*parts, strict=True))
    used, had = (exact_sums(own, len(groups), one).tolist() for one in (share * reserved, reserved))
    apart = [distribution(one) for one in split(own, len(groups), share)]
    for k, (group, one) in enumerate(zip(groups, apart, strict=True)):
        group.uses[name] = Use(used[k], had[k], one.jobs, spread_of(one))
    together = merged(apart)
    overall.uses[name] = Use(math.fsum(used), math.fsum(had), together.jobs, spread_of(together))


def _add_idle(groups: Sequence[Group], gpus: Used, number: NDArray[Any]) -> None:
    """Give the groups whose GPUs monitoring measured, and which were idle."""
    import numpy as np

    told, parts = np.zeros(len(groups), np.int64), [(number[:0], np.zeros(0))]
    for block in blocks(len(number)):
        mine, (share, had) = number[block], gpus.of(block)
        told += numbered(mine[(had > 0) & gpus.told(block)], len(groups))
        idle = (had > 0) & (share < IDLE)
        parts.append((mine[idle], had[idle]))
    own, had = (np.concatenate(one) for one in zip(*parts, strict=True))
    columns = (told, numbered(own, len(groups)), exact_sums(own, len(groups), had))
    for group, *values in zip(groups, *(one.tolist() for one in columns), strict=True):
        group.monitored, group.idle, group.idle_seconds = values


def spread_of(shares: Distribution) -> Spread | None:
    """None for no share."""
    if not shares.jobs:
        return None
    return Spread(shares.mean(), *shares.quantiles((0.1, 0.25, 0.5, 0.75, 0.9)))


def _order(group: Group) -> tuple[float, float, str, str]:
    gpu, cpu = group.uses["gpu"], group.uses["cpu"]
    return gpu.used - gpu.reserved, cpu.used - cpu.reserved, group.cluster or "", group.value or ""
