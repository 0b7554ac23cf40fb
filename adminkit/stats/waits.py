"""How long jobs waited, day by day: what a switchback experiment compares.

A job counts by the moment in which it was eligible; the wait is slurmctld's, from then to the start. One that still
waits counts with its wait until now; one that was cancelled before its start has none, and is counted apart.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.switchback import Day

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

#: Every time zone's midnight is a multiple of it; a carry-over is rounded to it. Seconds.
QUARTER: Final = 900
#: A bounded slowdown counts a shorter run as this long, seconds.
TAU: Final = 10
#: Queues that have a group of their own: those with the most jobs.
MOST_QUEUES: Final = 12
SIZES: Final = ("1", "2 to 8", "9 to 64", "above 64")
_EDGES: Final = (1, 8, 64)
UNKNOWN: Final = "(unknown)"

_WAITS: Final = """
SELECT eligible_time, coalesce(left - eligible_time, -1), many, left IS NOT NULL AND started = 0,
    soft_limit IS NOT NULL, CASE WHEN end_time IS NOT NULL THEN coalesce(elapsed, -1) ELSE -1 END,
    coalesce(size_gpus, -1), coalesce(size_cpus, -1), class, queue
FROM (
    SELECT eligible_time, class, queue, soft_limit, start_time IS NOT NULL AS started, coalesce(tasks, 1) AS many,
        end_time, elapsed, size_gpus, size_cpus,
        CASE WHEN start_time >= eligible_time THEN start_time
            WHEN start_time IS NULL AND end_time IS NULL AND eligible_time < :now THEN :now END AS left
    FROM run WHERE cluster = :cluster AND eligible_time >= :since AND eligible_time < :until
) WHERE left IS NOT NULL OR started = 0
ORDER BY eligible_time
"""
_RUN_TIMES: Final = """
SELECT queue, elapsed FROM run
WHERE cluster = ? AND end_time >= ? AND end_time < ? AND elapsed > 0 AND queue IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Waits:
    """Columns of jobs in the order in which they became eligible. A row may stand for several tasks of an array."""

    eligible_time: Ints  # epoch seconds
    wait: Floats  # seconds; nan: cancelled before the start
    slowdown: Floats  # bounded; nan: it has not ended
    tasks: Ints
    waiting: Bools  # it waits still
    planned: Bools  # it had a soft limit
    size: Ints  # GPUs where most jobs have some, else CPUs; -1 unknown
    unit: str  # what sizes count
    parts: Mapping[str, tuple[Ints, Sequence[str]]]  # size, queue and class: each row's group, a place in the names

    def group(self, part: str, name: str) -> Bools:
        """The rows of one group."""
        codes, names = self.parts[part]
        rows: Bools = codes == names.index(name)
        return rows


@dataclass(frozen=True, slots=True)
class DayWaits:
    """The jobs of one day that count. `mean`, `p95` (seconds) and `slowdown` are None where no job has any."""

    jobs: int = 0
    mean: float | None = None
    p95: float | None = None
    slowdown: float | None = None
    waiting: int = 0
    gone: int = 0
    planned: int = 0


def waits(db: sqlite3.Connection, cluster: str, since: int, until: int, now: int) -> Waits:
    """The waits of a cluster's jobs that became eligible in [since, until)."""
    import numpy as np

    given = {"cluster": cluster, "since": since, "until": until, "now": now}
    numbers = [array("d") for _ in range(8)]
    classes, queues = _Names(), _Names()
    for row in db.execute(_WAITS, given):
        for column, value in zip(numbers, row[:8], strict=True):
            column.append(value)
        classes.add(row[8])
        queues.add(None if row[9] is None else row[9].split(",", 1)[0])
    columns = [np.frombuffer(column, np.float64) if column else np.zeros(0) for column in numbers]
    eligible, wait, tasks, waiting, planned, run, gpus, cpus = columns
    wait = np.where(wait < 0, np.nan, wait)
    slowdown = np.where(run < 0, np.nan, np.maximum(1.0, (wait + run) / np.maximum(run, TAU)))
    unit = "GPU" if 2 * int((gpus > 0).sum()) > len(gpus) else "CPU"
    size = np.ceil(gpus if unit == "GPU" else cpus).astype(np.int64)
    parts = {"size": _sizes(size, unit), "queue": queues.most(), "class": classes.most()}
    return Waits(
        eligible.astype(np.int64), wait, slowdown, tasks.astype(np.int64), waiting > 0, planned > 0, size, unit, parts
    )


