"""Stores one answer of a source in the trace; reports in the journal what was rejected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from adminkit import journal
from adminkit.ingest.helper import Counts, Statement, ingest
from adminkit.ingest.months import with_months
from adminkit.ingest.nameless import without_forgotten
from adminkit.ingest.sources.base import CLAIMS, STEPS, Part, Spool, cluster_parameter, seen_parameter
from adminkit.ingest.sync_run import SyncRun
from adminkit.quote import quote
from adminkit.trace import aside
from adminkit.trace.altered import WATCH
from adminkit.trace.aside import ASIDE
from adminkit.trace.forgotten import drop_rejected
from adminkit.trace.runs import CLAIM
from adminkit.trace.upsert import REJECT

#: The rank of every row of an answer.
RANK: Final = "slurmdbd"


def take_in(run: SyncRun, part: Part, spool: Spool, now: int, *, snapshot: bool = False) -> Counts:
    """Store an answer in one transaction and remove its spool. The open runs of a `snapshot` get `seen_open`."""
    label = f"{run.source.name} {run.cluster}"
    reading = replace(
        spool.reading,
        reject_sql=REJECT,
        bind=(label, str(now), run.cluster),
        gentle=True,
        before=() if part == STEPS else (WATCH,),
    )
    reading = without_forgotten(reading, run.db)
    reading = with_months(reading, run.db)
    statement = _storing(reading, part, spool, snapshot)
    with spool.path.open("rb", buffering=0) as text:
        counts = ingest(statement, run.options.db, text)
    spool.path.unlink()
    if counts.rejected:
        drop_rejected(run.db, label, now)
        for reason, raw in aside.seen(run.db, label, now):
            if raw not in run.told:
                journal.refused("records", *_whose(spool, raw), reason)
            run.told.add(raw)
    return counts


def take_claims(run: SyncRun, ask: Callable[[Part], Spool], now: int) -> None:
    """Store the policy's records from a field that owners may write, which are asked for separately."""
    if run.source.claims_apart:
        take_in(run, CLAIMS, ask(CLAIMS), now)


def _storing(reading: Statement, part: Part, spool: Spool, snapshot: bool) -> Statement:
    values = dict(spool.values)
    if part == STEPS:
        return reading.storing_steps(values, RANK)
    if part == CLAIMS:
        keys = (cluster_parameter(reading.columns), values["job_id_raw"], values["submit_time"])
        record = (values.get("limit_original", "NULL"), values.get("limit_source", "'unknown'"))
        return replace(reading, job_sql=CLAIM.format(*keys, *record))
    if snapshot:
        seen = f"CAST({seen_parameter(reading.columns)} AS INTEGER)"
        values["seen_open"] = f"CASE WHEN {values['end_time']} IS NULL THEN {seen} END"
    return reading.storing_jobs(values, RANK, spool.only_where, again=not snapshot)


def _whose(spool: Spool, raw: bytes) -> tuple[str, str | None]:
    """(job, user or None) that a refused record names: a guess."""
    mark = ASIDE if spool.reading.seal else spool.reading.delimiter
    cells = dict(enumerate(raw.decode("utf-8", "replace").split(mark)))
    user = cells.get(spool.user) if spool.user is not None else None
    return f"job {quote(cells.get(spool.job, ''), 20)}", user or None
