"""What the maximum and the default of a queue could be, what that would have done to its jobs, and which fit another.

The maximum is the one that findings/max_limit.py advises: the least limit of the menu that at most a share `risk` of
the jobs outran, by the upper end of its interval over users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.stats.queue_fit import Known, QueueJobs, Share

#: Fewer jobs of a queue, or fewer that took its default, are too few to judge by.
LEAST_JOBS: Final = 100


@dataclass(frozen=True, slots=True)
class Cut:
    """What a maximum would have done: to jobs that ran for longer, and to all that asked for more."""

    limit: int  # seconds
    longer: Share
    users: int  # whose jobs ran longer
    ran: Known  # by these
    restartable: int  # of these jobs, runs of their name have resumed from a checkpoint
    lowered: int  # jobs that asked for more
    freed: Known  # of limits above it


@dataclass(frozen=True, slots=True)
class Default:
    """A default limit. `jobs` are those it is made of: who took today's, or all where too few did."""

    limit: int  # seconds
    jobs: int
    longer: int  # of these, jobs that ran longer
    took: bool  # they took today's default


@dataclass(frozen=True, slots=True)
class Move:
    """The jobs of a queue that a shorter queue would have taken as they are."""

    to: str
    max_limit: int  # seconds, of that queue
    share: Share
    users: int
    ran: Known  # by these jobs


@dataclass(frozen=True, slots=True)
class QueueAdvice:
    """One queue. `maximum` is None where today's is right or nothing can be said; `why` says which."""

    jobs: QueueJobs
    maximum: Cut | None
    default: Default | None
    moves: Sequence[Move]  # the shortest queue first
    at_limit: int  # jobs that ran for their whole limit: what they needed is not known
    knee: int | None  # seconds
    why: str = ""


def queue_advice(queue: QueueJobs, every: Sequence[QueueJobs], menu: Sequence[int], risk: float) -> QueueAdvice:
    """Advice for `queue`, which is one of `every`. `menu` ascends, seconds."""
    maximum, why = _maximum(queue, menu, risk)
    most = maximum.limit if maximum else queue.max_limit
    default = _default(queue, [limit for limit in menu if most is None or limit <= most], risk)
    if default and default.limit == queue.default_limit:
        default = None
    at_limit = int(queue.at_limit.sum())
    return QueueAdvice(queue, maximum, default, _moves(queue, every), at_limit, knee(queue), why)


def _maximum(queue: QueueJobs, menu: Sequence[int], risk: float) -> tuple[Cut | None, str]:
    if queue.queue is None or queue.max_limit is None:
        return None, "its maximum is not known"
    if len(queue.elapsed) < LEAST_JOBS:
        return None, f"fewer than {LEAST_JOBS} jobs"
    shorter = [limit for limit in menu if limit < queue.max_limit]
    if shorter and queue.few_users:
        return None, "too few users"
    found = queue.least_limit(shorter, risk)
    return (cut(queue, *found), "") if found else (None, "its jobs need the current maximum")


def cut(queue: QueueJobs, limit: int, longer: Share) -> Cut:
    """What a maximum of `limit` seconds would have done."""
    import numpy as np

    which = queue.elapsed > limit
    return Cut(
        limit,
        longer,
        len(np.unique(queue.users[which])),
        queue.ran(which),
        int(queue.restartable[which].sum()),
        int((queue.req_limit > limit).sum()),
        queue.reserved_beyond(limit),
    )


def _default(queue: QueueJobs, menu: Sequence[int], risk: float) -> Default | None:
    """At most `risk` of those who took the default ran longer; where too few did, half of all jobs."""
    took = queue.at_default
    known = int(took.sum()) >= LEAST_JOBS
    elapsed = queue.elapsed[took] if known else queue.elapsed
    if len(elapsed) < LEAST_JOBS or queue.queue is None:
        return None
    for limit in menu:
        longer = int((elapsed > limit).sum())
        if longer <= (risk if known else 0.5) * len(elapsed):
            return Default(limit, len(elapsed), longer, known)
    return None


def _moves(queue: QueueJobs, every: Sequence[QueueJobs]) -> list[Move]:
    import numpy as np

    moves = []
    for other in every:
        if other.cluster != queue.cluster or other.queue is None or not other.max_limit:
            continue
        if queue.max_limit is None or other.max_limit >= queue.max_limit:
            continue
        which = queue.fitting(other)
        users = len(np.unique(queue.users[which]))
        moves.append(Move(other.queue, other.max_limit, queue.share(which), users, queue.ran(which)))
    return sorted(moves, key=lambda move: (move.max_limit, move.to))


def knee(queue: QueueJobs) -> int | None:
    """Seconds: beyond it a limit grows by a larger share of the longest run than of the jobs that end within it.

    There the share of jobs that end within a limit is furthest above the straight line from no limit to the longest run
    (Satopää, Albrecht, Irwin and Raghavan 2011, Finding a "kneedle" in a haystack, without smoothing).
    """
    import numpy as np

    seconds, counts = np.unique(queue.elapsed, return_counts=True)
    if len(seconds) < 2:
        return None
    return int(seconds[int(np.argmax(np.cumsum(counts) / counts.sum() - seconds / seconds[-1]))])
