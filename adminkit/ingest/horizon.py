"""How far back slurmdbd remembers, and how lately: asked with few and small questions, into a run's own scratch trace.

slurmdbd purges by submission what has ended. So a run that it holds and that was over before another was submitted was
submitted earlier still: the other cannot have been purged.
"""

from __future__ import annotations

from typing import Final

from adminkit.ingest import passes
from adminkit.ingest.passes import Run
from adminkit.ingest.windows import DAY, HOUR, Window
from adminkit.slurm.release import OPEN
from adminkit.slurm.sacct import SacctFailed
from adminkit.trace import audit, runs, windows

#: 2001, before there was a Slurm: no run is older.
FLOOR: Final = 1_000_000_000
#: Later than everything.
NEVER: Final = 1 << 62
#: The widest question forwards, where the first answer may be a full one.
WIDEST: Final = 32 * DAY


def first_end(run: Run, submitted: int, now: int) -> int:
    """When the first run ended that slurmdbd holds, or any that was over before `submitted`; NEVER for none.

    Backwards first, in windows four times as wide each time: what is between was empty.
    """
    begin = at = min(max(submitted, FLOOR), now)
    width = HOUR
    while at > FLOOR:
        window = Window(max(at - width, FLOOR), at)
        if (found := _held(run, window, now)) is not None:
            return found[0]
        at, width = window.since, 4 * width
    at, width = begin, HOUR
    while at < now:
        window = Window(at, min(at + width, now))
        if (found := _held(run, window, now)) is not None:
            return found[0]
        at, width = window.until, min(2 * width, WIDEST)
    return NEVER


def last_submit(run: Run, enough: int, now: int) -> int:
    """When the last run was submitted that slurmdbd holds, or any after `enough`; 0 for none."""
    audit.empty(run.db)
    passes.ask_ids(run, Window(now, now + 1), OPEN, (), now)
    last, at, width = runs.last_submit(run.db, run.site.cluster) or 0, now, HOUR
    while at > FLOOR and last < enough and last < at:  # whoever ended before `at` was submitted before
        window = Window(max(at - width, FLOOR), at)
        if (found := _held(run, window, now)) is not None:
            last = max(last, found[1])
        at, width = window.since, 4 * width
    return last


def _held(run: Run, window: Window, now: int) -> tuple[int, int] | None:
    """(first end, last submission) of the runs that ended in a window; None where slurmdbd holds none."""
    audit.empty(run.db)
    try:
        passes.ask_ids(run, window, run.site.finished, (), now)
    except SacctFailed as error:
        if error.unreachable:
            raise
        passes.ask_stretches(run, windows.JOBS, [window], now)  # it was too much at once
    return runs.held(run.db, run.site.cluster)
