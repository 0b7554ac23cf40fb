"""What a source that can tell adds to the windows of a sync: runs that were changed later, and what it has purged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from adminkit.ingest.sources.base import JOBS, STEPS, SourceFailed
from adminkit.ingest.sync_run import SyncRun
from adminkit.ingest.sync_windows import ask_stretches
from adminkit.ingest.window_plan import DAY, HOUR, Window, covered
from adminkit.trace import windows

#: Key of the fact: when changes were last asked for. Its value is the seconds that the answer took.
_ASKED: Final = "changed runs"
#: The question reads every row. If it took longer than _CHEAP seconds, it rests for _REST times as long, so that it
#: takes at most 1 % of a processor.
_CHEAP: Final = 1.0
_REST: Final = 100
#: Windows that are asked for again, at most, before they are joined to days.
_MOST: Final = 100
#: Key of the fact that what slurmdbd has purged was reported; its value is the earliest end that it had.
_PURGED: Final = "purged"


def read_until(run: SyncRun) -> int | None:
    """Where the last run of sync ended, epoch seconds; None: this is the first one."""
    return max((window.until for window in windows.recorded(run.db, run.cluster, JOBS)), default=None)


def ask_changed(run: SyncRun, first: int, before: int | None, now: int) -> None:
    """Ask again for the hours of runs that were changed since the last time. `before`: as read_until found it.

    Runs that ended less than `overlap` before it have just been asked for by their windows.
    """
    last = windows.fact(run.db, run.cluster, _ASKED)
    if last is None or before is None:
        windows.set_fact(run.db, run.cluster, _ASKED, "0", now)
        return
    took, asked = float(last[0]), min(last[1], now)
    until = min(before, now) - run.options.overlap
    rests = took > _CHEAP and now - asked < took * _REST
    if rests or until <= first:
        return
    begun = time.monotonic()
    try:
        hours = run.source.changed(asked - run.options.overlap, Window(first, until))
    except SourceFailed as error:
        if error.unreachable:
            raise
        run.talk(f"{error.message}; the next run asks again for runs that were changed later")
        return
    took = time.monotonic() - begun
    if hours is None:
        return
    stretches = _joined(hours, first, until)
    for part in (JOBS, STEPS) if run.options.steps else (JOBS,):
        ask_stretches(run, part, stretches, now)
    windows.set_fact(run.db, run.cluster, _ASKED, f"{took:.2f}", now)


def _joined(hours: Sequence[int], first: int, until: int) -> list[Window]:
    """Hours as windows within [first, until); many of them as days."""
    for width in (HOUR, DAY):
        starts = sorted({hour // width * width for hour in hours})
        stretches = covered((max(at, first), min(at + width, until)) for at in starts)
        if len(stretches) <= _MOST:
            break
    return stretches


def tell_purged(run: SyncRun, first: int, now: int) -> None:
    """Say once that slurmdbd's tables begin later than the trace, or its steps later than its runs."""
    kept = run.source.kept_since()
    if kept is None or windows.fact(run.db, run.cluster, _PURGED) is not None:
        return
    jobs, steps = kept
    said = []
    if jobs > first + DAY:
        said.append(f"slurmdbd has no runs that ended before {_day(jobs)}, and the trace begins on {_day(first)}")
    if run.options.steps and steps > max(jobs, first) + DAY:
        said.append(f"slurmdbd has no steps of runs that ended before {_day(steps)}")
    for text in said:
        run.talk(f"{text}: older ones were purged, or there were none")
    if said:
        windows.set_fact(run.db, run.cluster, _PURGED, str(jobs), now)


def _day(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
