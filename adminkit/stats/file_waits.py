"""How long runs that waited for files held their GPUs, by class; what makes a class is the caller's (findings/)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, clusters, select, snapshot, span
from adminkit.stats.taken import Taken, add, as_they_come, blocks, grouped, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[Any]

#: What a row may be about -> SQL over the view run.
PARTS: Final[Mapping[str, str]] = {"user": "user", "queue": "queue", "name": "job_name"}
_NUMBERS: Final = (
    "elapsed", "size_gpus", "measured_file_samples", "measured_file_only", "measured_file_full",
    "CASE WHEN size_gpus > 0 THEN measured_gpu_seconds END", "measured_monitored_gpu",
)  # fmt: skip
#: (samples, only, full, the share of the time that the GPUs were in use) -> the number of each run's class.
Classify = Callable[["Column", "Column", "Column", "Column"], "Column"]


@dataclass(slots=True)
class Held:
    """Runs of one class."""

    jobs: int = 0
    gpu_jobs: int = 0  # of these, had GPUs
    gpu_seconds: float = 0.0
    idle_seconds: float = 0.0  # of these, in which the GPUs were idle, of runs whose use is known


@dataclass(slots=True)
class Group:
    """The runs with one value of a part (PARTS), None for unknown; those that never ran are not among them."""

    value: str | None
    cluster: str | None
    classes: list[Held] = field(default_factory=list)  # by their numbers

    @property
    def jobs(self) -> int:
        return sum(one.jobs for one in self.classes)

    @property
    def gpu_seconds(self) -> float:
        return sum(one.gpu_seconds for one in self.classes)


@dataclass(frozen=True, slots=True)
class Waits:
    """`groups` by the GPU-seconds that they held, most first."""

    groups: Sequence[Group]
    overall: Group
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


def file_waits(db: sqlite3.Connection, chosen: Filter, part: str, classify: Classify, classes: int) -> Waits:
    """Measure the runs that `chosen` takes, whatever their limits. `classes`: how many numbers `classify` may give."""
    selection = select(chosen, limits=False)
    with snapshot(db):
        jobs = taken(db, selection, ("cluster", PARTS[part]), _NUMBERS)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    groups = _groups(jobs, classify, classes)
    overall = Group(None, None, [Held() for _ in range(classes)])
    for group in groups:
        for total, one in zip(overall.classes, group.classes, strict=True):
            total.jobs += one.jobs
            total.gpu_jobs += one.gpu_jobs
            total.gpu_seconds += one.gpu_seconds
            total.idle_seconds += one.idle_seconds
    return Waits(sorted(groups, key=_order), overall, jobs.excluded, names, ends)


def _groups(jobs: Taken, classify: Classify, classes: int) -> list[Group]:
    import numpy as np

    number, keys = as_they_come(*grouped(*jobs.texts))
    sums = [np.zeros(len(keys) * classes) for _ in range(4)]
    for block in blocks(len(number)):
        elapsed, gpus, samples, only, full, busy, told = (one[block].astype(np.float64) for one in jobs.numbers)
        ran = elapsed > 0
        held = np.where(ran & (gpus > 0), elapsed * gpus, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            use = np.where(held > 0, np.where(np.isnan(told), busy / held, told), np.nan)
        place = number[block].astype(np.int64) * classes + classify(samples, only, full, use)
        idle = held * np.clip(1 - use, 0, 1)
        for to, column in zip(sums, (ran, held > 0, held, idle), strict=True):
            add(to, place, column)
    columns = (one.tolist() for one in sums)
    found = [Held(int(many), int(had), *seconds) for many, had, *seconds in zip(*columns, strict=True)]
    groups = [Group(value, cluster, found[k * classes : (k + 1) * classes]) for k, (cluster, value) in enumerate(keys)]
    return [group for group in groups if group.jobs]


def _order(group: Group) -> tuple[float, int, str, str]:
    return -group.gpu_seconds, -group.jobs, group.cluster or "", group.value or ""
