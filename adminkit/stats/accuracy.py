"""Accuracy, elapsed / limit, of each queue: moments, quantiles, shares of the default and the maximum. Ratios above 1
are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.distribution import Distribution, distributions, merged
from adminkit.stats.grouped import grouped
from adminkit.stats.select import Filter, clusters, select, snapshot, span
from adminkit.stats.taken import Alike, Ask, alikes, total
from adminkit.stats.whole import in_seconds, seconds, unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Who chose the limit: 1 the default, 2 the user, 0 unknown.
_SOURCE: Final = "CASE limit_source WHEN 'default' THEN 1 WHEN 'explicit' THEN 2 ELSE 0 END"
_SIZES: Final = {"gpu": "size_gpus", "cpu": "size_cpus"}
#: Jobs over their limit, seconds used; seconds reserved and not used, times the size, and jobs of an unknown size.
_SUMS: Final = {
    "over": "CASE WHEN elapsed > req_limit THEN 1 ELSE 0 END",
    "used": "elapsed",
    **{
        name: sql
        for unit, size in _SIZES.items()
        for name, sql in ((unit, seconds(size, "(req_limit - elapsed)")), (f"{unit}_unknown", unknown(size)))
    },
}
_BY: Final = ("cluster", "queue")
_ASKED: Final = (Ask(_BY, ("req_limit", _SOURCE), tuple(_SUMS.values())), Ask(_BY, ("elapsed * 1.0 / req_limit",)))

#: A queue's limits as they are at :now. SQLite shows the row that has the maximum.
QUEUE_LIMITS: Final = """
SELECT cluster, queue, default_limit, max_limit, max(since) FROM queue WHERE since <= :now GROUP BY cluster, queue
"""

QUANTILES: Final = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
#: Points of an empirical distribution function, at most, however many jobs.
POINTS: Final = 500


@dataclass(frozen=True, slots=True)
class Spread:
    """elapsed / limit over some jobs: all None for no job, std (n-1) None for one."""

    min: float | None = None
    max: float | None = None
    mean: float | None = None
    std: float | None = None
    median: float | None = None
    p10: float | None = None
    p25: float | None = None
    p75: float | None = None
    p90: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """An empirical distribution function: `share[i]` of the jobs have at most `seconds[i]`. At most POINTS long."""

    seconds: Sequence[int] = ()
    share: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is measured besides: empirical distribution functions, and their values at `points` (seconds)."""

    curves: bool = False
    points: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class QueueAccuracy:
    """One queue of one cluster; both None for all queues together. A share leaves out jobs of which it is unknown."""

    cluster: str | None
    queue: str | None
    jobs: int
    spread: Spread
    share_maximum: float | None  # asked for the queue's maximum or more
    share_default: float | None  # took the default; a limit equal to it counts where nobody knows who chose the limit
    over_limit: int  # ran longer than asked
    gpu_seconds_unused: int | None  # reserved and not used; None where no job says its GPUs
    cpu_seconds_unused: int | None
    default_limit: int | None = None
    max_limit: int | None = None
    used_fraction: float | None = None  # the sum of elapsed / the sum of limits
    elapsed_curve: Curve = field(default=Curve(), repr=False)
    req_limit_curve: Curve = field(default=Curve(), repr=False)
    ran_within: Sequence[float] = ()  # for each of Wanted.points: the share of the jobs that ran this time or less
    asked_within: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Queues by number of jobs, most first; `overall` is every job once, `mean_of_queues` every queue once."""

    queues: Sequence[QueueAccuracy]
    overall: QueueAccuracy
    mean_of_queues: float | None
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]
    gpus_unknown: int
    cpus_unknown: int
    source_unknown: int


def accuracy(db: sqlite3.Connection, chosen: Filter, now: int, wanted: Wanted = Wanted()) -> Accuracy:
    """Measure the jobs that `chosen` takes; queue limits are those known at `now`."""
    with snapshot(db):
        limits = {(c, q): (d, m) for c, q, d, m, _ in db.execute(QUEUE_LIMITS, {"now": now})}
        more = [Ask(_BY, ("elapsed",))] if wanted.curves or wanted.points else []
        jobs, *lines = alikes(db, select(chosen, limits=True), [*_ASKED, *more], once=True)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    return _Tally(limits, jobs, lines).finish(jobs.excluded, names, ends, wanted)


class _Lines(NamedTuple):
    """The distributions that some jobs have; empty where they are not wanted."""

    accuracy: Distribution  # elapsed / limit
    elapsed: Distribution
    limit: Distribution

    @classmethod
    def together(cls, lines: Sequence[_Lines]) -> _Lines:
        return cls(*(merged([one[k] for one in lines]) for k in range(3)))


class _Tally:
    """Sums per queue, by name, and of each queue the distributions."""

    def __init__(
        self,
        limits: Mapping[tuple[str, str | None], tuple[int | None, int | None]],
        jobs: Alike,
        lines: Sequence[Alike],
    ) -> None:
        import numpy as np

        self.limits, many = limits, jobs.many
        code, self.keys = grouped(*jobs.texts)
        limit, source = (one.astype(np.int64) for one in jobs.numbers)
        known = [limits.get(key, (None, None)) for key in self.keys]
        default = np.array([d or 0 for d, _ in known], np.int64)[code]
        maximum = np.array([m or 0 for _, m in known], np.int64)[code]
        took = (source == 1) | ((source == 0) & (default > 0) & (limit == default))
        weights = {
            "jobs": many,
            "maximum": many * ((maximum > 0) & (limit >= maximum)),
            "default": many * took,
            "default_known": many * ((source > 0) | (default > 0)),
            "reserved": many * limit,
            "source_unknown": many * (source == 0),
            **dict(zip(_SUMS, jobs.sums, strict=True)),
        }
        self.sums = {name: total(code, len(self.keys), one) for name, one in weights.items()}
        self.sums["gpu"] = np.rint(in_seconds("size_gpus", self.sums["gpu"])).astype(np.int64)
        ratios, *times = (list(self._of_queues(one, one.numbers[0])) for one in lines)
        nothing = [merged([])] * len(self.keys)
        asked = list(self._of_queues(jobs, limit)) if times else nothing
        self.lines = [*map(_Lines, ratios, times[0] if times else nothing, asked)]

    def _of_queues(self, rows: Alike, values: NDArray[Any]) -> Iterator[Distribution]:
        """Those of the keys, in their order: the same jobs have the same keys."""
        return distributions(grouped(*rows.texts)[0], len(self.keys), values, rows.many)

    def finish(
        self, excluded: Mapping[str, int], names: Sequence[str], ends: tuple[int | None, int | None], wanted: Wanted
    ) -> Accuracy:
        queues = [self._queue(key, k, self.lines[k], wanted) for k, key in enumerate(self.keys)]
        queues.sort(key=lambda q: (-q.jobs, q.cluster or "", q.queue or ""))
        means = [q.spread.mean for q in queues if q.spread.mean is not None]
        return Accuracy(
            queues,
            self._overall(queues, _Lines.together(self.lines), wanted),
            sum(means) / len(means) if means else None,
            excluded,
            names,
            ends,
            *(int(self.sums[name].sum()) for name in ("gpu_unknown", "cpu_unknown", "source_unknown")),
        )

    def _queue(self, key: tuple[str, str | None], k: int, lines: _Lines, wanted: Wanted) -> QueueAccuracy:
        sums = {name: int(values[k]) for name, values in self.sums.items()}
        default, maximum = self.limits.get(key, (None, None))
        jobs = sums["jobs"]
        return QueueAccuracy(
            *key,
            jobs,
            spread(lines.accuracy),
            sums["maximum"] / jobs if maximum else None,
            sums["default"] / sums["default_known"] if sums["default_known"] else None,
            sums["over"],
            sums["gpu"] if sums["gpu_unknown"] < jobs else None,
            sums["cpu"] if sums["cpu_unknown"] < jobs else None,
            default,
            maximum,
            sums["used"] / sums["reserved"],
            **_distribution(lines, wanted),
        )

    def _overall(self, queues: list[QueueAccuracy], lines: _Lines, wanted: Wanted) -> QueueAccuracy:
        limited = sum(q.jobs for q in queues if q.max_limit)
        sums = {name: int(values.sum()) for name, values in self.sums.items()}
        return QueueAccuracy(
            None,
            None,
            sums["jobs"],
            spread(lines.accuracy),
            sums["maximum"] / limited if limited else None,
            sums["default"] / sums["default_known"] if sums["default_known"] else None,
            sums["over"],
            _total(q.gpu_seconds_unused for q in queues),
            _total(q.cpu_seconds_unused for q in queues),
            None,
            None,
            sums["used"] / sums["reserved"] if sums["reserved"] else None,
            **_distribution(lines, wanted),
        )


def _distribution(lines: _Lines, wanted: Wanted) -> dict[str, Any]:
    """The last fields of QueueAccuracy."""
    fields: dict[str, Any] = {}
    for line, of in (("elapsed", lines.elapsed), ("req_limit", lines.limit)):
        if wanted.curves:
            fields[f"{line}_curve"] = curve(of)
        within = tuple(of.share_within(at) if of.jobs else None for at in wanted.points)
        fields["ran_within" if line == "elapsed" else "asked_within"] = within
    return fields


def spread(accuracy: Distribution) -> Spread:
    """Mean, standard deviation (n - 1) and quantiles of elapsed / limit."""
    if not accuracy.jobs:
        return Spread()
    least, p10, p25, median, p75, p90, most = accuracy.quantiles(QUANTILES)
    return Spread(least, most, accuracy.mean(), accuracy.deviation(), median, p10, p25, p75, p90)


def curve(of: Distribution) -> Curve:
    """The empirical distribution function of whole seconds, in at most POINTS steps of equal height; the ends stay."""
    import numpy as np

    if not of.jobs:
        return Curve()
    seconds, upto, jobs = of.values, np.cumsum(of.many), of.jobs
    if len(seconds) > POINTS:
        wanted = np.linspace(upto[0], upto[-1], POINTS)
        keep = np.unique(np.searchsorted(upto, wanted))
        seconds, upto = seconds[keep], upto[keep]
    return Curve(seconds.tolist(), (upto / jobs).tolist())


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
