"""When a request can start by what others like it have waited: where neither node vectors nor Slurm can name a time.

Only past jobs count that waited as long as this one has waited, a minute at least: it is known to wait, and
those that started at once would make the time too early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from adminkit.fit.verdict import CLOSE, Start
from adminkit.slurm.room import READY
from adminkit.sqlite import sqlite3
from adminkit.stats.select import Filter
from adminkit.stats.wait_given_limit import MIN_DAYS, MIN_JOBS, Given, wait_given_limit
from adminkit.units import show_short

#: Days of waits that count.
DAYS: Final = 90
#: What the waits of the past tell something of: jobs and their order. Nodes that are away, reservations and limits are
#: not in them: wait_given_limit takes the jobs that waited for nothing but the queue.
_WHYS: Final = frozenset({"busy", "hidden", "priority", "fair_share"}) | READY


@dataclass(frozen=True, slots=True)
class Like:
    """Which jobs are like the one in question: of this cluster and queue, with about this limit and number of GPUs."""

    cluster: str
    queue: str
    time_limit: int | None  # seconds; None: unlimited
    gpus: int
    eligible_time: int | None = None  # since when it waits, epoch seconds; None: it is not submitted yet


def is_asked(start: Start) -> bool:
    """Whether nobody knows a time, and the past may."""
    return start.verdict == "later" and start.at is None and start.why in _WHYS


def past(db: sqlite3.Connection, like: Like, users: Sequence[str], now: int, checkpoint_code: int) -> Given | None:
    """The waits of jobs like it, of `users` (empty: everybody), in the last DAYS; None where there are none."""
    if like.time_limit is None:
        return None
    chosen = Filter(
        [like.cluster], now - DAYS * 86_400, queues=[like.queue], users=users, checkpoint_code=checkpoint_code
    )
    found = wait_given_limit(db, chosen, like.time_limit, like.gpus, _waited(like, now))
    return next(iter(found.queues), None)


def by_history(start: Start, like: Like, given: Given | None, now: int, own: bool) -> tuple[Start, str]:
    """The start with the time that the past names, and a sentence of what it is made of; `own`: of one user's jobs."""
    whose = "your own jobs" if own else "jobs"
    if like.time_limit is None:
        return start, "history: not known for jobs without a limit"
    least = _waited(like, now)
    of = f"{whose} of {like.queue} with about this limit and as many GPUs that waited {show_short(least)} or longer"
    if given is None or given.expected is None or given.waits.p90 is None:
        jobs, days = (0, 0) if given is None else (given.waits.jobs, given.days)
        text = f"history: not known: {jobs} {of}, on {days} days of the last {DAYS}"
        return start, f"{text}; at least {MIN_JOBS} on {MIN_DAYS} days are needed"
    told, missed = given.expected, given.missed
    tried = (
        "no backtest: too few of them in both halves of the period"
        if missed is None
        else f"backtest: half of the later waits were within {show_short(missed)} of the median of the earlier ones"
    )
    at = max(now, (like.eligible_time or now) + round(told.median))
    found = replace(start, at=at, method="history", error=None if missed is None else round(missed))
    return found, (
        f"history: of {given.waits.jobs} {of} in the last {DAYS} days, half waited {show_short(told.median)} or less,"
        f" 90 % {show_short(given.waits.p90)}; over another period of the same length, expect a median"
        f" from {show_short(told.low)} to {show_short(told.high)}; {tried}"
    )


def _waited(like: Like, now: int) -> int:
    """How long it waits at least, seconds."""
    return max(CLOSE, now - (now if like.eligible_time is None else like.eligible_time))
