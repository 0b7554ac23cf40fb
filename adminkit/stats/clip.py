"""The part of a run, or of any stretch of time, that belongs to a window.

For whatever counts hours by when they were used: use per day, week or month, charges, capacity. A run of 14 days
belongs to many days, and its end says nothing about the first of them. What judges a limit does so once, when the run
is over, and does not clip: the window of a report (select.py), letters' weeks (weeks.py), points' days (incentives.py).
"""

from __future__ import annotations


def overlap(begin: int, end: int, since: int, until: int) -> int:
    """The seconds of [begin, end) in [since, until); 0 where one of them is empty."""
    return max(min(end, until) - max(begin, since), 0)


def run_time(start_time: int, end_time: int, elapsed: int, since: int, until: int) -> int:
    """The seconds of a run's `elapsed` in [since, until). For an open run `end_time` is now.

    Nobody knows when a run was suspended, so its run time is spread evenly from start to end. Windows that share no
    second and cover the run add up to `elapsed`. A run whose end is not after its start counts where it started.
    """
    if end_time <= start_time:
        return elapsed if since <= start_time < until else 0
    if since >= until:
        return 0
    first, last = (min(max(at, start_time), end_time) - start_time for at in (since, until))
    length = end_time - start_time
    return elapsed * last // length - elapsed * first // length
