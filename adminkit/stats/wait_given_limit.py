"""What jobs of a limit have waited, queue by queue, and the median to expect over another period of the same length.

The interval is a prediction interval for the median of another period as long, from a block bootstrap of days (UTC, by
the moment of being eligible): jobs of one day wait for the same backlog, so a day stays whole, and backlogs last, so
days that follow each other stay together. Both periods vary: an end is a quantile of median × draw / other draw, of
waits + 1 s. The length of the blocks is that of bootstrap.block_length() for the days' contributions to the median.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.bootstrap import LEVEL, block_length, days_drawn
from adminkit.stats.distribution import distribution
from adminkit.stats.select import Filter, LeftOut, clusters, snapshot, span
from adminkit.stats.wait import Waits, buckets, limit_bucket, size_bucket, started, waits_of
from adminkit.trace.run_view import GPUS_OR_CPUS, IN_DOUBT
from adminkit.trace.wait_sql import CAUSES, LIMITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

#: Fewer jobs, or jobs of fewer days, say nothing of what to expect.
MIN_JOBS: Final = 30
MIN_DAYS: Final = 10
DRAWS: Final = 500
_DAY: Final = 86_400
#: Different waits that the bootstrap tells apart: more are taken in this number of steps of equal height.
_STEPS: Final = 500

#: The size is the GPUs or, below 0, the CPUs of a job without; IN_DOUBT of neither.
_JOBS: Final = f"""
SELECT cluster, queue, {CAUSES["queue"]}, eligible_time, max(wait, 0), coalesce(req_limit, 0),
    {GPUS_OR_CPUS}
FROM run WHERE """


@dataclass(frozen=True, slots=True)
class Expected:
    """A median and the interval of that of another period as long, in seconds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Given:
    """The jobs of one queue with the limit and the size asked for, that waited only for the queue.

    `expected` is None where there are too few of them. `of_queue` is about all jobs of the queue, whatever their limit
    and size. `tried` cells (a size and a limit of this queue) were predicted for the later half of the period from the
    earlier: in `held` of them the interval had the median. `error` is the mean distance of the prediction from the
    median, `queue_error` that of the queue's median from it, both in seconds; None where none could be tried.
    `missed` is about only these jobs, one by one: half of the later half's waits were this close to the median that
    the earlier predicted.
    """

    queue: str | None
    cluster: str
    waits: Waits
    days: int
    expected: Expected | None
    of_queue: Waits
    tried: int
    held: int
    error: float | None
    queue_error: float | None
    missed: float | None = None


@dataclass(frozen=True, slots=True)
class GivenLimit:
    """`queues` by number of jobs with that limit, most first."""

    bucket: int  # of stats.wait.LIMITS
    queues: Sequence[Given]
    jobs: int  # that started, whatever they waited for
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


class _Queue:
    """The jobs of a queue: when they were eligible, their waits, limits and sizes."""

    def __init__(self) -> None:
        self.columns = [array("q") for _ in range(4)]

    def arrays(self) -> list[Ints]:
        import numpy as np

        return [np.frombuffer(one, np.int64) if len(one) else np.zeros(0, np.int64) for one in self.columns]


def wait_given_limit(
    db: sqlite3.Connection, chosen: Filter, limit: int, gpus: int | None = None, least: int = 0
) -> GivenLimit:
    """What jobs that ask for about `limit` seconds have waited; `gpus` None: jobs of every size.

    `least`: count only jobs that waited at least these seconds, for a job that has already waited as long.
    """
    selection = started(chosen)
    queues: dict[tuple[str, str | None], _Queue] = {}
    jobs = 0
    with snapshot(db):
        left_out = LeftOut(db, selection)
        for cluster, queue, queued, *values in db.execute(_JOBS + selection.counting, selection.params):
            jobs += 1
            if queued and values[1] >= least:
                found = queues.get((cluster, queue)) or queues.setdefault((cluster, queue), _Queue())
                for column, value in zip(found.columns, values, strict=True):
                    column.append(value)
        excluded = left_out.counts(jobs)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    bucket = limit_bucket(limit)
    given = [_given(key, one, bucket, gpus) for key, one in queues.items()]
    given.sort(key=lambda one: (-one.waits.jobs, one.cluster, one.queue or ""))
    return GivenLimit(bucket, given, jobs, excluded, names, ends)


