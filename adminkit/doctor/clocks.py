"""doctor's checks of time: this host's clock against slurmctld's, and how long ago sync last came through."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adminkit.doctor.check import Check
from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.reports.status import to_come
from adminkit.slurm import cluster
from adminkit.stats.status import Pass, passes
from adminkit.trace import connect
from adminkit.trace.windows import JOBS
from adminkit.units import show_short, show_time

#: Seconds without a run of sync after which its timer, which runs each hour, stands still.
STILL: Final = 6 * 3600
_SET: Final = "set the clocks of this host and of slurmctld's: timedatectl, chronyc tracking"


def clock() -> Iterator[Check]:
    """This host's clock; nothing where slurmctld does not tell its time."""
    try:
        theirs = cluster.clock()
    except AdminkitError:
        return  # the check `slurmctld` says why
    if theirs is None:
        return
    apart = int(time.time()) - theirs
    if abs(apart) <= cluster.SKEW:
        yield Check("clock", "ok", "this host's and slurmctld's agree")
        return
    way = "ahead of" if apart > 0 else "behind"
    yield Check("clock", "warn", f"this host's is {show_short(abs(apart))} {way} slurmctld's", _SET)


def synced(db: Path) -> Iterator[Check]:
    """A check for each cluster that sync has filled, and one for each time to come; empty where none can be read."""
    now = int(time.time())
    try:
        if not connect.is_there(db):
            return
        with connect.reader(db) as trace:
            every = passes(trace, now)
    except AdminkitError:
        return  # the check `database` says why
    yield from (_last(one, now) for one in every if one.which == JOBS)
    for sentence in to_come(every):
        yield Check("sync", "warn", sentence, _SET + "; then run adminkit sync")


def _last(one: Pass, now: int) -> Check:
    if one.until is None or one.asked_at is None:
        return Check("sync", "warn", f"{quote(one.cluster)}: every run so far is dated in the future", _SET)
    found = f"{quote(one.cluster)}: as of {show_time(one.until)}, {show_short(now - one.until)} ago"
    if now - one.until > STILL:
        return Check("sync", "warn", found, "find out why sync does not run: systemctl status adminkit-sync.timer")
    return Check("sync", "ok", found)
