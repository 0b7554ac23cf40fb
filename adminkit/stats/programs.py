"""Runs by what they ran: framework, container, program or job name. Their hours, accuracy, and how alike they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.distribution import distribution
from adminkit.stats.grouped import grouped
from adminkit.stats.select import LIMITED, Filter, clusters, select, snapshot, span
from adminkit.stats.taken import Alike, Ask, alikes, splits, total
from adminkit.stats.whole import in_seconds, seconds, unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a row may be about: columns of the view run.
PARTS: Final = ("framework", "container", "program", "job_name")
#: Run times and limits, for quantiles.
_TIMES: Final = ("elapsed", f"CASE WHEN {LIMITED} THEN req_limit END")
#: Bits: the number of GPUs is unknown, that of CPUs.
_FLAGS: Final = f"{unknown('size_gpus', 1)} + {unknown('size_cpus', 2)}"
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
    #: Run times, limits (nan for none), and how many jobs have both: columns, in parts of all.
    times: Sequence[Sequence[NDArray[Any]]] = field(default=(), repr=False, compare=False)
    limited: int = 0  # jobs with a limit
    used: float = 0.0  # seconds, of these
    reserved: float = 0.0

    @property
    def used_fraction(self) -> float | None:
        return self.used / self.reserved if self.reserved else None

    def spread(self) -> Spread:
        elapsed, limit, many = together(self.times)
        some = limit > 0
        accuracy = distribution(elapsed[some] / limit[some], many[some])
        ran = distribution(elapsed, many)
        return Spread(
            accuracy.mean() if accuracy.jobs else None,
            accuracy.deviation() if accuracy.jobs else None,
            *(ran.quantiles((0.1, 0.5, 0.9)) if ran.jobs else (None,) * 3),
        )


def together(parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """The columns of Group.times in one part, as floats and whole numbers."""
    import numpy as np

    kinds = (np.float64, np.float64, np.int64)
    return [np.concatenate([np.zeros(0), *(part[k] for part in parts)]).astype(kind) for k, kind in enumerate(kinds)]


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
    asked = (
        Ask(("cluster", part, "user"), (_FLAGS,), (seconds("size_gpus"), seconds("size_cpus"))),
        Ask(("cluster", part), _TIMES),
    )
    with snapshot(db):
        by_user, times = alikes(db, selection, asked, {"checkpoint_code": chosen.checkpoint_code}, once=True)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    groups = _groups(by_user)
    _add_times(groups, times)
    overall = _together(groups.values())
    return Programs(sorted(groups.values(), key=_order), overall, by_user.excluded, names, ends)


_Groups = dict[tuple[str, str | None], Group]  # by cluster and value


def _groups(jobs: Alike) -> _Groups:
    """What each group has, but for times and limits."""
    number, keys = grouped(*jobs.texts, jobs.numbers[0])
    many_of, gpus, cpus = (total(number, len(keys), one) for one in (jobs.many, *jobs.sums))
    columns = [one.tolist() for one in (many_of, in_seconds("size_gpus", gpus), cpus)]
    found: _Groups = {}
    for (cluster, value, user, flags), many, gpu, cpu in zip(keys, *columns, strict=True):
        group = found.setdefault((cluster, value), Group(value, cluster))
        group.jobs += many
        group.gpu_seconds += gpu
        group.cpu_seconds += cpu
        group.gpus_unknown += many if flags & 1 else 0
        group.cpus_unknown += many if flags & 2 else 0
        if user is not None:
            group.users.add(user)
    return found


def _add_times(groups: _Groups, jobs: Alike) -> None:
    import numpy as np

    number, keys = grouped(*jobs.texts)
    elapsed, limit = jobs.numbers
    known = elapsed >= 0
    limited = known & ~np.isnan(limit)
    mine, many = number[limited], jobs.many[limited]
    ran, asked = (one[limited].astype(np.int64) for one in jobs.numbers)
    columns = [total(mine, len(keys), one).tolist() for one in (many, many * ran, many * asked)]
    times = splits(number[known], len(keys), *(one[known] for one in (elapsed, limit, jobs.many)))
    for key, part, sums in zip(keys, times, zip(*columns, strict=True), strict=True):
        group = groups[key]
        group.times = (part,)
        group.limited, (group.used, group.reserved) = sums[0], map(float, sums[1:])


def _together(groups: Collection[Group]) -> Group:
    overall = Group(None, None)
    for group in groups:
        for name in _SUMMED:
            setattr(overall, name, getattr(overall, name) + getattr(group, name))
        overall.users |= group.users
    overall.times = [part for group in groups for part in group.times]
    return overall


def _order(group: Group) -> tuple[float, float, int, str, str]:
    return -group.gpu_seconds, -group.cpu_seconds, -group.jobs, group.cluster or "", group.value or ""
