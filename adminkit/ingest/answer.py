"""One answer of sacct's into the trace: which fields are asked for, and what a record must be to count as one.

docs/sync.md says why nothing else that stands in an answer is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from adminkit.ingest.helper import Counts, Statement, ingest
from adminkit.ingest.sources.sacct_fields import (
    JOB_FIELDS,
    RECORD_FIELDS,
    STEP_FIELDS,
    columns_for,
    job_values,
    step_values,
)
from adminkit.ingest.spec import Column, outputs
from adminkit.slurm.sacct import Answer
from adminkit.trace.altered import WATCH
from adminkit.trace.runs import CLAIM
from adminkit.trace.upsert import REJECT
from adminkit.trace.windows import STEPS

#: Beside the passes of trace/windows.py: what is open now, and the records of the policy that owners may write.
OPEN: Final = "open"
CLAIMS: Final = "claims"
#: Who tells us of every row of an answer.
SOURCE: Final = "slurmdbd"
#: A time comes first among what counts and last of all, so no text of a user's is at either end of a record.
_SEALED: Final = "Submit"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for: a pass, of a cluster, runs that ended in [since, until) or, for OPEN, not before `since`."""

    which: str
    cluster: str
    known: frozenset[str]  # the fields that this sacct has
    record: str  # where the policy's record is: a key of RECORD_FIELDS
    since: int
    until: int
    ended: bool = True  # a run without an end is none of the answer

    @property
    def fields(self) -> Sequence[str]:
        """The fields to ask for, free text behind all that counts."""
        if self.which == CLAIMS:
            wanted: Sequence[str] = ("JobID", "JobIDRaw", "Cluster", "Submit", "End", RECORD_FIELDS[self.record])
        else:
            wanted = STEP_FIELDS if self.which == STEPS else JOB_FIELDS
        return [*(field for field in wanted if field in self.known), _SEALED]

    @property
    def columns(self) -> list[Column]:
        """How they are read."""
        columns = columns_for(self.fields[:-1])
        if self.ended:
            columns = [replace(one, required=True) if one.name == "End" else one for one in columns]
        return [*columns, Column(_SEALED, "time", required=True)]


def read(asked: Asked, answer: Answer, db: Path, now: int) -> Counts:
    """Put the answer into the trace; what does not belong to it is set aside. One transaction."""
    columns = asked.columns
    bind = (f"sacct {asked.cluster}", str(now), asked.cluster)
    cluster = f"?{outputs(columns) + len(bind)}"
    reading = Statement(
        columns, answer.marks.delimiter, reject_sql=REJECT, bind=bind, ends=True, timezone="UTC", gentle=True,
        seal=answer.marks.seal, wants=_wants(asked, columns), within=_within(asked, columns),
        no_steps=asked.which != STEPS, before=() if asked.which == STEPS else (WATCH,),
    )  # fmt: skip
    if asked.which == STEPS:
        reading = reading.storing_steps(step_values(columns, cluster), SOURCE)
    elif asked.which == CLAIMS:
        reading = replace(reading, job_sql=_claim(columns, asked.record, cluster))
    else:
        values = job_values(columns, cluster, asked.record)
        if asked.which == OPEN:
            seen = f"CAST(?{outputs(columns) + 2} AS INTEGER)"
            values["seen_open"] = f"CASE WHEN {values['end_time']} IS NULL THEN {seen} END"
        reading = reading.storing_jobs(values, SOURCE, f"{values['state']} IS NOT 'REVOKED'", again=asked.which != OPEN)
    with answer.path.open("rb", buffering=0) as source:
        return ingest(reading, db, source)


def _wants(asked: Asked, columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple(f"{place}={asked.cluster}" for place, one in enumerate(columns, 1) if one.name == "Cluster")


def _within(asked: Asked, columns: Sequence[Column]) -> tuple[str, ...]:
    span = f"{max(asked.since, 0)}..{asked.until}"
    return tuple(f"{place}={span}" for place, one in enumerate(columns, 1) if one.name == "End")


def _claim(columns: list[Column], record: str, cluster: str) -> str:
    """The record of a field that the job's owner may write to."""
    values = job_values(columns, cluster, recorded_in=record)
    keys = (cluster, values["job_id_raw"], values["submit_time"])
    return CLAIM.format(*keys, values.get("limit_original", "NULL"), values.get("limit_source", "'unknown'"))
