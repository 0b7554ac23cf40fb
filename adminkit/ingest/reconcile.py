"""Rows that arrived or changed long after their End: daily the last 48 hours, weekly the last 35 days."""

from __future__ import annotations

from typing import Final

from adminkit.ingest.sync_windows import Run, ask_stretches
from adminkit.ingest.windows import DAY, HOUR, Window
from adminkit.slurm.sacct import Answer, SacctFailed
from adminkit.trace import runs, windows

#: (note's name, how often, how far back, how wide a comparison)
ROUNDS: Final = (("reconciled_daily", DAY, 2 * DAY, 6 * HOUR), ("reconciled_weekly", 7 * DAY, 35 * DAY, DAY))

_FIELDS: Final = ("ElapsedRaw", "End", "TimelimitRaw", "State", "DerivedExitCode", "End")


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
    """Compare sacct with the trace window by window and ask again for those that differ. Returns how many had changed.

    Windows lie on a grid, so that one that goes on differing (a row set aside, rows slurmdbd has purged) is known by
    its note and not asked for every day.
    """
    changed = 0
    for at in range(since // width * width, until, width):
        window = Window(max(at, since), min(at + width, until))
        theirs = _theirs(run, window)
        if theirs is None or theirs == runs.digest(run.db, run.site.cluster, window.since, window.until):
            continue
        name = f"differs {at} {width}"
        known = windows.note(run.db, run.site.cluster, name)
        if known and known[0] == str(theirs):
            continue
        before = run.summary.closed.new + run.summary.closed.changed
        ask_stretches(run, windows.JOBS, [window], until)
        if run.options.steps:
            ask_stretches(run, windows.STEPS, [window], until)
        changed += run.summary.closed.new + run.summary.closed.changed > before
        if theirs != runs.digest(run.db, run.site.cluster, window.since, window.until):
            windows.set_note(run.db, run.site.cluster, name, str(theirs), until)
    run.summary.reconciled += changed
    return changed


def _theirs(run: Run, window: Window) -> runs.Digest | None:
    """sacct's digest of a window, asked for in halves after an error; None where even an hour gets no answer."""
    try:
        answer = run.fetch(window, "compare", states=run.site.finished, fields=_FIELDS)
    except SacctFailed as error:
        if error.unreachable:
            raise
        if window.width <= HOUR:
            run.talk(f"{error.message}; an hour is left uncompared")
            return None
        run.sleep(max(1.0, error.seconds))
        middle = window.since + window.width // 2
        halves = [_theirs(run, half) for half in (Window(window.since, middle), Window(middle, window.until))]
        left, right = halves
        return None if left is None or right is None else tuple(map(sum, zip(left, right, strict=True)))
    found = digest(answer)
    answer.path.unlink()
    return found


def digest(answer: Answer) -> runs.Digest:
    """A spooled answer in a few numbers, as trace/runs.py counts them. No text of a user's is among its fields."""
    mark = answer.marks.delimiter.encode()
    count = elapsed = end = limit = derived = 0
    states = dict.fromkeys(runs.DIGEST_STATES, 0)
    with answer.path.open("rb") as lines:
        for line in lines:
            cells = line.split(mark)
            if len(cells) != len(_FIELDS) + 1:
                continue
            ended = answer.marks.epoch(cells[1].decode("ascii", "replace"))
            if ended is None or cells[3] == b"REVOKED":
                continue
            count += 1
            elapsed += int(cells[0] or 0)
            end += ended
            limit += 60 * int(cells[2]) if cells[2].isdigit() else 0
            code = cells[4].split(b":")[0]
            derived += int(code) if code.isdigit() else 0
            state = cells[3].split(b" ")[0].decode("ascii", "replace")
            if state in states:
                states[state] += 1
    return (count, elapsed, end, limit, derived, *states.values())
