"""When work is submitted: by hour of the day, weekday or month; the time between two submissions, how bursty they come.

A submission is one call of sbatch: the tasks of an array came together, and so did the components of a het job.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.calendar import edges, label, zones
from adminkit.stats.grouped import blocks
from adminkit.stats.select import Filter, clusters, select, snapshot, span
from adminkit.stats.taken import split, taken
from adminkit.stats.window import Known, clamped, known_times
from adminkit.trace.columns import Texts
from adminkit.trace.months.edges import is_there
from adminkit.units import local_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What there may be a row for; each but the queue is told by the hour, on the host's clock, in which something came.
PARTS: Final = ("hour", "weekday", "month", "day", "queue")
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: Each value of these parts has a row, whether anything came then or not.
FIXED: Final[Mapping[str, Sequence[str]]] = {
    "hour": tuple(f"{hour:02}" for hour in range(24)),
    "weekday": WEEKDAYS,
}
#: Days of a line of submissions by day; a longer window has weeks.
MOST_DAYS: Final = 400

#: 0 for a job that was submitted by itself.
_GROUP: Final = "coalesce(array_job, het_job, 0)"
#: A submission to these clusters (JSON), whoever's.
_SUBMITTED: Final = "submit_time > 0 AND cluster IN (SELECT value FROM json_each(:clusters))"
#: A further run of the same job was put back into the queue; nobody submitted it.
_FIRST: Final = "NOT continues"


@dataclass(frozen=True, slots=True)
class Gaps:
    """The seconds between a submission and the one before it; std has n - 1. None where there are too few."""

    mean: float | None = None
    median: float | None = None
    p95: float | None = None
    std: float | None = None

    @property
    def cv(self) -> float | None:
        """The coefficient of variation: 1 for a Poisson process."""
        return self.std / self.mean if self.std is not None and self.mean else None

    @property
    def burstiness(self) -> float | None:
        """Goh and Barabási's B, from -1 (a clock) by 0 (a Poisson process) to 1 (all at once)."""
        if self.std is None or self.mean is None or self.std + self.mean == 0:
            return None
        return (self.std - self.mean) / (self.std + self.mean)


@dataclass(frozen=True, slots=True)
class Row:
    """The submissions of one value of a part (PARTS), None for an unknown queue."""

    value: str | None
    submissions: int
    jobs: int  # each task of an array; at least one where sacct cut the list of those that wait
    seconds: int  # of the window
    gaps: Gaps
    dispersion: float | None  # variance / mean of the submissions in whole hours


@dataclass(frozen=True, slots=True)
class Arrivals:
    """`rows` in the order of time, queues by submissions; `over_time` is what came between two of `times` (edges)."""

    rows: Sequence[Row]
    overall: Row
    several: int  # submissions of more than one job
    times: Sequence[int]
    over_time: Sequence[int]
    zone: str
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


def arrivals(db: sqlite3.Connection, chosen: Filter, part: str, now: int, tz: tzinfo | None = None) -> Arrivals:
    """Measure what was submitted in the window of `chosen`. ValueError where it has too many hours."""
    import numpy as np

    selection = select(replace(chosen, min_elapsed=None), limits=False, at="submit_time")
    selection = replace(selection, rules={**selection.rules, "requeued": _FIRST})
    with snapshot(db):
        jobs = taken(
            db,
            selection,
            ("cluster", "queue") if part == "queue" else ("cluster",),
            ("submit_time", _GROUP, "coalesce(tasks, 1)"),
        )
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
        there = known_times(db, replace(chosen, since=0), now)
        first = _first(db, names, chosen.since)
    excluded = jobs.excluded
    columns, texts = [*jobs.numbers], jobs.texts
    del jobs  # what is not looked at any more is let go: a column of ten million rows is 40 MB or more
    times, sizes, queues, queue_names = _submissions(texts, columns)
    hours = edges(*_window(chosen, times, there, first, now), "hour", tz)
    came = _came(times, sizes, hours)
    found: list[Row] = []
    days: list[int] = []
    if hours and part == "queue":
        found = _by_queue(came, queues, queue_names)
    elif hours:
        found = _by_time(came, _KEYS[part](tz), FIXED.get(part, ()))
    if hours:
        days = edges(hours[0], hours[-1], "week" if hours[-1] - hours[0] > MOST_DAYS * 86_400 else "day", tz)
    over_time = [int(count) for count in np.histogram(times, days)[0]] if days else []
    several = int((sizes > 1).sum())
    return Arrivals(found, came.overall(), several, days, over_time, zones(days, tz), excluded, names, ends)


