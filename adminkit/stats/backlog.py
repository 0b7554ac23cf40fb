"""What a queue is like now: the jobs that wait in it, the waits of those that started lately, every end so far."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.window import SEEN

#: SQL: the job is eligible and has not started; one that was not seen for LOST seconds is lost, not waiting.
WAITS: Final = f"end_time IS NULL AND start_time IS NULL AND eligible_time <= :now AND {SEEN}"
_WAITING: Final = f"""
SELECT cluster, queue, sum(coalesce(tasks, 1)), min(eligible_time), count(*) - count(tasks) FROM run WHERE {WAITS}
GROUP BY cluster, queue ORDER BY cluster, queue
"""
#: A negative wait is a clock's; it counts as none.
_STARTED: Final = """
SELECT cluster, queue, max(wait, 0) FROM run
WHERE start_time >= :since AND start_time <= :now AND wait IS NOT NULL
"""
_ENDED: Final = """
SELECT cluster, queue, state, count(*) FROM run WHERE end_time IS NOT NULL
GROUP BY cluster, queue, state ORDER BY cluster, queue, state
"""


class Ended(NamedTuple):
    """Runs of one queue in one state."""

    cluster: str
    queue: str | None
    state: str | None
    runs: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """The jobs that wait in a queue, each task of an array; `oldest` is how long one has been eligible, in seconds.

    `cut` counts the arrays whose number of tasks is unknown, as sacct cut the list: each is one of `jobs`, at least.
    """

    cluster: str
    queue: str | None
    jobs: int
    oldest: int
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Waits:
    """Quantiles of the waits of a queue's jobs, in seconds, in the order in which they were asked for."""

    cluster: str
    queue: str | None
    jobs: int
    quantiles: Sequence[float]


def backlog(db: sqlite3.Connection, now: int) -> list[Backlog]:
    """The queues in which jobs wait at `now`."""
    found = db.execute(_WAITING, {"now": now})
    return [Backlog(cluster, queue, jobs, now - first, cut) for cluster, queue, jobs, first, cut in found]


def recent_waits(db: sqlite3.Connection, since: int, now: int, quantiles: Sequence[float]) -> list[Waits]:
    """The waits of jobs that started in [since, now], by queue; quantiles are interpolated linearly."""
    import numpy as np

    waits: dict[tuple[str, str | None], array[int]] = defaultdict(lambda: array("q"))
    for cluster, queue, wait in db.execute(_STARTED, {"since": since, "now": now}):
        waits[cluster, queue].append(wait)
    return [
        Waits(
            cluster, queue, len(values), [float(one) for one in np.quantile(np.frombuffer(values, np.int64), quantiles)]
        )
        for (cluster, queue), values in sorted(waits.items(), key=lambda one: (one[0][0], one[0][1] or ""))
    ]


def ended(db: sqlite3.Connection) -> list[Ended]:
    """How many runs of each queue ended in each state, in all the trace."""
    return [Ended(*row) for row in db.execute(_ENDED)]
