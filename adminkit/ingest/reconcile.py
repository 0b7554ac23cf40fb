"""Finds rows that came or changed long after their End: compares 48 hours daily and 35 days weekly."""

from __future__ import annotations

from typing import Final

from adminkit.errors import AdminkitError
from adminkit.ingest.sources.base import JOBS, STEPS, SourceFailed
from adminkit.ingest.sync_run import SyncRun
from adminkit.ingest.sync_windows import ask_stretches
from adminkit.ingest.window_plan import DAY, HOUR, Window
from adminkit.trace import runs, windows
from adminkit.units import show_time

#: (key of the fact, interval, how far back, width of a comparison), seconds
ROUNDS: Final = (("reconciled_daily", DAY, 2 * DAY, 6 * HOUR), ("reconciled_weekly", 7 * DAY, 35 * DAY, DAY))


def reconcile(run: SyncRun, now: int) -> None:
    """Do the rounds that are due."""
    cluster = run.cluster
    known = windows.recorded(run.db, cluster, JOBS)
    if not known:
        return
    for name, every, back, width in ROUNDS:
        last = windows.fact(run.db, cluster, name)
        if last is None:
            # A first run has just asked for everything.
            windows.set_fact(run.db, cluster, name, "0", now)
        elif not 0 <= now - last[1] < every:
            again = compare(run, max(now - back, known[0].since), now, width)
            windows.set_fact(run.db, cluster, name, str(again), now)


def compare(run: SyncRun, since: int, until: int, width: int) -> int:
    """Compare the source with the trace by windows, and ask again for those that differ. Returns how many had changed.

    Windows are aligned to a grid, so that one that keeps differing (a row set aside, rows slurmdbd has purged) is known
    by its fact and not asked for every day.
    """
    changed = 0
    for at in range(since // width * width, until, width):
        window = Window(max(at, since), min(at + width, until))
        try:
            changed += _compare(run, window, f"{at} {width}", until)
        except _Unread as error:
            run.talk(f"{error.message}: what ended from {show_time(window.since)} to {show_time(window.until)} was not"
                     " compared with slurmdbd")  # fmt: skip
    run.summary.reconciled += changed
    return changed


class _Unread(AdminkitError):
    """What is archived of a window cannot be read."""


def _compare(run: SyncRun, window: Window, name: str, until: int) -> bool:
    """Compare one window, by `name` in the notes on those that differ. Whether it had changed."""
    _compare_steps(run, window, f"steps differ {name}", until)
    theirs = _theirs(run, window)
    if theirs is None or theirs == _ours(run, window):
        return False
    known = windows.fact(run.db, run.cluster, f"differs {name}")
    if known and known[0] == str(theirs):
        return False
    before = run.summary.closed.new + run.summary.closed.changed
    ask_stretches(run, JOBS, [window], until)
    if run.options.steps:
        ask_stretches(run, STEPS, [window], until)
    changed = run.summary.closed.new + run.summary.closed.changed > before
    if theirs != _ours(run, window):
        windows.set_fact(run.db, run.cluster, f"differs {name}", str(theirs), until)
    return changed


def _compare_steps(run: SyncRun, window: Window, name: str, until: int) -> None:
    """Compare the steps too, where the source counts them cheaply: one may have come long after its run's end."""
    theirs = run.source.step_digest(window) if run.options.steps else None
    known = windows.fact(run.db, run.cluster, name)
    if theirs is None or (known and known[0] == str(theirs)):
        return
    if theirs != _our_steps(run, window):
        ask_stretches(run, STEPS, [window], until)
        if theirs != _our_steps(run, window):
            windows.set_fact(run.db, run.cluster, name, str(theirs), until)


def _ours(run: SyncRun, window: Window) -> runs.Digest:
    """The trace's digest of a window, archived runs among them."""
    try:
        return runs.digest(run.db, run.options.db, run.cluster, window.since, window.until)
    except AdminkitError as error:
        raise _Unread(error.message, error.hint) from error


def _our_steps(run: SyncRun, window: Window) -> tuple[int, int]:
    try:
        return runs.step_digest(run.db, run.options.db, run.cluster, window.since, window.until)
    except AdminkitError as error:
        raise _Unread(error.message, error.hint) from error


def _theirs(run: SyncRun, window: Window) -> runs.Digest | None:
    """The source's digest of a window, asked for in halves after an error; None where even an hour gets no answer."""
    try:
        return run.source.digest(window)
    except SourceFailed as error:
        if error.unreachable:
            raise
        if window.width <= HOUR:
            run.talk(f"{error.message}; one hour was not compared")
            return None
        run.sleep(max(1.0, error.seconds))
    middle = window.since + window.width // 2
    left, right = (_theirs(run, half) for half in (Window(window.since, middle), Window(middle, window.until)))
    return None if left is None or right is None else tuple(map(sum, zip(left, right, strict=True)))
