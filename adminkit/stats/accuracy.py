"""Accuracy, elapsed / limit, of each queue: moments, quantiles, shares of the default and the maximum. Ratios above 1
are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, clusters, select, snapshot, span
from adminkit.stats.taken import Taken, blocks, grouped, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Who chose the limit: 1 the default, 2 the user, 0 unknown. CPUs and GPUs: -1 for unknown.
_SOURCE: Final = "CASE limit_source WHEN 'default' THEN 1 WHEN 'explicit' THEN 2 ELSE 0 END"
_COUNT: Final = "CASE WHEN {0} BETWEEN 0 AND 500000000 THEN {0} ELSE -1 END"
_NUMBERS: Final = ("elapsed", "req_limit", _SOURCE, _COUNT.format("size_cpus"), _COUNT.format("size_gpus"))

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
    error: Spread | None = None  # how far off each value of `spread` may be; infinite: it is that much or more
    elapsed_curve: Curve = field(default=Curve(), repr=False)
    req_limit_curve: Curve = field(default=Curve(), repr=False)
    ran_within: Sequence[
        float | None
    ] = ()  # for each of Wanted.points: the share of the jobs that ran this time or less
    asked_within: Sequence[float | None] = ()


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
    """Measure the jobs that `chosen` takes; queue limits are those known at `now`. 13 bytes per job are kept."""
    with snapshot(db):
        limits = {(c, q): (d, m) for c, q, d, m, _ in db.execute(QUEUE_LIMITS, {"now": now})}
        jobs = taken(db, select(chosen, limits=True), ("cluster", "queue"), _NUMBERS)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    return _Tally(limits, jobs).finish(jobs.excluded, names, ends, wanted)


class _Tally:
    """Sums per queue, by name, and elapsed and limit of every job for the quantiles."""

    def __init__(self, limits: Mapping[tuple[str, str | None], tuple[int | None, int | None]], jobs: Taken) -> None:
        import numpy as np

        self.limits = limits
        self.code, self.keys = grouped(*jobs.texts)
        self.elapsed, self.limit, *_ = jobs.numbers
        known = [limits.get(key, (None, None)) for key in self.keys]
        default = np.array([d or 0 for d, _ in known], np.int64)
        maximum = np.array([m or 0 for _, m in known], np.int64)
        self.sums: dict[str, NDArray[Any]] = {}
        for block in blocks(jobs.jobs):
            self._add(self.code[block], default, maximum, *(one[block].astype(np.int64) for one in jobs.numbers))

    def _add(
        self, code: NDArray[Any], defaults: NDArray[Any], maxima: NDArray[Any], elapsed: NDArray[Any],
        limit: NDArray[Any], source: NDArray[Any], cpus: NDArray[Any], gpus: NDArray[Any],
    ) -> None:  # fmt: skip
        import numpy as np

        default, maximum = defaults[code], maxima[code]
        unused = np.maximum(limit - elapsed, 0)
        took = (source == 1) | ((source == 0) & (default > 0) & (limit == default))
        for name, weights in (
            ("jobs", None),
            ("maximum", (maximum > 0) & (limit >= maximum)),
            ("default", took),
            ("default_known", (source > 0) | (default > 0)),
            ("over", elapsed > limit),
            ("used", elapsed),
            ("reserved", limit),
            ("gpu", np.where(gpus > 0, unused * gpus, 0)),
            ("gpu_unknown", gpus < 0),
            ("cpu", np.where(cpus > 0, unused * cpus, 0)),
            ("cpu_unknown", cpus < 0),
            ("source_unknown", source == 0),
        ):
            self.sums[name] = self.sums.get(name, 0) + np.bincount(code, weights, minlength=len(self.keys))

    def finish(
        self, excluded: Mapping[str, int], names: Sequence[str], ends: tuple[int | None, int | None], wanted: Wanted
    ) -> Accuracy:
        queues = []
        for k, key in enumerate(self.keys):
            mine = self.code == k
            queues.append(self._queue(key, k, self.elapsed[mine], self.limit[mine], wanted))
        queues.sort(key=lambda q: (-q.jobs, q.cluster or "", q.queue or ""))
        means = [q.spread.mean for q in queues if q.spread.mean is not None]
        return Accuracy(
            queues,
            self._overall(queues, self.elapsed, self.limit, wanted),
            sum(means) / len(means) if means else None,
            excluded,
            names,
            ends,
            *(int(self.sums[n].sum()) if self.sums else 0 for n in ("gpu_unknown", "cpu_unknown", "source_unknown")),
        )

    def _queue(
        self, key: tuple[str, str | None], k: int, elapsed: NDArray[Any], limit: NDArray[Any], wanted: Wanted
    ) -> QueueAccuracy:
        sums = {name: int(values[k]) for name, values in self.sums.items()}
        default, maximum = self.limits.get(key, (None, None))
        jobs = sums["jobs"]
        return QueueAccuracy(
            *key,
            jobs,
            spread(elapsed, limit),
            sums["maximum"] / jobs if maximum else None,
            sums["default"] / sums["default_known"] if sums["default_known"] else None,
            sums["over"],
            sums["gpu"] if sums["gpu_unknown"] < jobs else None,
            sums["cpu"] if sums["cpu_unknown"] < jobs else None,
            default,
            maximum,
            sums["used"] / sums["reserved"],
            **_distribution(elapsed, limit, wanted),
        )

    def _overall(
        self, queues: list[QueueAccuracy], elapsed: NDArray[Any], limit: NDArray[Any], wanted: Wanted
    ) -> QueueAccuracy:
        limited = sum(q.jobs for q in queues if q.max_limit)
        sums = {name: int(values.sum()) for name, values in self.sums.items()}
        default_known = sums.get("default_known", 0)
        return QueueAccuracy(
            None,
            None,
            len(elapsed),
            spread(elapsed, limit),
            sums["maximum"] / limited if limited else None,
            sums["default"] / default_known if default_known else None,
            sums.get("over", 0),
            _total(q.gpu_seconds_unused for q in queues),
            _total(q.cpu_seconds_unused for q in queues),
            None,
            None,
            sums["used"] / sums["reserved"] if sums else None,
            **_distribution(elapsed, limit, wanted),
        )


def _distribution(elapsed: NDArray[Any], limit: NDArray[Any], wanted: Wanted) -> dict[str, Any]:
    """The last fields of QueueAccuracy."""
    fields: dict[str, Any] = {}
    for line, values in (("elapsed", elapsed), ("req_limit", limit)):
        if wanted.curves:
            fields[f"{line}_curve"] = curve(values)
        within = tuple(float((values <= at).mean()) if len(values) else None for at in wanted.points)
        fields["ran_within" if line == "elapsed" else "asked_within"] = within
    return fields


def spread(elapsed: NDArray[Any], limit: NDArray[Any]) -> Spread:
    """Mean, standard deviation (n - 1) and quantiles of elapsed / limit, in one float per job.

    Quantiles are interpolated linearly: type 7 of Hyndman, Fan, The American Statistician 50 (1996) 361.
    """
    import numpy as np

    jobs = len(elapsed)
    if not jobs:
        return Spread()
    ratio = np.divide(elapsed, limit, dtype=np.float64)
    mean = float(ratio.mean())
    blocks = range(0, jobs, 1 << 20)
    squares = sum(float(np.square(ratio[start : start + (1 << 20)] - mean).sum()) for start in blocks)
    least, p10, p25, median, p75, p90, most = map(float, np.quantile(ratio, QUANTILES, overwrite_input=True))
    return Spread(least, most, mean, (squares / (jobs - 1)) ** 0.5 if jobs > 1 else None, median, p10, p25, p75, p90)


def curve(values: NDArray[Any]) -> Curve:
    """The empirical distribution function of whole seconds, in at most POINTS steps of equal height; the ends stay."""
    import numpy as np

    if not len(values):
        return Curve()
    seconds, counts = np.unique(values, return_counts=True)
    upto = np.cumsum(counts)
    if len(seconds) > POINTS:
        wanted = np.linspace(upto[0], upto[-1], POINTS)
        keep = np.unique(np.searchsorted(upto, wanted))
        seconds, upto = seconds[keep], upto[keep]
    return Curve(seconds.tolist(), (upto / len(values)).tolist())


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
