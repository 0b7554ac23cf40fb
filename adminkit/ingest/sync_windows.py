"""The windows of a sync: stores a source's closed runs, and their steps.

Runs come by the window in which they ended, steps in a pass of their own. A window is recorded after its rows are
stored; asking for it again changes nothing, for rows are upserted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from adminkit.ingest.answer import take_claims, take_in
from adminkit.ingest.sources.base import JOBS, STEPS, Part, SourceFailed, Spool
from adminkit.ingest.sync_run import SyncRun
from adminkit.ingest.window_plan import HOUR, Width, Window, cut, to_ask
from adminkit.trace import runs, windows

#: How often a window is tried before the run gives up.
TRIES: Final = 6


def ask_windows(run: SyncRun, part: Part, first: int, now: int) -> None:
    """Ask for everything since `first` that is not settled yet."""
    known = windows.recorded(run.db, run.cluster, part)
    settled = [(w.since, w.until) for w in known if not w.provisional]
    provisional = [(w.since, w.until) for w in known if w.provisional]
    stretches = to_ask(settled, provisional, first, now, run.options.overlap)
    ask_stretches(run, part, stretches, now)


def ask_stretches(run: SyncRun, part: Part, stretches: Sequence[Window], now: int, width: int = HOUR) -> None:
    """Ask for these stretches of time in windows of a fitting width, `jobs` at once, and import them in order.

    The first is of `width` seconds.

    Raises SourceFailed when the source cannot be reached, or when the narrowest window still gets no answer.
    """
    # All windows end by `now`: a row that slurmctld sends later ended after them.
    sure = run.source.backlog() == 0
    fitting = Width(run.options.budget, width)
    todo = deque(stretches)
    total, done, failures = sum(stretch.width for stretch in todo), 0, 0
    asked: deque[tuple[Window, Future[Spool | None]]] = deque()
    with ThreadPoolExecutor(run.options.jobs) as pool:
        try:
            while todo or asked:
                while todo and len(asked) <= run.options.jobs:
                    stretch = todo.popleft()
                    window = cut(stretch, stretch.since, fitting)
                    if window.until < stretch.until:
                        todo.appendleft(Window(window.until, stretch.until))
                    asked.append((window, pool.submit(_fetch_closed, run, part, window, fitting)))
                window, answer = asked.popleft()
                try:
                    fetched = answer.result()
                except SourceFailed as error:
                    failures += 1
                    if error.unreachable or failures >= TRIES or window.width <= fitting.least:
                        raise
                    run.talk(f"{error.message}; asking for less")
                    fetched = None
                if fetched is None:
                    todo.appendleft(window)
                    continue
                rows = import_window(run, part, window, fetched, now, sure)
                fitting.grew(window, rows)
                done, failures = done + window.width, 0
                run.tick(done, total, run.summary.closed.rows + run.summary.steps.steps_rows)
        except BaseException:
            run.source.stop()  # else the pool would wait for the running queries
            raise
        finally:
            for _, answer in asked:
                answer.cancel()


def _fetch_closed(run: SyncRun, part: Part, window: Window, width: Width) -> Spool | None:
    """The answer; None where an error has shown meanwhile that the window is too wide.

    After an error the worker sleeps as long as the attempt took: the server may still be busy with the query.
    """
    if window.width > width.seconds:
        return None
    if part == STEPS:
        run.sleep(run.options.steps_pause)
    try:
        return run.source.closed(part, window)
    except SourceFailed as error:
        width.shrank(window)
        if not error.unreachable:
            run.sleep(max(1.0, error.seconds))
        raise


def import_window(run: SyncRun, part: Part, window: Window, spool: Spool, now: int, sure: bool) -> int:
    """Put an answer into the trace and record its window. Returns its rows."""
    counts = take_in(run, part, spool, now)
    summary, sure = run.summary, sure and not spool.partial
    if spool.partial:
        run.talk("slurmdbd has codes for which sacct gave no word yet: the next run asks again for their jobs")
    if part == JOBS:
        take_claims(run, lambda claims: run.source.closed(claims, window), now)
        kept = max(0, counts.unchanged - spool.revoked)
        counts = replace(counts, unchanged=kept, skipped=counts.skipped + spool.revoked)
        summary.closed += counts
        summary.revoked += spool.revoked
        new, changed = counts.new, counts.changed
    else:
        summary.steps += counts
        runs.fill_from_steps(run.db, run.cluster, window.since, window.until)
        new, changed = counts.steps_new, counts.steps_changed
    asked = windows.RecordedWindow(
        window.since, window.until, not sure, now, spool.seconds, counts.rows, new, changed, counts.rejected,
        spool.revoked,
    )  # fmt: skip
    windows.record(run.db, run.cluster, part, asked)
    summary.windows += 1
    summary.provisional += not sure
    return counts.rows
