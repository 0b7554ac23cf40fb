"""Runs by what they ran: framework, container, program or job name. Their hours, accuracy, and how alike they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.select import LIMITED, Filter, clusters, select, snapshot, span
from adminkit.stats.taken import Taken, as_they_come, blocks, grouped, split, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a row may be about: columns of the view run.
PARTS: Final = ("framework", "container", "program", "job_name")
_NUMBERS: Final = ("elapsed", "size_gpus", "size_cpus", f"CASE WHEN {LIMITED} THEN req_limit END")
#: Fields of Group that add up.
_SUMMED: Final = ("jobs", "gpu_seconds", "cpu_seconds", "gpus_unknown", "cpus_unknown", "limited", "used", "reserved")


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
    elapsed: Sequence[NDArray[Any]] = field(default=(), repr=False)  # parts of all, in seconds
    limits: Sequence[NDArray[Any]] = field(default=(), repr=False)  # beside them, NaN for none
    limited: int = 0  # jobs with a limit
    used: float = 0.0  # seconds, of these
    reserved: float = 0.0

    @property
    def used_fraction(self) -> float | None:
        return self.used / self.reserved if self.reserved else None

    def spread(self) -> Spread:
        import numpy as np

        mean, std = self._accuracy()
        elapsed = np.concatenate(self.elapsed, dtype=np.float64) if self.elapsed else np.zeros(0)
        quantiles = map(float, np.quantile(elapsed, (0.1, 0.5, 0.9))) if len(elapsed) else (None,) * 3
        return Spread(mean, std, *quantiles)

    def _accuracy(self) -> tuple[float | None, float | None]:
        import numpy as np

        pairs = zip(self.elapsed, self.limits, strict=True)
        parts = (np.divide(elapsed, limit, dtype=np.float64) for elapsed, limit in pairs)  # columns may be float32
        ratios = np.concatenate([np.zeros(0), *(part[~np.isnan(part)] for part in parts)])
        mean = float(ratios.mean()) if len(ratios) else None
        return mean, float(ratios.std(ddof=1)) if len(ratios) > 1 else None


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
    given = {"checkpoint_code": chosen.checkpoint_code}
    with snapshot(db):
        jobs = taken(db, selection, ("cluster", part, "user"), _NUMBERS, given)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    groups = _groups(jobs)
    overall = _together(groups)
    return Programs(sorted(groups, key=_order), overall, jobs.excluded, names, ends)


def _groups(jobs: Taken) -> list[Group]:
    """The groups in the order in which their runs come first."""
    import numpy as np

    *parts, users = jobs.texts
    number, keys = as_they_come(*grouped(*parts))
    groups = [Group(value, cluster) for cluster, value in keys]
    added = {name: np.zeros(len(keys)) for name in _SUMMED}
    for block in blocks(jobs.jobs):
        mine, (elapsed, gpus, cpus, limit) = number[block], [one[block].astype(np.float64) for one in jobs.numbers]
        ran = np.where(elapsed >= 0, elapsed, 0)
        limited = ~np.isnan(limit) & (elapsed >= 0)
        columns = (
            np.ones(len(mine)), ran * np.nan_to_num(gpus), ran * np.nan_to_num(cpus), np.isnan(gpus), np.isnan(cpus),
            limited, np.where(limited, ran, 0), np.where(limited, limit, 0),
        )  # fmt: skip
        for name, column in zip(_SUMMED, columns, strict=True):
            added[name] += np.bincount(mine, column, len(keys))  # whole numbers: their order does not matter
    for k, group in enumerate(groups):
        for name in _SUMMED:
            setattr(group, name, type(getattr(group, name))(added[name][k]))
    some = jobs.numbers[0] >= 0
    known: Any = slice(None) if some.all() else some
    times = [split(number[known], len(keys), one[known]) for one in (jobs.numbers[0], jobs.numbers[3])]
    for group, elapsed, limit in zip(groups, *times, strict=True):
        group.elapsed, group.limits = (elapsed,), (limit,)
    pairs = (np.unique(number[block] * np.int64(len(users.names)) + users.codes[block]) for block in blocks(jobs.jobs))
    for pair in np.unique(np.concatenate([np.zeros(0, np.int64), *pairs])).tolist():
        k, user = divmod(pair, len(users.names))
        if (name := users.names[user]) is not None:
            groups[k].users.add(name)
    return groups


def _together(groups: Sequence[Group]) -> Group:
    overall = Group(None, None)
    for group in groups:
        for name in _SUMMED:
            setattr(overall, name, getattr(overall, name) + getattr(group, name))
        overall.users |= group.users
    overall.elapsed, overall.limits = ([one for group in groups for one in getattr(group, name)]
                                       for name in ("elapsed", "limits"))  # fmt: skip
    return overall


def _order(group: Group) -> tuple[float, float, int, str, str]:
    return -group.gpu_seconds, -group.cpu_seconds, -group.jobs, group.cluster or "", group.value or ""
