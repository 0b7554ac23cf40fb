"""What a sync does about clocks: a window never ends after its run, and times to come are reported."""

from __future__ import annotations

import time

from adminkit.errors import AdminkitError
from adminkit.ingest.sync_run import SyncRun
from adminkit.render.format import plural
from adminkit.slurm.cluster import SKEW
from adminkit.trace import runs, windows
from adminkit.units import show_short, show_time


def now_of(run: SyncRun, now: int) -> int:
    """The time of this run: `now`, which is this host's, or the cluster's where that is more than SKEW earlier: rows
    that end until then would be taken for answered. A difference is reported.
    """
    theirs = run.source.clock()
    if theirs is None or abs(theirs - now) <= SKEW:
        return now
    apart = show_short(abs(theirs - now))
    if theirs > now:
        run.talk(
            f"this host's clock is {apart} behind slurmctld's: what ended since then arrives later; set the clocks"
        )
        return now
    run.talk(f"this host's clock is {apart} ahead of slurmctld's, whose time this run uses; set the clocks")
    run.clock = lambda: time.time() - (now - theirs)
    return theirs


def take_back(run: SyncRun, now: int) -> None:
    """Have this run ask again for what an earlier one asked for in time to come."""
    reached = [windows.take_back(run.db, run.cluster, part, now) for part in (windows.JOBS, windows.STEPS)]
    until = max((one for one in reached if one is not None), default=None)
    if until is not None:
        run.talk(
            f"windows reached {show_time(until)}, which is in the future: a clock was fast when they were asked for,"
            " or is slow now; this run asks for them again"
        )


def tell_to_come(run: SyncRun, now: int) -> None:
    """Report the runs whose end is still to come by this run's time."""
    if number := runs.ended_after(run.db, run.cluster, now + SKEW):
        run.talk(f"{plural(number, 'run')} ended in the future: the clock of slurmctld's host was fast, or is slow now")


def clock_is_behind(cluster: str, first: int, now: int) -> AdminkitError:
    """The error for a clock that is before the trace begins: it cannot be right."""
    return AdminkitError(
        f"this host's clock says {show_time(now)}, and the trace of {cluster} begins at {show_time(first)}",
        "set the clock (timedatectl), then run it again: nothing was changed",
    )
