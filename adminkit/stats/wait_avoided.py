"""What jobs would have waited less, had they asked for what they needed: each job that asked for more against the jobs
of its queue and size whose limit is of the bucket that it needed.

The jobs that are compared differ in more than the limit: this is what history shows, and no proof of a cause. The
interval is a circular block bootstrap of days, as in wait_given_limit.py: jobs of one day wait for the same backlog.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from adminkit.stats.bootstrap import LEVEL, block_length, days_drawn
from adminkit.stats.select import CARRIED_ON, Filter
from adminkit.stats.taken import grouped
from adminkit.stats.wait import buckets, started
from adminkit.stats.wait_given_limit import MIN_DAYS, MIN_JOBS
from adminkit.trace.columns import columns
from adminkit.trace.wait_sql import CAUSES, LIMITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

DRAWS: Final = 1000
_DAY: Final = 86_400
#: The size is the GPUs or, below 0, the CPUs of a job without.
_NUMBERS: Final = (
    "eligible_time", "max(wait, 0)", "elapsed", "req_limit",
    "CASE WHEN size_gpus > 0 THEN size_gpus ELSE -coalesce(size_cpus, size_nodes, 0) END",
)  # fmt: skip
_JOBS: Final = f"""
FROM run WHERE ({CAUSES["queue"]}) AND state = 'COMPLETED' AND elapsed >= 0 AND req_limit > 0 AND NOT {CARRIED_ON}
    AND """


@dataclass(frozen=True, slots=True)
class Avoided:
    """Of one queue. `jobs` asked for a larger bucket of limits than they needed and have jobs to compare with. `wait`
    is the sum of what they waited, `avoided` of what is above the mean wait of those, in seconds.
    """

    cluster: str
    queue: str | None
    jobs: int
    wait: float
    avoided: float
    low: float
    high: float


def wait_avoided(db: sqlite3.Connection, chosen: Filter) -> Iterator[Avoided]:
    """The queues of the jobs that `chosen` takes and that completed, by name; none of those with too few of them."""
    import numpy as np

    selection = started(chosen)
    params = {**selection.params, "checkpoint_code": chosen.checkpoint_code}
    texts, numbers = columns(db, ("cluster", "queue"), _NUMBERS, _JOBS + selection.where, params)
    number, keys = grouped(*texts)
    for k, (cluster, queue) in enumerate(keys):
        if (told := _of_queue(*(one[number == k].astype(np.int64) for one in numbers))) is not None:
            yield Avoided(cluster, queue, *told)


def _of_queue(
    eligible: Ints, wait: Ints, elapsed: Ints, limit: Ints, size: Ints
) -> tuple[int, float, float, float, float] | None:
    import numpy as np

    day = eligible // _DAY
    day -= day.min()
    days = int(day.max()) + 1
    sizes = np.sign(size) * buckets(abs(size)).astype(int) * 16
    asked, needed = np.searchsorted(LIMITS, limit), np.searchsorted(LIMITS, elapsed)
    parts = []
    for cell in np.unique((sizes + needed)[asked > needed]):
        mine, theirs = (asked > needed) & (sizes + needed == cell), sizes + asked == cell
        if theirs.sum() >= MIN_JOBS and len(np.unique(day[theirs])) >= MIN_DAYS:
            parts.append([np.bincount(day[which], by[which], minlength=days) for which in (mine, theirs)
                          for by in (wait, np.ones(len(wait)))])  # fmt: skip
    if not parts:
        return None
    sums = np.array(parts)  # by cell: waits and jobs that over-asked, waits and jobs to compare with; by day
    whole = sums.sum(axis=2)
    mean = whole[:, 2] / whole[:, 3]
    of_day = (sums[:, 0] - sums[:, 1] * mean[:, None]).sum(axis=0)
    drawn = days_drawn(days, block_length(of_day), DRAWS)
    waited, jobs, others, compared = (drawn @ sums[:, k].T for k in range(4))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(compared > 0, waited - jobs * others / compared, 0.0).sum(axis=1)
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return int(whole[:, 1].sum()), float(whole[:, 0].sum()), float(of_day.sum()), float(low), float(high)
