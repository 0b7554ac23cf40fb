"""The tables as they were at a moment, epoch seconds: what a trace that was cut then would hold. docs/as-of.md.

Later submissions are missing; a run that ended later is open. An open run has what was known at its submission and,
where it had started, at its start. The moment is a whole number in the SQL; no other value is put into it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from adminkit.job import Job, Step
from adminkit.trace import gpu_words
from adminkit.trace.decision_sql import RECORD_GLOB, first_word

#: Columns of job that are known once the run has started.
AT_START: Final = frozenset(
    {
        "start_time",
        "priority",
        "flags",
        "restarts",
        "nodes",
        "cpus",
        "gpus",
        "gpu_type",
        "gpu_parts",
        "mem",
        "node_list",
    }
)
#: Columns of job that are known once the run has ended: slurmdbd has the checkpoint plugin's note only then.
AT_END: Final = frozenset(
    {
        "end_time", "elapsed", "suspended", "cancelled_by", "reason", "exit_code", "exit_signal", "derived_exit_code",
        "ckpt_at", "ckpt_heard", "ckpt_requeues", "ckpt_end",
        "cpu_time", "max_rss", "disk_read", "disk_write", "energy",
    }
)  # fmt: skip
#: Columns of step that are known once the step has ended.
STEP_AT_END: Final = frozenset(
    {
        "state", "end_time", "elapsed", "exit_code", "exit_signal",
        "cpu_time", "max_rss", "disk_read", "disk_write", "energy", "mem_used", "gpus_used",
    }
)  # fmt: skip

_ENDED: Final = "end_time <= {at}"
_STARTED: Final = f"({_ENDED} OR start_time <= {{at}})"
#: The policy's record in a comment, which is written at submission; other words may have come later.
_RECORD: Final = f"CASE WHEN admin_comment GLOB '{RECORD_GLOB}' THEN {first_word('admin_comment')} END"
#: SQL: columns of an open run whose value differs from the row's.
_OPEN: Final = {
    "state": "CASE WHEN start_time <= {at} THEN 'RUNNING' ELSE 'PENDING' END",
    # A snapshot at that moment would have shown it.
    "seen_open": "CASE WHEN end_time > {at} THEN {at} ELSE min(seen_open, {at}) END",
    "eligible_time": "CASE WHEN eligible_time <= {at} THEN eligible_time END",
    "admin_comment": _RECORD,
}
_JOB_ROWS: Final = "submit_time <= {at}"
#: A step without a start counts as known with the end of its run.
_STEP_ROWS: Final = """EXISTS (SELECT 1 FROM main.job AS j
    WHERE (j.cluster, j.job_id_raw, j.submit_time) = (step.cluster, step.job_id_raw, step.submit_time)
        AND j.submit_time <= {at} AND (j.end_time <= {at} OR step.start_time <= {at}))"""

#: Whether a letter got its state later than {at}: then it was still due. The trace does not know when a letter expired.
_LETTER_LATER: Final = (
    "(state = 'sent' AND sent_at > {at} OR state IN ('due', 'claimed', 'refused', 'expired') AND claimed_at > {at})"
)
#: A letter that had been sent, and was sent again by hand later, was sent.
_LETTER_SENT: Final = "(sent_at <= {at} AND due_at > {at})"
_LETTER: Final = {
    "state": f"CASE WHEN {_LETTER_SENT} THEN 'sent' WHEN {_LETTER_LATER} THEN 'due' ELSE state END",
    "attempts": f"CASE WHEN NOT {_LETTER_SENT} AND {_LETTER_LATER} THEN 0 ELSE attempts END",
    "next_at": f"CASE WHEN NOT {_LETTER_SENT} AND coalesce({_LETTER_LATER}, FALSE) THEN due_at ELSE next_at END",
    "claimed_at": "CASE WHEN claimed_at <= {at} THEN claimed_at END",
    "sent_at": "CASE WHEN sent_at <= {at} THEN sent_at END",
    "said": f"CASE WHEN {_LETTER_SENT} OR NOT coalesce({_LETTER_LATER}, FALSE) THEN said END",
}
_LETTER_COLUMNS: Final = (
    "cluster", "run", "kind", "until", "language", "address", "user", "uid", "job_id_raw", "submit_time",
    "is_array", "job_name", "week", "since", "notes", "state", "attempts", "copy", "due_at", "next_at", "claimed_at",
    "sent_at", "said",
)  # fmt: skip

#: Table -> SELECT with {at} of its rows as of then: all columns, of everybody.
_TABLES: Final = {
    "outbox": f"SELECT {', '.join(f'{_LETTER.get(name, name)} AS {name}' for name in _LETTER_COLUMNS)} FROM main.outbox"
    " WHERE min(due_at, coalesce(sent_at, due_at)) <= {at}",
    "queue": "SELECT * FROM main.queue WHERE since <= {at}",
    "node": "SELECT * FROM main.node WHERE since <= {at}",
    "node_event": "SELECT cluster, node, start_time, CASE WHEN end_time <= {at} THEN end_time END AS end_time, state,"
    " reason, user, uid FROM main.node_event WHERE start_time <= {at}",
    "fact": "SELECT * FROM main.fact WHERE at <= {at}",
    # Windows that were asked for by then; sync may have asked for them again since.
    "window": "SELECT cluster, pass, since, min(until, {at}) AS until, provisional, min(asked_at, {at}) AS asked_at,"
    " seconds, rows, new, changed, rejected, revoked FROM main.window WHERE since < {at}",
    # What words mean, and when accounting had none, is known now.
    **{name: f"SELECT * FROM main.{name}" for name in gpu_words.NAMES},
    "rejected": "SELECT * FROM main.rejected WHERE seen_at <= {at}",
    "load": "SELECT * FROM main.load WHERE started_at <= {at}",
    "action": "SELECT * FROM main.action WHERE at <= {at}",
    "person": "SELECT * FROM main.person WHERE since <= {at}",
    "forgotten": "SELECT * FROM main.forgotten WHERE at <= {at}",
    "power_curve": "SELECT * FROM main.power_curve WHERE loaded_at <= {at}",
    "ledger": "SELECT * FROM main.ledger WHERE at <= {at}",
    "ledger_scheme": "SELECT * FROM main.ledger_scheme WHERE at <= {at}",
    "job_aside": "SELECT * FROM main.job_aside WHERE aside_at <= {at}",
    "step_aside": "SELECT * FROM main.step_aside WHERE aside_at <= {at}",
    # The files of months are of today's rows.
    "month_file": "SELECT * FROM main.month_file WHERE FALSE",
}


def select_of(table: str, at: int) -> str:
    """SQL: the rows of that table as they were at the moment `at`."""
    if table == "job":
        return f"SELECT {', '.join(map(_job_column, _names(Job)))} FROM main.job WHERE {_JOB_ROWS}".format(at=int(at))
    if table == "step":
        columns = ", ".join(map(_step_column, _names(Step)))
        return f"SELECT {columns} FROM main.step AS step WHERE {_STEP_ROWS}".format(at=int(at))
    return _TABLES[table].format(at=int(at))


def _names(record: type[Job] | type[Step]) -> list[str]:
    return [field.name for field in fields(record)]


def _job_column(name: str) -> str:
    if name in AT_END:
        value = f"CASE WHEN {_ENDED} THEN {name} END"
    elif name in AT_START:
        value = f"CASE WHEN {_STARTED} THEN {name} END"
    elif name in _OPEN:
        value = f"CASE WHEN {_ENDED} THEN {name} ELSE {_OPEN[name]} END"
    else:
        return f'"{name}"'
    return f"{value} AS {name}"


def _step_column(name: str) -> str:
    return f"CASE WHEN {_ENDED} THEN {name} END AS {name}" if name in STEP_AT_END else name