def _given(key: tuple[str, str | None], queue: _Queue, bucket: int, gpus: int | None) -> Given:
    import numpy as np

    eligible, waited, limit, size = queue.arrays()
    limits = np.searchsorted(LIMITS, limit)
    mine = (limit > 0) & (limits == bucket)
    if gpus is not None:
        mine &= (buckets(size) == size_bucket(gpus)) & ((size > 0) == (gpus > 0)) & (size != IN_DOUBT)
    cells = np.where(
        (limit > 0) & (size != IN_DOUBT), (np.sign(size) * buckets(abs(size)).astype(int) + 16) * 16 + limits, -1
    )
    return Given(
        key[1],
        key[0],
        waits_of(distribution(waited[mine])),
        len(np.unique(eligible[mine] // _DAY)),
        expected(eligible[mine], waited[mine]),
        waits_of(distribution(waited)),
        *_backtest(eligible, waited, cells),
        _missed(eligible, waited, mine),
    )


def _halves(eligible: Ints, waited: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The jobs whose waits were over when the later half began, and those that became eligible in it."""
    middle = int(eligible.min() + eligible.max()) // 2
    return eligible + waited < middle, eligible >= middle


def _missed(eligible: Ints, waited: Ints, mine: NDArray[np.bool_]) -> float | None:
    """The median distance of single waits from the prediction; None where it could not be tried."""
    import numpy as np

    before, after = _halves(eligible, waited)
    known, later = before & mine, waited[after & mine]
    if len(later) < MIN_JOBS or not _enough(eligible[known]):
        return None
    return float(np.median(abs(later - np.median(waited[known]))))


def _backtest(eligible: Ints, waited: Ints, cells: Ints) -> tuple[int, int, float | None, float | None]:
    """Cells tried, held, and the mean errors. A prediction knows the waits that were over when the later half began."""
    import numpy as np

    before, after = _halves(eligible, waited)
    of_queue = float(np.median(waited[before])) if before.any() else 0.0
    held, errors, queue_errors = 0, [], []
    for cell in np.unique(cells[after & (cells >= 0)]):
        known, later = before & (cells == cell), waited[after & (cells == cell)]
        if len(later) < MIN_JOBS or (told := expected(eligible[known], waited[known])) is None:
            continue
        median = float(np.median(later))
        held += told.low <= median <= told.high
        errors.append(abs(told.median - median))
        queue_errors.append(abs(of_queue - median))
    if not errors:
        return 0, 0, None, None
    return len(errors), held, sum(errors) / len(errors), sum(queue_errors) / len(errors)


def _enough(eligible: Ints) -> bool:
    import numpy as np

    return len(eligible) >= MIN_JOBS and len(np.unique(eligible // _DAY)) >= MIN_DAYS


def expected(eligible: Ints, waited: Ints) -> Expected | None:
    """The median of some jobs and what to expect of it; None for fewer than MIN_JOBS or MIN_DAYS."""
    import numpy as np

    if not _enough(eligible):
        return None
    median = float(np.median(waited))
    day = eligible // _DAY - int(eligible.min()) // _DAY
    days = int(day.max()) + 1
    steps = np.unique(np.quantile(waited, np.linspace(0, 1, _STEPS), method="higher"))
    table = np.bincount(day * len(steps) + np.searchsorted(steps, waited), minlength=days * len(steps))
    table = table.reshape(days, len(steps)).astype(np.float32)
    below = np.bincount(day, waited <= median, minlength=days) - np.bincount(day, minlength=days) / 2
    drawn = days_drawn(days, block_length(below), 2 * DRAWS) @ table
    upto = np.cumsum(drawn, axis=1)
    medians = np.log1p(steps[(upto >= upto[:, -1:] / 2).argmax(axis=1)])
    some = upto[:, -1] > 0
    pairs = some[:DRAWS] & some[DRAWS:]
    ratios = (medians[:DRAWS] - medians[DRAWS:])[pairs]
    low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Expected(median, *(max((median + 1) * float(np.exp(one)) - 1, 0.0) for one in (low, high)))
