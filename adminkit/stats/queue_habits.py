"""What a queue's users reserve and use: all its runs, those that asked for its maximum, those that took its default."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from adminkit.stats.accuracy import QUEUE_LIMITS
from adminkit.stats.select import Filter, select

#: The rest of a run's limit counts as unused; a run of more than its limit left nothing.
_RESERVED: Final = "req_limit * size_units"
_USED: Final = "min(elapsed, req_limit) * size_units"
#: As `report accuracy` has share_maximum and share_default.
_AT_MAXIMUM: Final = "req_limit >= known.max_limit"
_AT_DEFAULT: Final = (
    "(limit_source = 'default' OR limit_source NOT IN ('default', 'explicit') AND req_limit = known.default_limit)"
)


def _part(condition: str) -> str:
    return (
        f"count(*) FILTER (WHERE {condition}), count(DISTINCT user) FILTER (WHERE {condition}),"
        f" total({_RESERVED}) FILTER (WHERE {condition}), total({_USED}) FILTER (WHERE {condition})"
    )


_HABITS: Final = f"""
WITH known AS ({QUEUE_LIMITS})
SELECT run.cluster, run.queue, known.default_limit, known.max_limit,
    {_part("TRUE")}, {_part(_AT_MAXIMUM)}, {_part(_AT_DEFAULT)}
FROM (SELECT cluster, queue, user, req_limit, limit_source, elapsed, size_units FROM run WHERE {{where}}) AS run
LEFT JOIN known ON known.cluster = run.cluster AND known.queue = run.queue
GROUP BY run.cluster, run.queue ORDER BY count(*) DESC, run.cluster, run.queue
"""


@dataclass(frozen=True, slots=True)
class Part:
    """Some runs of a queue. `reserved` and `used` are GPU-seconds, node-seconds of runs without GPUs."""

    jobs: int
    users: int
    reserved: float
    used: float

    @property
    def unused(self) -> float:
        return self.reserved - self.used

    @property
    def used_fraction(self) -> float | None:
        return self.used / self.reserved if self.reserved else None


@dataclass(frozen=True, slots=True)
class QueueHabits:
    """A queue of a cluster; its limits in seconds, None where the trace knows none."""

    cluster: str
    queue: str | None
    default_limit: int | None
    max_limit: int | None
    everything: Part
    at_maximum: Part  # asked for the maximum or more
    at_default: Part  # took the default


def queue_habits(db: sqlite3.Connection, chosen: Filter, now: int) -> list[QueueHabits]:
    """The queues of the jobs that `chosen` takes, those with the most jobs first; limits are those known at `now`."""
    selection = select(chosen, limits=True)
    found = db.execute(_HABITS.format(where=selection.where), {**selection.params, "now": now})
    return [QueueHabits(*row[:4], *(Part(*row[at : at + 4]) for at in (4, 8, 12))) for row in found]
