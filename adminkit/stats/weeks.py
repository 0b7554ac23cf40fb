"""Limits, run times, and what was reserved and not used, week by week: of each user, or of a whole cluster.

Reservations are counted in GPU-seconds for runs with GPUs, in CPU-seconds for runs without, or of unknown GPUs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter, select
from adminkit.stats.waiting import Line

WEEK: Final = 7 * 86_400
#: CPU-hours that weigh as much as one GPU-hour, where what was left unused is ordered or judged.
CPUS_PER_GPU: Final = 16

_GPUS: Final = "coalesce(size_gpus, 0)"
_CPUS: Final = f"CASE WHEN {_GPUS} = 0 THEN coalesce(size_units, 0) ELSE 0 END"
_BATCH: Final = " AND user IS NOT NULL AND NOT interactive"
_RUNS: Final = f"""
SELECT user, job_name, queue, start_time, end_time, elapsed, req_limit, state, {_GPUS}, {_CPUS}
FROM run WHERE """
#: The week is counted back from :until, 0 the last one. A run of more than its limit left nothing unused.
_WEEKS: Final = f"""
SELECT {{who}}, (:until - 1 - end_time) / {WEEK} AS week, count(*), sum(elapsed), sum(req_limit),
    total(elapsed * 1.0 / req_limit), sum(max(req_limit - elapsed, 0) * {_GPUS}),
    sum(max(req_limit - elapsed, 0) * {_CPUS})
FROM run WHERE """


#: SQL: what a run's size_units are: gpu, cpu; NULL where neither is known.
RESOURCE: Final = "CASE WHEN size_gpus > 0 THEN 'gpu' WHEN size_cpus > 0 THEN 'cpu' END"


class Reserved(NamedTuple):
    """What was reserved: GPUs, and CPUs of runs without GPUs, or of unknown GPUs."""

    gpu_seconds: float = 0
    cpu_seconds: float = 0

    @property
    def weight(self) -> float:
        """One number to order and to compare by, in GPU-seconds; it is never shown."""
        return self.gpu_seconds + self.cpu_seconds / CPUS_PER_GPU

    @classmethod
    def of(cls, seconds: float, resource: str | None) -> Reserved:
        """The runs of one RESOURCE; each of unknown size counts as one."""
        return cls(0, seconds) if resource == "cpu" else cls(seconds, 0)


class Week(NamedTuple):
    """The runs of one week that count."""

    runs: int = 0
    used: int = 0  # seconds
    asked: int = 0  # seconds
    ratios: float = 0.0  # the sum of elapsed / limit
    gpu_seconds_unused: int = 0
    cpu_seconds_unused: int = 0

    @property
    def unused(self) -> Reserved:
        return Reserved(self.gpu_seconds_unused, self.cpu_seconds_unused)

    @property
    def accuracy(self) -> float | None:
        """The mean of elapsed / limit, as in `adminkit report accuracy`."""
        return self.ratios / self.runs if self.runs else None

    @property
    def used_fraction(self) -> float | None:
        """used / asked."""
        return self.used / self.asked if self.asked else None

    def __add__(self, other: object) -> Week:
        if not isinstance(other, Week):
            return NotImplemented
        return Week._make(mine + theirs for mine, theirs in zip(self, other, strict=True))


@dataclass(slots=True)
class Name:
    """The runs of one job name in a week."""

    week: Week = field(default_factory=Week)
    hit_limit: int = 0  # runs that ran into their limit
    #: Of what was reserved and not used, the part of runs during which somebody else waited in the queue.
    waited_for: Reserved = field(default_factory=Reserved)


def weeks(db: sqlite3.Connection, chosen: Filter, many: int, *, by_user: bool) -> dict[str | None, Sequence[Week]]:
    """The last `many` weeks before chosen.until, the oldest first, of each user; of all together under None.

    Only for a user without interactive jobs: to leave those early is right.
    """
    until = chosen.until or 0
    counted = select(chosen, limits=True)
    query = _WEEKS.format(who="user" if by_user else "NULL") + counted.where
    query += (_BATCH if by_user else "") + " GROUP BY 1, 2"
    found: dict[str | None, list[Week]] = defaultdict(lambda: [Week()] * many)
    if not by_user:
        found[None]  # also where there is no run
    for user, week, *sums in db.execute(query, {**counted.params, "until": until}):
        if 0 <= week < many:
            found[user][many - 1 - week] = Week(*sums)
    return dict(found)


def names(
    db: sqlite3.Connection, chosen: Filter, lines: Mapping[tuple[str, str | None], Line]
) -> dict[str, dict[str | None, Name]]:
    """The batch runs that `chosen`, of one cluster, takes: by user and job name."""
    (cluster,) = chosen.clusters
    counted = select(chosen, limits=True)
    found: dict[str, dict[str | None, Name]] = defaultdict(dict)
    for user, name, queue, start, end, elapsed, limit, state, gpus, cpus in _rows(db, counted.where, counted.params):
        one = found[user].setdefault(name, Name())
        unused = max(limit - elapsed, 0)
        week = Week(1, elapsed, limit, elapsed / limit, unused * gpus, unused * cpus)
        one.week += week
        one.hit_limit += state == "TIMEOUT" or elapsed >= limit
        line = lines.get((cluster, queue))
        if line is not None and start is not None and end > start:
            part = line.others(user, start, end) / (end - start)
            before = one.waited_for
            one.waited_for = Reserved(
                before.gpu_seconds + part * week.gpu_seconds_unused,
                before.cpu_seconds + part * week.cpu_seconds_unused,
            )
    return dict(found)


def _rows(db: sqlite3.Connection, where: str, params: Mapping[str, str | int]) -> Iterator[tuple]:  # type: ignore[type-arg]
    return iter(db.execute(_RUNS + where + _BATCH, params))
