"""How long jobs waited, day by day: what a switchback experiment compares.

A job counts by the moment in which it was eligible; the wait is slurmctld's, from then to the start. One that still
waits counts with its wait until now; one that was cancelled before its start has none, and is counted apart.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.switchback import Day

#: Sums are kept by quarters of an hour: every time zone's midnight is one.
QUARTER: Final = 900

_WAITS: Final = f"""
SELECT eligible_time / {QUARTER}, class, total(many * (left IS NOT NULL)), total(many * (left - eligible_time)),
    total(many * (started = 0 AND left IS NOT NULL)), total(many * (left IS NULL)),
    total(many * (soft_limit IS NOT NULL))
FROM (
    SELECT eligible_time, class, soft_limit, start_time IS NOT NULL AS started, coalesce(tasks, 1) AS many,
        CASE WHEN start_time >= eligible_time THEN start_time
            WHEN start_time IS NULL AND end_time IS NULL AND eligible_time < :now THEN :now END AS left
    FROM run WHERE cluster = :cluster AND eligible_time >= :since AND eligible_time < :until
) GROUP BY 1, 2
"""
_RUN_TIMES: Final = """
SELECT queue, elapsed FROM run
WHERE cluster = ? AND end_time >= ? AND end_time < ? AND elapsed > 0 AND queue IS NOT NULL
"""


class Quarter(NamedTuple):
    """The jobs of one class that became eligible in one quarter of an hour."""

    at: int  # epoch seconds
    job_class: str | None
    jobs: int  # that have a wait
    waited: float  # seconds, summed
    waiting: int  # of these, wait still
    gone: int  # cancelled before their start
    planned: int  # had a soft limit


@dataclass(frozen=True, slots=True)
class DayWaits:
    """The jobs of one day that count. `mean` None where there is none."""

    jobs: int = 0
    waited: float = 0.0
    waiting: int = 0
    gone: int = 0
    planned: int = 0

    @property
    def mean(self) -> float | None:
        return self.waited / self.jobs if self.jobs else None


def waits(db: sqlite3.Connection, cluster: str, since: int, until: int, now: int) -> list[Quarter]:
    """The waits of a cluster's jobs that became eligible in [since, until)."""
    found = db.execute(_WAITS, {"cluster": cluster, "since": since, "until": until, "now": now})
    return [
        Quarter(int(at) * QUARTER, kind, int(jobs), waited, int(waiting), int(gone), int(soft))
        for at, kind, jobs, waited, waiting, gone, soft in found
    ]


def by_day(
    quarters: Iterable[Quarter], days: Sequence[Day], carry_over: int, job_class: str | None = None
) -> list[DayWaits]:
    """The waits of each of `days`, which follow each other, without those of its first `carry_over` seconds."""
    begins = [day.since for day in days]
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0] * 5)
    for one in quarters:
        place = bisect_right(begins, one.at) - 1
        if place < 0 or not days[place].since + carry_over <= one.at < days[place].until:
            continue
        if job_class is None or one.job_class == job_class:
            sums[place] = [a + b for a, b in zip(sums[place], one[2:], strict=True)]
    return [
        DayWaits(int(jobs), waited, int(a), int(b), int(c))
        for jobs, waited, a, b, c in map(sums.__getitem__, range(len(days)))
    ]


def longest_p95(db: sqlite3.Connection, cluster: str, since: int, until: int) -> int | None:
    """The 95th percentile of run times, of the queue where it is longest; None where no job ended in [since, until)."""
    import numpy as np

    times: dict[str, array[int]] = defaultdict(lambda: array("q"))
    for queue, elapsed in db.execute(_RUN_TIMES, (cluster, since, until)):
        times[queue].append(elapsed)
    return max((round(float(np.quantile(np.frombuffer(one, np.int64), 0.95))) for one in times.values()), default=None)
