"""What the runs of a queue, class, user or account used of what they had: CPUs, memory, GPUs and their memory.

efficiency.py has what one run used. Here it is added up: a share of hours, in which long runs weigh more, and its
spread over runs, each once. A run of which a use is unknown is left out of that resource alone.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.stats.efficiency import (
    GPU_SECONDS,
    JOBSTATS_COMMENT,
    MEM_STEPS,
    STEP_MEM,
    cpu_share,
    jobstats_gpu,
    jobstats_gpu_memory,
    memory,
    steps_of,
)
from adminkit.stats.select import Filter, LeftOut, clusters, select, snapshot, span

#: What a row may be about -> SQL over the view run.
PARTS: Final[Mapping[str, str]] = {"queue": "queue", "class": "class", "user": "user", "account": "account"}
RESOURCES: Final = ("cpu", "mem", "gpu", "gpu_mem")
#: GPUs that were busy for less than this share of the time count as idle.
IDLE: Final = 0.01

_RUNS: Final = f"""
SELECT cluster, {{part}}, job_id_raw, submit_time, elapsed, size_cpus, cpu_time, coalesce(mem, req_mem), {MEM_STEPS},
    {STEP_MEM}, size_gpus, CASE WHEN size_gpus > 0 THEN {GPU_SECONDS} END, {JOBSTATS_COMMENT}
FROM run WHERE """


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

    used: float = 0.0
    reserved: float = 0.0
    shares: array[float] = field(default_factory=lambda: array("d"), repr=False)

    @property
    def jobs(self) -> int:
        """Runs of which the use is known."""
        return len(self.shares)

    @property
    def share(self) -> float | None:
        return self.used / self.reserved if self.reserved else None

    def add(self, share: float, reserved: float) -> None:
        self.used += share * reserved
        self.reserved += reserved
        self.shares.append(share)

    def spread(self) -> Spread | None:
        import numpy as np

        if not self.shares:
            return None
        values = np.frombuffer(self.shares)
        return Spread(float(values.mean()), *map(float, np.quantile(values, (0.1, 0.25, 0.5, 0.75, 0.9))))


@dataclass(slots=True)
class Group:
    """The runs with one value of a part (PARTS); None for unknown."""

    value: str | None
    cluster: str | None
    jobs: int = 0
    uses: Mapping[str, Use] = field(default_factory=lambda: {name: Use() for name in RESOURCES})
    gpu_jobs: int = 0  # runs that had GPUs
    jobstats: int = 0  # of these, Jobstats measured the GPUs
    idle: int = 0  # of these, the GPUs were idle
    idle_seconds: float = 0.0  # their GPU-seconds

    def add(self, resource: str, share: float | None, reserved: float) -> None:
        if share is not None and share >= 0 and reserved > 0:
            self.uses[resource].add(share, reserved)

    def add_gpus(self, reserved: float, busy: float | None, comment: str | None) -> None:
        """A run with `reserved` GPU-seconds: what Jobstats says counts before what Slurm's plugin saw busy."""
        self.gpu_jobs += 1
        share = jobstats_gpu(comment)
        self.jobstats += share is not None
        if share is None and busy is not None:
            share = busy / reserved
        self.add("gpu", share, reserved)
        if share is not None and share < IDLE:
            self.idle += 1
            self.idle_seconds += reserved


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """`groups` by GPU-hours and CPU-hours that were reserved and not used, most first."""

    groups: Sequence[Group]
    overall: Group
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


def efficiencies(db: sqlite3.Connection, chosen: Filter, part: str) -> Efficiencies:
    """Measure what the runs that `chosen` takes used, whatever their limits."""
    selection = select(chosen, limits=False)
    groups: dict[tuple[str, str | None], Group] = {}
    with snapshot(db):
        left_out = LeftOut(db, selection)
        statement = _RUNS.format(part=PARTS[part]) + selection.counting
        for (
            cluster,
            value,
            number,
            submit,
            elapsed,
            cpus,
            cpu_time,
            mem,
            steps,
            used,
            gpus,
            busy,
            comment,
        ) in db.execute(statement, selection.params):
            key = (cluster, value)
            group = groups.get(key) or groups.setdefault(key, Group(value, cluster))
            group.jobs += 1
            if not elapsed or elapsed < 0:
                continue
            group.add("cpu", cpu_share(cpu_time, elapsed, cpus), elapsed * (cpus or 0))
            if steps > 1:
                used = memory(steps_of(db, cluster, number, submit))
            group.add("mem", used / mem if used is not None and mem else None, elapsed * (mem or 0))
            if gpus and gpus > 0:
                group.add_gpus(elapsed * gpus, busy, comment)
                if (held := jobstats_gpu_memory(comment)) is not None:
                    group.add("gpu_mem", held[0] / held[1], elapsed * held[1])
        overall = _together(groups.values())
        excluded = left_out.counts(overall.jobs)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    ordered = sorted(groups.values(), key=_order)
    return Efficiencies(ordered, overall, excluded, names, ends)


def _together(groups: Iterable[Group]) -> Group:
    overall = Group(None, None)
    for group in groups:
        for name in ("jobs", "gpu_jobs", "jobstats", "idle", "idle_seconds"):
            setattr(overall, name, getattr(overall, name) + getattr(group, name))
        for name, use in group.uses.items():
            whole = overall.uses[name]
            whole.used += use.used
            whole.reserved += use.reserved
            whole.shares.extend(use.shares)
    return overall


def _order(group: Group) -> tuple[float, float, str, str]:
    gpu, cpu = group.uses["gpu"], group.uses["cpu"]
    return gpu.used - gpu.reserved, cpu.used - cpu.reserved, group.cluster or "", group.value or ""
