"""The verdicts of the answers on the rows that an audit asked about, and what is done to these rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit import journal
from adminkit.ingest import horizon
from adminkit.ingest.audit_questions import Work, forget_answers, look_up
from adminkit.ingest.window_plan import DAY
from adminkit.trace import audit as trace
from adminkit.trace import audit_verdict
from adminkit.trace.audit import StoredRun

#: Rows set aside in one transaction.
AT_ONCE: Final = 500


def judge_answers(work: Work, others: Sequence[StoredRun]) -> None:
    """Judge runs that their windows did not confirm."""
    confirmed, contradicted = [], []
    for stored in others:
        found = trace.verdict(work.db, work.scope, stored)
        if found == audit_verdict.CONFIRMED:
            confirmed.append(stored)
        elif found == audit_verdict.CONTRADICTED and not (work.steps_unread and _only_steps(work, stored)):
            contradicted.append(stored)
        elif found == audit_verdict.ABSENT and stored.run not in work.unread:
            work.absent.append(stored)
        else:
            work.unsure.append(stored)
    for stored in confirmed:
        work.done.count("confirmed", 1, stored.end_time, stored.end_time)
    for stored in contradicted:
        work.done.add("contradicted", stored, trace.differing(work.db, work.cluster, stored))
        _letters(work, stored)
    if work.apply:
        trace.flag(work.db, work.cluster, confirmed, "confirmed")
        _replace(work, contradicted)


def _replace(work: Work, contradicted: Sequence[StoredRun]) -> None:
    """Replace runs by slurmdbd's own rows."""
    for place in range(0, len(contradicted), AT_ONCE):
        trace.replace(work.db, work.cluster, contradicted[place : place + AT_ONCE], work.now)
    for stored in contradicted:
        _tell(stored, "slurmdbd contradicts it; replaced by slurmdbd's own row")


def _only_steps(work: Work, stored: StoredRun) -> bool:
    """Whether a run is contradicted only in what follows from steps."""
    return audit_verdict.OF_STEPS.issuperset(trace.differing(work.db, work.cluster, stored))


def judge_open(work: Work) -> None:
    """Judge runs without an end. slurmdbd does not show held jobs, so a missing one is counted as open and stays.

    No run is confirmed before its end: until then sync updates it. A run with values that no sync corrects is replaced.
    """
    pending = trace.still_open(work.db, work.scope)
    forget_answers(work)
    if work.done.known:
        look_up(work, pending)
    forged, old = [], []
    for stored in pending:
        there = trace.verdict(work.db, work.scope, stored) not in (audit_verdict.ABSENT, audit_verdict.SHELL)
        if there and (differs := trace.lasting(work.db, work.cluster, stored)):
            forged.append(stored)
            work.done.add("contradicted", stored, differs)
        elif not there and stored.submit_time < work.first:
            old.append(stored)
            work.done.add("beyond", stored)
        else:
            work.done.count("open", 1, None, None)
    if work.apply:
        _replace(work, forged)
        trace.flag(work.db, work.cluster, old, "beyond")


def judge_absent(work: Work, submitted: int, purges_after: int | None) -> None:
    """Judge runs that slurmdbd lacks: unknown or beyond. The horizon is asked again: slurmdbd may have purged."""
    first = horizon.earliest(work.run, submitted, work.now)
    ends = [(stored, stored.end_time if stored.end_time is not None else stored.submit_time) for stored in work.absent]
    last = horizon.latest(work.run, [(stored.submit_time, end) for stored, end in ends], work.now)
    kept_from = horizon.NEVER if purges_after is None else work.now - purges_after
    unknown: list[StoredRun] = []
    beyond = work.unsure
    for stored, end in ends:
        precedes = horizon.precedes(first, (stored.submit_time, end))
        before = precedes and stored.submit_time >= kept_from
        ahead = work.now <= end <= work.now + DAY  # of a slurmctld whose clock is ahead: not asked about yet
        after = end > work.now + DAY or (not ahead and horizon.follows(last, (stored.submit_time, end)))
        (unknown if before and after else beyond).append(stored)
        work.done.purge_unsaid += precedes and after and purges_after is None
    for stored in unknown:
        work.done.add("unknown", stored)
        _letters(work, stored)
    for stored in beyond:
        work.done.add("beyond", stored)
    if work.apply:
        trace.flag(work.db, work.cluster, beyond, "beyond")
        for place in range(0, len(unknown), AT_ONCE):
            trace.set_aside(work.db, work.cluster, unknown[place : place + AT_ONCE], "unknown", work.now)
        for stored in unknown:
            _tell(stored, "slurmdbd holds earlier and later runs, and not this one; set aside")


def _letters(work: Work, stored: StoredRun) -> None:
    letters, array = trace.letters(work.db, work.cluster, stored), stored.array_job
    if array is not None and any(letter.is_array for letter in letters):
        left = work.tasks[array] if array in work.tasks else trace.tasks(work.db, work.cluster, array)
        work.tasks[array] = left - 1
    for letter in letters:
        if letter.state == "due":
            work.done.due += not (letter.is_array and array is not None and work.tasks[array])
        elif letter.state in ("sent", "claimed") and letter not in work.done.sent:
            work.done.sent.append(letter)


def _tell(stored: StoredRun, why: str) -> None:
    journal.refused("runs", f"job {stored.job_id or stored.job_id_raw}", stored.user or stored.uid, why)