def _first(db: sqlite3.Connection, names: Sequence[str], since: int | None) -> int | None:
    """The first submission, or None where there is one before `since`, or no such moment."""
    given = {"clusters": json.dumps(names), "since": since}
    if since is None or is_there(db, f"submit_time <= :since AND {_SUBMITTED}", given):
        return None
    found: tuple[int | None] = db.execute(
        f"SELECT min(submit_time) FROM run WHERE submit_time > :since AND {_SUBMITTED}", given
    ).fetchone()
    return found[0]


def _submissions(
    texts: Sequence[Texts], columns: list[NDArray[Any]]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Sequence[str | None]]:
    """Each submission, in the order of time: the time, its jobs, the place of its queue among the names. `columns`,
    the times, the groups and how many jobs a row stands for, are taken away."""
    import numpy as np

    of_cluster, *of_queue = texts
    many, groups, times = (_whole(columns.pop()) for _ in range(3))
    several, leads = np.flatnonzero(groups).astype(np.int32), groups == 0
    groups = groups[several]
    if len(of_cluster.names) > 1:
        groups = groups + (of_cluster.codes[several].astype(np.int64) << 40)  # ids of jobs have 32 bits
    names: list[str | None] = [None]
    queues: NDArray[Any] = np.zeros(0, np.int32)
    for one in of_queue:
        names = sorted(one.names, key=lambda name: (name is None, name or ""))
        queues = np.array([names.index(name) for name in one.names], np.int32)[one.codes]
    of_several = [queues[several]] if of_queue else []
    order = np.lexsort((*of_several, times[several], groups))
    several, groups = several[order], groups[order]
    many = many[several]
    first = np.ones(len(several), bool)
    first[1:] = (groups[1:] != groups[:-1]) | (times[several][1:] != times[several][:-1])
    heads = np.flatnonzero(first)
    del order, groups, first
    sizes = np.ones(len(times), np.int32)
    sizes[several[heads]] = np.add.reduceat(many, heads) if len(heads) else 0
    leads[several[heads]] = True
    times, sizes, queues = times[leads], sizes[leads], queues[leads] if of_queue else queues
    order = np.argsort(times, kind="stable")
    return times[order], sizes[order], queues[order] if of_queue else queues, names


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers, of 32 bits where differences of them have no more."""
    import numpy as np

    small = not len(values) or (float(values.min()) >= 0 and float(values.max()) < 2**31)
    return values.astype(np.int32 if small else np.int64, copy=False)


def _window(chosen: Filter, times: NDArray[Any], there: Known, first: int | None, now: int) -> tuple[int, int]:
    """From the first submission to the last where the window is open; it ends where nothing is known any more, and
    begins with the hour of `first` at the earliest: before it the trace has nothing."""
    if not len(times):
        return 0, 0
    begin, last = int(times[0]), int(times[-1]) + 1
    came = Known(begin, last, max(last, there.until or 0))
    since, until = clamped(chosen, came, max(now, last)) or (0, 0)
    return max(since, (first or 0) // 3600 * 3600), until


#: Part -> for a time zone, the value that an hour belongs to, by its begin.
_KEYS: Final[Mapping[str, Callable[[tzinfo | None], Callable[[int], str]]]] = {
    "hour": lambda tz: lambda at: f"{local_time(at, tz).hour:02}",
    "weekday": lambda tz: lambda at: WEEKDAYS[local_time(at, tz).weekday()],
    "month": lambda tz: lambda at: label(at, "month", tz),
    "day": lambda tz: lambda at: label(at, "day", tz),
}


@dataclass(frozen=True, slots=True)
class _Came:
    """All submissions in the order of time, and the hours of the window."""

    times: NDArray[Any]
    sizes: NDArray[Any]
    hours: NDArray[Any]  # edges
    seconds: NDArray[Any]  # of each hour: the first and the last may be short
    counts: NDArray[Any]  # submissions in each hour

    def overall(self) -> Row:
        import numpy as np

        return self.row(None, slice(None), np.diff(self.times), slice(None))

    def row(
        self, value: str | None, mine: Any, gaps: NDArray[Any], hours: Any, counts: NDArray[Any] | None = None
    ) -> Row:
        """The submissions at `mine`, the gaps before them, the hours in which they may come; `counts`: what came in."""
        seconds = self.seconds[hours]
        counts = self.counts[hours] if counts is None else counts
        sizes = self.sizes[mine]
        return Row(
            value, len(sizes), int(sizes.sum()), int(seconds.sum()), _gaps(gaps), _dispersion(counts[seconds == 3600])
        )


def _came(times: NDArray[Any], sizes: NDArray[Any], hours: Sequence[int]) -> _Came:
    import numpy as np

    at = np.array(hours, np.int64)
    counts = np.histogram(times, at)[0] if hours else np.zeros(0, np.int64)
    return _Came(times, sizes, at, np.diff(at), counts)


def _gaps(gaps: NDArray[Any]) -> Gaps:
    import numpy as np

    if not len(gaps):
        return Gaps()
    median, p95 = (float(value) for value in np.quantile(gaps, (0.5, 0.95)))
    return Gaps(float(gaps.mean()), median, p95, float(gaps.std(ddof=1)) if len(gaps) > 1 else None)


def _dispersion(counts: NDArray[Any]) -> float | None:
    return float(counts.var(ddof=1) / counts.mean()) if len(counts) > 1 and counts.any() else None


def _by_time(came: _Came, key: Callable[[int], str], fixed: Sequence[str]) -> list[Row]:
    """A row for each value that an hour of the window has, in the order of time; of `fixed`, in that order. A gap is
    that to the submission before, whichever row that one is in."""
    import numpy as np

    keys = [key(int(at)) for at in came.hours[:-1]]
    values = fixed or tuple(dict.fromkeys(keys))
    codes = {value: code for code, value in enumerate(values)}
    of_hour = np.array([codes[one] for one in keys], np.int64)
    of_time = np.zeros(len(came.times), np.min_scalar_type(len(values)))
    for block in blocks(len(of_time)):
        of_time[block] = of_hour[np.searchsorted(came.hours, came.times[block], "right") - 1]
    gaps = np.diff(came.times)
    return [
        came.row(value, mine, gaps[mine[mine > 0] - 1], of_hour == code)
        for (value, code), mine in zip(codes.items(), _places(of_time, len(values)), strict=True)
    ]


def _by_queue(came: _Came, queues: NDArray[Any], names: Sequence[str | None]) -> list[Row]:
    """A row for each queue; a gap is that to the submission before in the same queue."""
    import numpy as np

    found = []
    for name, mine in zip(names, _places(queues, len(names)), strict=True):
        times = came.times[mine]
        found.append(came.row(name, mine, np.diff(times), slice(None), np.histogram(times, came.hours)[0]))
    return sorted((row for row in found if row.submissions), key=lambda row: -row.submissions)


def _places(codes: NDArray[Any], many: int) -> list[NDArray[Any]]:
    """The places of each code (0 and up), in their order."""
    import numpy as np

    return split(codes, many, np.arange(len(codes), dtype=np.int32))
