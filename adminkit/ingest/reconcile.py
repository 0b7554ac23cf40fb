"""Rows that arrived or changed long after their End: daily the last 48 hours, weekly the last 35 days."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adminkit.ingest.passes import Run, ask_stretches
from adminkit.ingest.windows import DAY, HOUR, Window
from adminkit.slurm.sacct import DELIMITER
from adminkit.trace import runs, windows

#: (note's name, how often, how far back, how wide a comparison)
ROUNDS: Final = (("reconciled_daily", DAY, 2 * DAY, 6 * HOUR), ("reconciled_weekly", 7 * DAY, 35 * DAY, DAY))

_FIELDS: Final = ("ElapsedRaw", "End", "TimelimitRaw", "State")


def reconcile(run: Run, now: int) -> None:
    """Do the rounds that are due."""
    cluster = run.site.cluster
    known = windows.asked(run.db, cluster, windows.JOBS)
    if not known:
        return
    for name, every, back, width in ROUNDS:
        last = windows.note(run.db, cluster, name)
        if last is None:
            # Nothing is old yet on a first run: all of it was asked for just now.
            windows.set_note(run.db, cluster, name, "0", now)
        elif now - last[1] >= every:
            again = compare(run, max(now - back, known[0].since), now, width)
            windows.set_note(run.db, cluster, name, str(again), now)


def compare(run: Run, since: int, until: int, width: int) -> int:
    """Compare sacct with the trace window by window, and ask again for those that differ. Returns how many did."""
    differing = []
    for at in range(since, until, width):
        window = Window(at, min(at + width, until))
        spool, _ = run.fetch(window, "compare", states=run.site.finished, fields=_FIELDS)
        theirs = digest(spool)
        spool.unlink()
        if theirs != runs.digest(run.db, run.site.cluster, window.since, window.until):
            differing.append(window)
    ask_stretches(run, windows.JOBS, differing, until)
    run.summary.reconciled += len(differing)
    return len(differing)


def digest(spool: Path) -> runs.Digest:
    """(runs, sum of elapsed, of ends, of limits in seconds) of a spooled answer, as trace/runs.py counts them."""
    count = elapsed = end = limit = 0
    with spool.open("rb") as lines:
        for line in lines:
            cells = line.split(DELIMITER.encode())
            if len(cells) <= len(_FIELDS) or cells[3] == b"REVOKED":
                continue
            count += 1
            elapsed += int(cells[0] or 0)
            end += int(cells[1]) if cells[1].isdigit() else 0
            limit += 60 * int(cells[2]) if cells[2].isdigit() else 0
    return count, elapsed, end, limit
