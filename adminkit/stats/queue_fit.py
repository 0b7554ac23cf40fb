"""How long the jobs of a queue really run: whether its maximum is longer than they need, and which fit another.

A share of jobs has an interval by the cluster bootstrap over users (Cameron, Gelbach and Miller 2008, section 3.1): the
jobs of one user are alike, so a queue of ten thousand jobs and three users says as much as three users do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.accuracy import QUEUE_LIMITS
from adminkit.stats.grouped import as_they_come, grouped
from adminkit.stats.select import Filter, select
from adminkit.stats.taken import split
from adminkit.trace.columns import Texts
from adminkit.trace.months.door import columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.signedinteger]  # as narrow as its values allow: widen before a product

DRAWS: Final = 400
LEVEL: Final = 0.95
#: An interval of fewer users would say nothing.
LEAST_USERS: Final = 5
_SEED: Final = 18
#: limit_source is 1 the default, 0 the user's, 2 unknown. A run counts as restartable where another of its user and
#: job name has shown it: something in it caught the signal, or the plugin put it back.
_NUMBERS: Final = (
    "elapsed", "req_limit", "coalesce(size_units, 0)", "coalesce(size_gpus, -1)", "coalesce(size_nodes, -1)",
    "CASE limit_source WHEN 'default' THEN 1 WHEN 'explicit' THEN 0 ELSE 2 END",
    "(cluster, user, job_name) IN"
    " (SELECT cluster, user, job_name FROM run WHERE ckpt_heard > 0 OR ckpt_requeues > 0) IS TRUE",
    "elapsed >= last_limit",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Share:
    """A share of some jobs, with its 95 % interval; None where there are too few users for one."""

    jobs: int
    share: float
    low: float | None
    high: float | None


class Known(NamedTuple):
    """Some jobs' GPU-seconds, and CPU-seconds of those without GPUs; None where there are no such jobs."""

    gpu_seconds: float | None
    cpu_seconds: float | None


@dataclass(frozen=True, slots=True)
class QueueJobs:
    """The jobs of a queue, a value per job in each column. Limits in seconds, None where the trace knows none."""

    cluster: str
    queue: str | None
    default_limit: int | None
    max_limit: int | None
    users: Ints  # a number for each user
    elapsed: Ints  # seconds
    req_limit: Ints  # seconds
    units: Ints  # GPUs; CPUs of a job without GPUs; 0: neither is known
    gpus: Ints  # -1: unknown, as of the nodes
    nodes: Ints
    source: Ints  # 1: took the default, 0: asked, 2: unknown
    restartable: Ints  # 1: runs of its name have resumed from a checkpoint
    at_limit: Ints  # 1: it ran until its last limit, which may have been raised while it ran

    @property
    def at_default(self) -> NDArray[np.bool_]:
        """The jobs that took the default; where that is not recorded, those whose limit is the default's."""
        took: NDArray[np.bool_] = (self.source == 1) | (self.source == 2) & (
            self.req_limit == (self.default_limit or 0)
        )
        return took

    def share(self, which: NDArray[np.bool_]) -> Share:
        """The share of its jobs that are in `which`."""
        import numpy as np

        jobs, count = int(which.sum()), len(which)
        each = np.bincount(self.users)
        its = np.bincount(self.users, which)
        if self.few_users:
            return Share(jobs, jobs / count, None, None)
        rng = np.random.default_rng(_SEED)
        found = np.empty(DRAWS)
        for draw in range(DRAWS):
            drawn = rng.integers(0, len(each), len(each))
            found[draw] = its[drawn].sum() / each[drawn].sum()
        low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Share(jobs, jobs / count, float(low), float(high))

    @property
    def few_users(self) -> bool:
        """Whether shares of its jobs have no interval."""
        return int(self.users.max(initial=-1)) + 1 < LEAST_USERS

    def least_limit(self, menu: Iterable[int], risk: float) -> tuple[int, Share] | None:
        """The least limit of `menu`, which ascends, that at most a share `risk` of the jobs ran longer than, by the
        upper end of its interval; and that share. None where there is no such limit, or no interval.
        """
        if self.few_users:
            return None
        shares = ((limit, self.longer(limit)) for limit in menu)
        return next(((limit, share) for limit, share in shares if share.high is not None and share.high <= risk), None)

    def longer(self, limit: int) -> Share:
        """The jobs that ran for longer than `limit` seconds."""
        return self.share(self.elapsed > limit)

    def reserved_beyond(self, limit: int) -> Known:
        """What limits above `limit` reserve beyond it."""
        import numpy as np

        return self._sums(np.maximum(self.req_limit - limit, 0), self.req_limit > limit)

    def ran(self, which: NDArray[np.bool_]) -> Known:
        """What the jobs in `which` ran."""
        return self._sums(self.elapsed, which)

    def _sums(self, seconds: NDArray[Any], which: NDArray[np.bool_]) -> Known:
        import numpy as np

        sums = []
        for its in (self.gpus > 0, (self.gpus <= 0) & (self.units > 0)):
            those = which & its
            sums.append(float((seconds[those] * self.units[those].astype(np.float64)).sum()) if its.any() else None)
        return Known(*sums)

    def fitting(self, other: QueueJobs) -> NDArray[np.bool_]:
        """The jobs that end within the maximum of `other`, and are not larger than the largest job there. An unknown
        size is not larger than unknown ones only.
        """
        within: NDArray[np.bool_] = self.elapsed <= (other.max_limit or 0)
        for mine, theirs in ((self.gpus, other.gpus), (self.nodes, other.nodes)):
            most = theirs.max()
            within = within & (mine <= most) & ((mine < 0) == (most < 0))
        return within


def queue_jobs(db: sqlite3.Connection, chosen: Filter, now: int) -> list[QueueJobs]:
    """The jobs that `chosen` takes by queue, the queue with the most first. Some 20 bytes per job are kept."""
    import numpy as np

    selection = select(chosen, limits=True)
    params = selection.params
    limits = {(c, q): (default, most) for c, q, default, most, _ in db.execute(QUEUE_LIMITS, {"now": now})}
    texts, numbers = columns(db, ("cluster", "queue", "user"), _NUMBERS, f"FROM run WHERE {selection.where}", params)
    number, keys = grouped(*texts[:2])
    codes = split(number, len(keys), texts[2].codes)
    its: list[list[NDArray[Any]]] = []
    while numbers:  # one at a time: a column of ten million jobs is there twice no longer than it takes to split it
        column = numbers.pop(0)
        if len(its) < 2:  # seconds
            column = column.astype(np.promote_types(column.dtype, np.int32), copy=False)
        its.append(split(number, len(keys), column))
    found = []
    for k, (cluster, queue) in enumerate(keys):
        users = as_they_come(*grouped(Texts(codes[k], texts[2].names)))[0]
        limit = limits.get((cluster, queue), (None, None))
        found.append(QueueJobs(cluster, queue, *limit, users, *(one[k] for one in its)))
    return sorted(found, key=lambda one: (-len(one.users), one.cluster, one.queue or ""))
