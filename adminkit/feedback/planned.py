"""A letter that is due, as a row of the outbox and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from adminkit.feedback.letter import (
    BudgetLetter,
    DigestLetter,
    Due,
    GroupLetter,
    IdleLetter,
    JobLetter,
    OperatorLetter,
    StatementLetter,
)
from adminkit.trace.outbox import Entry

_LETTERS: Final[Mapping[str, type[Due]]] = {
    one.kind: one for one in (JobLetter, DigestLetter, OperatorLetter, StatementLetter, BudgetLetter)
}


@dataclass(frozen=True, slots=True)
class PlannedLetter:
    """A letter that is due."""

    due: Due

    def entry(self, now: int) -> Entry:
        """Its row in the outbox."""
        due = self.due
        cluster, run, kind = due.key
        row = Entry(
            cluster=cluster, run=run, kind=kind, until=due.until, language=due.language, address=due.address,
            due_at=now, next_at=now,
        )  # fmt: skip
        if isinstance(due, OperatorLetter):
            return replace(row, week=due.week, since=due.since, notes=json.dumps(due.notes) if due.notes else None)
        row = replace(row, user=due.user, uid=due.uid)
        if isinstance(due, DigestLetter | StatementLetter | GroupLetter | BudgetLetter):
            return replace(row, week=due.week, since=due.since)
        if isinstance(due, IdleLetter):
            row = replace(row, notes=json.dumps(due.notes))
        return replace(
            row, job_id_raw=due.job_id_raw, submit_time=due.submit_time, is_array=int(due.is_array),
            job_name=due.job_name,
        )  # fmt: skip


def due_of(entry: Entry) -> Due:
    """The letter of a row. The table's CHECK guarantees the columns that its kind needs."""
    columns = {"about": "run"}
    letter = GroupLetter if GroupLetter.is_in(entry.kind, entry.run) else _LETTERS[entry.kind]
    if letter is JobLetter and entry.notes:
        letter = IdleLetter
    values = {field.name: getattr(entry, columns.get(field.name, field.name)) for field in fields(letter)}
    if "is_array" in values:
        values["is_array"] = bool(entry.is_array)
    if "notes" in values:
        values["notes"] = tuple(json.loads(entry.notes or "[]"))
    return letter(**values)
