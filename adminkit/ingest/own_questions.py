"""The questions behind a copy of one's own runs (own_runs.py): all of them, what has come since, or their steps."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.gres import GpuSettings
from adminkit.ingest.answer import take_in
from adminkit.ingest.gpus import refresh
from adminkit.ingest.sources.base import JOBS, STEPS, SourceFailed
from adminkit.ingest.sources.sacct import open_own
from adminkit.ingest.sync_run import Options, SyncRun
from adminkit.ingest.window_plan import DAY, HOUR, Window
from adminkit.sqlite import sqlite3
from adminkit.trace import private_copy, windows
from adminkit.trace.private_copy import DAYS_FACT, QUEUES_FACT, Missing
from adminkit.trace.runs import fill_from_steps
from adminkit.trace.transaction import transaction
from adminkit.units import show_time

#: Runs that a copy holds.
MOST_RUNS: Final = 20_000
#: Runs whose steps are asked for: slurmdbd makes a query of its own for each.
MOST_STEPS: Final = 200
#: Seconds for a question.
TIMEOUT: Final = 60.0
#: Days to ask for where slurmdbd is not responding for as many as are wanted.
FEWER_DAYS: Final = (30, 7, 1)
#: Seconds by which slurmdbd may learn late of an end.
_LATE: Final = 2 * HOUR


@dataclass(frozen=True, slots=True)
class Work:
    """Whose runs are asked for, and how."""

    uid: int
    days: int
    steps: bool
    queues: bool
    now: int
    talk: Callable[[str], None]


def refreshed(work: Work, held: bytes | None, cluster: str, missing: Missing) -> bytes:
    """The copy `held`, or a new one, with what was missing.

    "newer" is what has come since it was made, "rest" the steps or the queues.
    """
    with tempfile.TemporaryDirectory(prefix="adminkit-") as place:
        path = Path(place) / private_copy.NAME
        with private_copy.changed(path, held) as db:
            source = open_own(cluster, Path(place), timeout=TIMEOUT, uid=work.uid)
            run = SyncRun(db, source, Options(path), work.talk)
            if missing == "all":
                private_copy.forget(db, cluster)
                run = _ask_all(work, run, Path(place))
            elif missing == "newer":
                last = windows.recorded(db, cluster, windows.JOBS)[-1]
                _ask_jobs(work, run, last.until - _LATE, last.since)
            if work.steps:
                try:
                    _ask_steps(work, run)
                except SourceFailed as error:  # the runs are worth keeping without them
                    work.talk(f"{error.message}; what the last jobs used is not known")
            if work.queues and windows.fact(db, cluster, QUEUES_FACT) is None:
                _note_queues(work, db, cluster)
            with transaction(db):
                refresh(db, GpuSettings())
            dropped = private_copy.trim(db, cluster, MOST_RUNS)
            if dropped is not None:
                work.talk(
                    f"only the last {MOST_RUNS:,} runs are looked at: what ended before {show_time(dropped)} is not"
                )
        return path.read_bytes()


def _ask_all(work: Work, run: SyncRun, place: Path) -> SyncRun:
    """Every run of as many days as slurmdbd answers for."""
    cluster = run.cluster
    days = [work.days, *(fewer for fewer in FEWER_DAYS if fewer < work.days)]
    for which, many in enumerate(days):
        since = work.now - many * DAY
        try:
            try:
                _ask_jobs(work, run, since, since)
            except SourceFailed as error:
                if "Invalid field" not in error.message:
                    raise
                source = open_own(cluster, place, timeout=TIMEOUT, uid=work.uid, probe=True)
                run = SyncRun(run.db, source, run.options, run.talk)
                _ask_jobs(work, run, since, since)
        except SourceFailed as error:
            if error.unreachable or which == len(days) - 1:
                raise
            work.talk(f"{error.message}; asking for {days[which + 1]} days instead of {many}")
            continue
        windows.set_fact(run.db, cluster, DAYS_FACT, str(work.days), work.now)
        return run
    raise AssertionError("every number of days was tried")


def _ask_jobs(work: Work, run: SyncRun, since: int, first: int) -> None:
    """What was there from `since` on; the copy then has everything from `first` on."""
    # In any state: one question has what ended, what runs and what waits.
    spool = run.source.lookup(JOBS, Window(since, work.now), ())
    counts = take_in(run, JOBS, spool, work.now)
    asked = windows.RecordedWindow(
        first, work.now, True, work.now, spool.seconds, counts.rows, counts.new, counts.changed
    )
    windows.record(run.db, run.cluster, windows.JOBS, asked)


def _ask_steps(work: Work, run: SyncRun) -> None:
    """The steps of the last runs, as far as they were not asked for."""
    before = windows.recorded(run.db, run.cluster, windows.STEPS)
    since = before[-1].until - _LATE if before else 0
    ids = private_copy.stepless(run.db, run.cluster, MOST_STEPS, since)
    first = windows.recorded(run.db, run.cluster, windows.JOBS)[0].since
    seconds, rows = 0.0, 0
    if ids:
        spool = run.source.lookup(STEPS, Window(first, work.now), ids)
        seconds, rows = spool.seconds, take_in(run, STEPS, spool, work.now).rows
        with transaction(run.db):
            fill_from_steps(run.db, run.cluster, 0, work.now)
    start = before[0].since if before else first
    asked = windows.RecordedWindow(start, work.now, True, work.now, seconds, rows)
    windows.record(run.db, run.cluster, windows.STEPS, asked)


def _note_queues(work: Work, db: sqlite3.Connection, cluster: str) -> None:
    """Their maxima, which no recommendation exceeds. slurmctld may be away."""
    from adminkit.ingest.machine import store_queues  # what these load takes longer than all else here
    from adminkit.slurm import partitions

    try:
        queues = partitions.queues(cluster)
    except AdminkitError as error:
        work.talk(f"{error.message}; the queues' maxima are not known")
        return
    with transaction(db):
        store_queues(db, cluster, queues, work.now)
        windows.set_fact(db, cluster, QUEUES_FACT, str(len(queues)), work.now)
