"""What a queue's users reserve and use: all its runs, those that asked for its maximum, those that took its default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.accuracy import QUEUE_LIMITS
from adminkit.stats.grouped import blocks, grouped
from adminkit.stats.select import Filter, select
from adminkit.stats.taken import add
from adminkit.stats.weeks import RESOURCE, Reserved
from adminkit.trace.months.door import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The last one is 1 for a run that took the default, 2 where that is not recorded.
_NUMBERS: Final = (
    "coalesce(elapsed, 0)", "req_limit", "coalesce(size_units, 1)",
    "CASE WHEN limit_source = 'default' THEN 1 WHEN limit_source NOT IN ('default', 'explicit') THEN 2 ELSE 0 END",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """Some runs of a queue. `reserved` and `used` are GPU-seconds or CPU-seconds: `QueueHabits.resource`."""

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
    """The runs of a queue on one resource; the queue's limits in seconds, None where the trace knows none.

    Of unknown GPUs and CPUs, `resource` is None, and a run counts as one.
    """

    cluster: str
    queue: str | None
    default_limit: int | None
    max_limit: int | None
    everything: Part
    at_maximum: Part  # asked for the maximum or more
    at_default: Part  # took the default
    resource: str | None = "gpu"  # gpu, cpu, None: unknown

    def unused_weight(self, part: Part) -> float:
        """What `part` left unused, as it compares with others', in GPU-seconds."""
        return Reserved.of(part.unused, self.resource).weight


def queue_habits(db: sqlite3.Connection, chosen: Filter, now: int) -> list[QueueHabits]:
    """The queues of the jobs that `chosen` takes, by resource, the most jobs first; limits are those at `now`.

    The rest of a run's limit counts as unused; a run of more than its limit left nothing.
    """
    import numpy as np

    selection = select(chosen, limits=True)
    known = {(c, q): (default, most) for c, q, default, most, _ in db.execute(QUEUE_LIMITS, {"now": now})}
    texts, numbers = columns(
        db, ("cluster", "queue", RESOURCE, "user"), _NUMBERS, f"FROM run WHERE {selection.where}", selection.params
    )
    number, keys = grouped(*texts[:3])
    limits = [known.get(key[:2], (None, None)) for key in keys]
    default, most = np.array(limits, np.float64).reshape(-1, 2).T
    parts = [_Sums.of(len(keys)) for _ in range(3)]
    for block in blocks(len(number)):
        mine, user = number[block], texts[3].codes[block]
        elapsed, limit, units, source = (one[block].astype(np.float64) for one in numbers)
        took = (source == 1) | (source == 2) & (limit == default[mine])
        for part, its in zip(parts, (slice(None), limit >= most[mine], took), strict=True):
            part.add(mine[its], user[its], (limit * units)[its], (np.minimum(elapsed, limit) * units)[its])
    unknown = texts[3].names.index(None) if None in texts[3].names else -1
    found = []
    for k, (cluster, queue, resource) in enumerate(keys):
        everything, at_maximum, at_default = (part.part(k, unknown) for part in parts)
        found.append(QueueHabits(cluster, queue, *limits[k], everything, at_maximum, at_default, resource))
    return sorted(found, key=lambda one: (-one.everything.jobs, one.cluster, one.queue is not None, one.queue or ""))


@dataclass(slots=True)
class _Sums:
    """Some runs of each queue: how many, what they reserved and used, and the users."""

    jobs: NDArray[Any]
    reserved: NDArray[Any]
    used: NDArray[Any]
    users: list[set[int]]

    @classmethod
    def of(cls, queues: int) -> _Sums:
        import numpy as np

        return cls(np.zeros(queues, np.int64), np.zeros(queues), np.zeros(queues), [set() for _ in range(queues)])

    def add(self, queue: NDArray[Any], user: NDArray[Any], reserved: NDArray[Any], used: NDArray[Any]) -> None:
        import numpy as np

        self.jobs += np.bincount(queue, minlength=len(self.jobs))
        add(self.reserved, queue, reserved)
        add(self.used, queue, used)
        for pair in np.unique(queue.astype(np.int64) << 32 | user).tolist():
            self.users[pair >> 32].add(pair & 0xFFFFFFFF)

    def part(self, queue: int, unknown: int) -> Part:
        """The runs of one queue; `unknown` is nobody."""
        users = len(self.users[queue] - {unknown})
        return Part(int(self.jobs[queue]), users, float(self.reserved[queue]), float(self.used[queue]))
