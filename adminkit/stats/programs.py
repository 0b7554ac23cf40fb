"""Runs by what they ran: framework, container, program or job name. Their hours, accuracy, and how alike they are."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from adminkit.stats.select import LIMITED, Filter, LeftOut, clusters, select, snapshot, span

#: What a row may be about: columns of the view run.
PARTS: Final = ("framework", "container", "program", "job_name")
_RUNS: Final = f"""
SELECT cluster, {{part}}, user, elapsed, size_gpus, size_cpus, CASE WHEN {LIMITED} THEN req_limit END FROM run WHERE """


@dataclass(frozen=True, slots=True)
class Spread:
    """How alike the runs are. Quantiles are linear; a std (n - 1) of fewer than two is None."""

    accuracy: float | None
    accuracy_std: float | None
    elapsed_p10: float | None
    elapsed_median: float | None
    elapsed_p90: float | None


@dataclass(slots=True)
class Group:
    """The runs with one value of a part (PARTS); None for unknown."""

    value: str | None
    cluster: str | None
    jobs: int = 0
    gpu_seconds: float = 0.0
    cpu_seconds: float = 0.0
    gpus_unknown: int = 0  # jobs
    cpus_unknown: int = 0
    users: set[str] = field(default_factory=set, repr=False)
    elapsed: array[float] = field(default_factory=lambda: array("d"), repr=False)  # seconds
    ratios: array[float] = field(default_factory=lambda: array("d"), repr=False)  # elapsed / limit of those with one
    used: float = 0.0  # seconds, of those with a limit
    reserved: float = 0.0

    @property
    def used_fraction(self) -> float | None:
        return self.used / self.reserved if self.reserved else None

    def spread(self) -> Spread:
        import numpy as np

        ratios, elapsed = np.frombuffer(self.ratios), np.frombuffer(self.elapsed)
        quantiles = map(float, np.quantile(elapsed, (0.1, 0.5, 0.9))) if len(elapsed) else (None,) * 3
        mean = float(ratios.mean()) if len(ratios) else None
        return Spread(mean, float(ratios.std(ddof=1)) if len(ratios) > 1 else None, *quantiles)

    def add(self, user: str | None, elapsed: int | None, gpus: int | None, cpus: int | None, limit: int | None) -> None:
        """One run."""
        self.jobs += 1
        if user is not None:
            self.users.add(user)
        self.gpus_unknown += gpus is None
        self.cpus_unknown += cpus is None
        if elapsed is None or elapsed < 0:
            return
        self.elapsed.append(elapsed)
        self.gpu_seconds += elapsed * (gpus or 0)
        self.cpu_seconds += elapsed * (cpus or 0)
        if limit is not None:
            self.ratios.append(elapsed / limit)
            self.used += elapsed
            self.reserved += limit


@dataclass(frozen=True, slots=True)
class Programs:
    """`groups` by GPU-hours, then CPU-hours, most first."""

    groups: Sequence[Group]
    overall: Group
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


def programs(db: sqlite3.Connection, chosen: Filter, part: str) -> Programs:
    """Measure the runs that `chosen` takes, whatever their limits; accuracy is of those that have one."""
    selection = select(chosen, limits=False)
    groups: dict[tuple[str, str | None], Group] = {}
    with snapshot(db):
        left_out = LeftOut(db, selection)
        given = {**selection.params, "checkpoint_code": chosen.checkpoint_code}
        for cluster, value, *run in db.execute(_RUNS.format(part=part) + selection.counting, given):
            key = (cluster, value)
            group = groups.get(key) or groups.setdefault(key, Group(value, cluster))
            group.add(*run)
        overall = _together(groups.values())
        excluded = left_out.counts(overall.jobs)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    ordered = sorted(groups.values(), key=_order)
    return Programs(ordered, overall, excluded, names, ends)


def _together(groups: Iterable[Group]) -> Group:
    overall = Group(None, None)
    for group in groups:
        for name in ("jobs", "gpu_seconds", "cpu_seconds", "gpus_unknown", "cpus_unknown", "used", "reserved"):
            setattr(overall, name, getattr(overall, name) + getattr(group, name))
        overall.users |= group.users
        overall.elapsed.extend(group.elapsed)
        overall.ratios.extend(group.ratios)
    return overall


def _order(group: Group) -> tuple[float, float, int, str, str]:
    return -group.gpu_seconds, -group.cpu_seconds, -group.jobs, group.cluster or "", group.value or ""
