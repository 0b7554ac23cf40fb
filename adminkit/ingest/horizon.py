"""The earliest and the latest runs that slurmdbd holds, found with few and small questions into a scratch trace.

slurmdbd purges ended runs by submission, and a rebuilt database lacks every run that was over before. So where it holds
a run that was both submitted and over no later than another one, it has lost the other one in neither way. Runs are
compared as pairs (submission, end).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from adminkit.ingest.answer import take_in
from adminkit.ingest.sources.base import JOBS, SourceFailed
from adminkit.ingest.sync_run import SyncRun
from adminkit.ingest.sync_windows import ask_stretches
from adminkit.ingest.window_plan import DAY, HOUR, Window
from adminkit.trace import answers, runs

#: 2001, before there was a Slurm: no run is older.
FLOOR: Final = 1_000_000_000
#: Later than everything.
NEVER: Final = 1 << 62
#: Seconds: the widest window of the search forwards, whose first answer may be large.
WIDEST: Final = 32 * DAY

Pair = tuple[int, int]


def earliest(run: SyncRun, submitted: int, now: int) -> list[Pair]:
    """The first runs that slurmdbd holds, or some that were over before `submitted`; [] where it holds none.

    Searches backwards first, in adjoining windows, each four times as wide as the last.
    """
    begin = at = min(max(submitted, FLOOR), now)
    width = HOUR
    while at > FLOOR:
        window = Window(max(at - width, FLOOR), at)
        if found := _held(run, window, now):
            return _first(found)
        at, width = window.since, 4 * width
    at, width = begin, HOUR
    while at < now:
        window = Window(at, min(at + width, now))
        if found := _held(run, window, now):
            return _first(found)
        at, width = window.until, min(2 * width, WIDEST)
    return []


def latest(run: SyncRun, wanted: Iterable[Pair], now: int) -> list[Pair]:
    """The last runs that slurmdbd holds: enough of them to tell which of `wanted` are followed by one."""
    answers.empty(run.db)
    take_in(run, JOBS, run.source.open_snapshot(JOBS, now), now)
    found = [(submit, NEVER) for submit in runs.submissions(run.db, run.cluster)]
    last, at, width = _last(found), now, HOUR
    left = [pair for pair in wanted if not follows(last, pair)]
    while left and at > max(FLOOR, min(end for _, end in left)):
        window = Window(max(at - width, FLOOR), at)
        last = _last([*last, *_held(run, window, now)])
        left = [pair for pair in left if not follows(last, pair)]
        at, width = window.since, 4 * width
    return last


def precedes(first: Sequence[Pair], one: Pair) -> bool:
    """Whether one of the first runs was submitted, and over, no later than this one."""
    return any(submit <= one[0] and end <= one[1] for submit, end in first)


def follows(last: Sequence[Pair], one: Pair) -> bool:
    """Whether one of the last runs was submitted, and over, no earlier than this one."""
    return any(submit >= one[0] and end >= one[1] for submit, end in last)


def _first(found: Iterable[Pair]) -> list[Pair]:
    """The ones that no other precedes."""
    kept: list[Pair] = []
    for submit, end in sorted(found):
        if not kept or end < kept[-1][1]:
            kept.append((submit, end))
    return kept


def _last(found: Iterable[Pair]) -> list[Pair]:
    """The ones that no other follows."""
    kept: list[Pair] = []
    for submit, end in sorted(found, reverse=True):
        if not kept or end > kept[-1][1]:
            kept.append((submit, end))
    return kept


def _held(run: SyncRun, window: Window, now: int) -> list[Pair]:
    """The runs that ended in a window."""
    answers.empty(run.db)
    try:
        take_in(run, JOBS, run.source.closed(JOBS, window), now)
    except SourceFailed as error:
        if error.unreachable:
            raise
        ask_stretches(run, JOBS, [window], now)  # the answer was too large
    return runs.held(run.db, run.cluster)
