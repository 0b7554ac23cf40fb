"""The open runs of a sync: a snapshot, and a look-up of the runs that were in the last snapshot and not in this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.ingest.answer import take_claims, take_in
from adminkit.ingest.sources.base import JOBS, STEPS, SourceFailed
from adminkit.ingest.sync_run import SyncRun
from adminkit.ingest.sync_windows import ask_stretches
from adminkit.ingest.window_plan import HOUR, Window, covered
from adminkit.slurm.open_jobs import admin_comments
from adminkit.trace import runs

#: Job ids per look-up: long lists make slurmdbd scan.
IDS_PER_QUERY: Final = 200


def ask_open(run: SyncRun, now: int) -> None:
    """Snapshot what is pending, running or suspended; look up what is gone from it."""
    moment = int(run.clock())
    run.summary.open += take_in(run, JOBS, run.source.open_snapshot(JOBS, moment), now, snapshot=True)
    take_claims(run, lambda claims: run.source.open_snapshot(claims, moment), now)
    if not run.source.claims_apart:  # other tools may overwrite AdminComment until the end
        _keep_records(run)
    gone = runs.vanished(run.db, run.cluster, now - runs.LOST, now)
    for at in range(0, len(gone), IDS_PER_QUERY):
        _look_up(run, gone[at : at + IDS_PER_QUERY], now)
    run.summary.lost = runs.lost(run.db, run.cluster, now - runs.LOST)
    if run.options.steps and gone:
        hours = {end // HOUR * HOUR for end in runs.ends(run.db, run.cluster, gone)}
        over = [(hour, min(hour + HOUR, now)) for hour in hours if hour < now]
        ask_stretches(run, STEPS, covered(over), now)


def _keep_records(run: SyncRun) -> None:
    """Store the records of open jobs. Where slurmctld is away they are seen at the end, or by the next run."""
    try:
        records = admin_comments(run.cluster)
    except AdminkitError as error:
        run.talk(f"{error.message}: the next run reads what the policy recorded in open jobs")
        return
    runs.keep_records(run.db, run.cluster, records)


def _look_up(run: SyncRun, gone: Sequence[tuple[int, int]], now: int) -> None:
    """Ask for runs by (JobIDRaw, Submit); for fewer at once after an error, and for none where one is too many."""
    window = Window(min(submit for _, submit in gone), now)
    ids = [job_id for job_id, _ in gone]
    try:
        spool = run.source.lookup(JOBS, window, ids)
    except SourceFailed as error:
        if error.unreachable:
            raise
        if len(gone) == 1:
            run.talk(f"{error.message}; the next run looks up job {ids[0]} again")
            return
        half = len(gone) // 2
        _look_up(run, gone[:half], now)
        _look_up(run, gone[half:], now)
        return
    run.summary.closed += take_in(run, JOBS, spool, now)
    runs.drop_revoked(run.db, run.cluster, gone)  # they are counted in the window of their end
    take_claims(run, lambda claims: run.source.lookup(claims, window, ids), now)
    run.summary.looked_up += len(gone)
