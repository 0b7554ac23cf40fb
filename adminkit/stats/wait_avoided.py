"""What jobs would have waited less, had they asked for what they needed: each job that asked for more against the jobs
of its queue and size whose limit is of the bucket that it needed.

The jobs that are compared differ in more than the limit: this is what history shows, and no proof of a cause. The
interval is a circular block bootstrap of days, as in wait_given_limit.py: jobs of one day wait for the same backlog.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.bootstrap import LEVEL, block_length, days_drawn
from adminkit.stats.grouped import grouped
from adminkit.stats.select import CARRIED_ON, Filter
from adminkit.stats.taken import split
from adminkit.stats.wait import above, buckets, started
from adminkit.stats.wait_given_limit import MIN_DAYS, MIN_JOBS
from adminkit.trace.months.door import columns
from adminkit.trace.run_view import GPUS_IN_DOUBT, GPUS_OR_CPUS
from adminkit.trace.wait_sql import CAUSES, LIMITS, SIZES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.signedinteger]  # as narrow as their values allow: widen before a product

DRAWS: Final = 1000
_DAY: Final = 86_400
#: A cell is a size of either sign and a bucket of limits: codes from 0.
_SIZES, _LIMITS = len(SIZES) + 1, len(LIMITS) + 1
_CELLS: Final = (2 * _SIZES + 1) * _LIMITS
#: The size is the GPUs or, below 0, the CPUs of a job without.
_NUMBERS: Final = (
    "eligible_time", "wait", "elapsed", "req_limit",
    GPUS_OR_CPUS,
)  # fmt: skip
_JOBS: Final = f"""
FROM run WHERE ({CAUSES["queue"]}) AND state = 'COMPLETED' AND elapsed >= 0 AND req_limit > 0 AND NOT {CARRIED_ON}
    AND NOT {GPUS_IN_DOUBT} AND """


@dataclass(frozen=True, slots=True)
class Avoided:
    """One queue. `jobs` asked for a larger bucket of limits than they needed and have jobs to compare with. `wait`
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
    selection = started(chosen)
    params = {**selection.params, "checkpoint_code": chosen.checkpoint_code}
    texts, numbers = columns(db, ("cluster", "queue"), _NUMBERS, _JOBS + selection.plain, params)
    number, keys = grouped(*texts)
    # One column at a time: each is there twice no longer than it takes to split it.
    its = [split(number, len(keys), narrow(numbers.pop(0))) for narrow in (_day, _wait, _bucket, _bucket, _size)]
    for k, (cluster, queue) in enumerate(keys):
        if (told := _of_queue(*(one[k] for one in its))) is not None:
            yield Avoided(cluster, queue, *told)


def _day(at: Ints) -> Ints:
    return at // _DAY


def _wait(seconds: Ints) -> Ints:
    import numpy as np

    waited: Ints = np.maximum(seconds, 0)
    return waited


def _bucket(seconds: Ints) -> Ints:
    return above(LIMITS, seconds)


def _size(size: Ints) -> Ints:
    import numpy as np

    code: Ints = (np.sign(size) * buckets(abs(size)) + _SIZES).astype(np.int16) * _LIMITS
    return code


def _of_queue(
    day: Ints, wait: Ints, needed: Ints, asked: Ints, sizes: Ints
) -> tuple[int, float, float, float, float] | None:
    import numpy as np

    day = day - day.min()
    days = int(day.max()) + 1
    over = asked > needed
    # By cell: waits and jobs that over-asked, waits and jobs to compare with; by day.
    sums = np.stack([*_by_cell((sizes + needed)[over], day[over], days, wait[over]),
                     *_by_cell(sizes + asked, day, days, wait)], axis=1)  # fmt: skip
    jobs_there, days_there = sums[:, 3].sum(axis=1), (sums[:, 3] > 0).sum(axis=1)
    sums = sums[(sums[:, 1].sum(axis=1) > 0) & (jobs_there >= MIN_JOBS) & (days_there >= MIN_DAYS)]
    if not len(sums):
        return None
    whole = sums.sum(axis=2)
    mean = whole[:, 2] / whole[:, 3]
    of_day = (sums[:, 0] - sums[:, 1] * mean[:, None]).sum(axis=0)
    drawn = days_drawn(days, block_length(of_day), DRAWS)
    waited, jobs, others, compared = (drawn @ sums[:, k].T for k in range(4))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(compared > 0, waited - jobs * others / compared, 0.0).sum(axis=1)
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return int(whole[:, 1].sum()), float(whole[:, 0].sum()), float(of_day.sum()), float(low), float(high)


def _by_cell(cell: Ints, day: Ints, days: int, wait: Ints) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The waits and the jobs of each cell and day."""
    import numpy as np

    code = cell.astype(np.int64) * days + day
    sums = (np.bincount(code, weights, _CELLS * days) for weights in (wait, None))
    waits, jobs = (one.reshape(_CELLS, days).astype(np.float64) for one in sums)
    return waits, jobs