class _Names:
    """A code for each of the names, in the order of the rows."""

    def __init__(self) -> None:
        self.codes: array[int] = array("q")
        self.places: dict[str, int] = {}

    def add(self, name: str | None) -> None:
        self.codes.append(self.places.setdefault(UNKNOWN if name is None else name, len(self.places)))

    def most(self) -> tuple[Ints, Sequence[str]]:
        """The codes, and the names; of many, those with the most rows, and -1 for the others."""
        import numpy as np

        codes, names = np.array(self.codes, np.int64), list(self.places)
        rows = np.bincount(codes, minlength=len(names))
        kept = sorted(np.argsort(-rows, kind="stable")[:MOST_QUEUES].tolist(), key=lambda place: names[place])
        new = np.full(len(names) + 1, -1, np.int64)
        new[kept] = np.arange(len(kept))
        return new[codes], [names[place] for place in kept]


def _sizes(size: Ints, unit: str) -> tuple[Ints, Sequence[str]]:
    """The groups of sizes; jobs without a GPU are one of their own."""
    import numpy as np

    names = [f"{one} {unit}{'' if one == '1' else 's'}" for one in SIZES]
    codes = np.searchsorted(_EDGES, size, side="left").astype(np.int64)
    return np.where(size < 0, -1, np.where(size == 0, len(names), codes)), [*names, f"no {unit}"]


def by_day(waits: Waits, days: Sequence[Day], carry_over: int, rows: Bools | None = None) -> list[DayWaits]:
    """The waits of each of `days` (all jobs, or `rows` of them), without those of its first `carry_over` seconds."""
    import numpy as np

    found = []
    for day in days:
        first, end = np.searchsorted(waits.eligible_time, [day.since + carry_over, day.until])
        here = np.arange(first, max(first, end))
        found.append(_day(waits, here if rows is None else here[rows[here]]))
    return found


def _day(waits: Waits, here: Ints) -> DayWaits:
    import numpy as np

    tasks, wait, slowdown = waits.tasks[here], waits.wait[here], waits.slowdown[here]
    known, ended = ~np.isnan(wait), ~np.isnan(slowdown)
    jobs = int(tasks[known].sum())
    gone = int(tasks[~known].sum())
    if not jobs:
        return DayWaits(gone=gone)
    return DayWaits(
        jobs,
        float((wait * tasks)[known].sum()) / jobs,
        _quantile(wait[known], tasks[known], 0.95),
        float(np.average(slowdown[ended], weights=tasks[ended])) if ended.any() else None,
        int(tasks[waits.waiting[here]].sum()),
        gone,
        int(tasks[waits.planned[here] & known].sum()),
    )


def _quantile(values: Floats, weights: Ints, share: float) -> float:
    """The least value that at least `share` of the weight is not above."""
    import numpy as np

    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))])


def longest_p95(db: sqlite3.Connection, cluster: str, since: int, until: int) -> int | None:
    """The 95th percentile of run times, of the queue where it is longest; None where no job ended in [since, until)."""
    import numpy as np

    times: dict[str, array[int]] = defaultdict(lambda: array("q"))
    for queue, elapsed in db.execute(_RUN_TIMES, (cluster, since, until)):
        times[queue].append(elapsed)
    return max((round(float(np.quantile(np.frombuffer(one, np.int64), 0.95))) for one in times.values()), default=None)
