"""What an audit asks: the windows, ids and steps of a sync, stored in a scratch trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adminkit.ingest import horizon
from adminkit.ingest.answer import take_in
from adminkit.ingest.audited import Audited
from adminkit.ingest.sources.base import JOBS, STEPS
from adminkit.ingest.sync_open import IDS_PER_QUERY
from adminkit.ingest.sync_run import SyncRun
from adminkit.ingest.sync_windows import ask_stretches
from adminkit.ingest.window_plan import HOUR, Window, covered
from adminkit.sqlite import sqlite3
from adminkit.trace import answers, runs
from adminkit.trace.audit import AuditScope, StoredRun


@dataclass(slots=True)
class Work:
    """One audit of one cluster: the trace, and a sync's run on the scratch trace."""

    db: sqlite3.Connection
    run: SyncRun
    scope: AuditScope
    apply: bool
    now: int
    done: Audited
    first: int = horizon.NEVER  # the first end that slurmdbd holds
    absent: list[StoredRun] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)  # runs of which an answer could not be read
    steps_unread: bool = False  # whether steps of these answers could not be read
    tasks: dict[int, int] = field(default_factory=dict)  # array with letters -> tasks of it that are left
    unsure: list[StoredRun] = field(default_factory=list)  # neither confirmed nor denied

    @property
    def cluster(self) -> str:
        return self.scope.cluster


def forget_answers(work: Work) -> None:
    """Delete the answers so far."""
    answers.empty(work.run.db)
    work.steps_unread = False


def look_up(work: Work, gone: Sequence[StoredRun]) -> None:
    """Ask for these runs by id: a run with another end in slurmdbd is in none of the windows."""
    for place in range(0, len(gone), IDS_PER_QUERY):
        some = gone[place : place + IDS_PER_QUERY]
        window = Window(max(min(stored.submit_time for stored in some), horizon.FLOOR), work.now)
        ids = [stored.job_id_raw for stored in some if 0 <= stored.job_id_raw < 2**32]
        if not ids or window.width <= 0:
            continue
        _ask_ids(work, window, some, ids)
        if work.run.options.steps:
            ends = runs.ends(work.run.db, work.cluster, [(stored.job_id_raw, stored.submit_time) for stored in some])
            hours = {end // HOUR * HOUR for end in ends}
            over = [(hour, min(hour + HOUR, work.now)) for hour in hours if hour < work.now]
            ask_steps(work, covered(over), HOUR)


def _ask_ids(work: Work, window: Window, some: Sequence[StoredRun], ids: Sequence[int]) -> None:
    """Ask for runs by id; where a record could not be read, for half as many, until it shows whose record that is."""
    answers.forget_unread(work.run.db)
    source = work.run.source
    take_in(work.run, JOBS, source.closed(JOBS, window, ids), work.now)
    take_in(work.run, JOBS, source.open_snapshot(JOBS, work.now, ids), work.now)
    if not answers.unread(work.run.db):
        return
    if len(set(ids)) == 1:
        work.unread |= {stored.run for stored in some if stored.job_id_raw == ids[0]}
        return
    half = sorted(set(ids))[: len(set(ids)) // 2]
    for part in (half, sorted(set(ids) - set(half))):
        _ask_ids(work, window, some, part)


def ask_steps(work: Work, stretches: Sequence[Window], width: int) -> None:
    answers.forget_unread(work.run.db)
    ask_stretches(work.run, STEPS, stretches, work.now, width)
    work.steps_unread = work.steps_unread or answers.unread(work.run.db)
