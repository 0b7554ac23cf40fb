"""Jobs that ran in several pieces, as a Report: one row per queue (or user …), or every run of one job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from adminkit.messages import Message, in_context, joined, message
from adminkit.render.format import number, percent
from adminkit.render.report import Bar, Bars, Cell, Field, Meta, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header
from adminkit.reports.spec import Option, Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.restarts import PARTS, Group, Piece, Restarts, pieces, restarts

ALL: Final = "(all)"
#: The columns after the one of the part.
FIELDS: Final = (
    Field("jobs", "count", "jobs that ran in several pieces, or that the checkpoint plugin tried to signal"),
    Field("restarted", "count", "of these, jobs that ran in several pieces"),
    Field("runs", "count", "pieces of all these jobs"),
    Field("ran_hours", "hours", "run time of all pieces"),
    Field("wait_hours", "hours", "time between the end of a piece and the start of the next"),
    Field("saving_hours", "hours", "time from a caught signal to the end of a piece that was then requeued"),
    Field("unsaved_hours", "hours", "run time of pieces cut short without such a signal; an upper bound on the"
    " repeated work"),
    Field("lost_share", "share", "(wait_hours + saving_hours) / (wait_hours + ran_hours)"),
    Field("put_back", "count", "requeues by adminkit; the others were preemptions, failed nodes or scontrol requeue"),
    Field("signals", "count", "runs in which the plugin looked for processes to signal"),
    Field("unheeded", "count", "of these, runs that reached their limit although a process caught the signal"),
    Field("uncaught", "count", "of these, runs in which nothing caught the signal"),
    Field("cluster", quiet=True),
)  # fmt: skip
PIECES: Final = (
    Field("job_id"),
    Field("run", "count", "its number among the job's runs in the trace"),
    Field("wait", "duration", "since the previous piece ended"),
    Field("start_time", "time"),
    Field("elapsed", "duration", "run time without suspension"),
    Field("limit", "duration"),
    Field("signal_at", "duration", "from its start until the plugin looked for processes to signal"),
    Field("heard", "count", "processes that got the signal; 0: nothing caught it"),
    Field("state", help="as Slurm has it; REQUEUED: by adminkit, an operator or Slurm"),
    Field("ended", help="how the plugin judged the end; see below"),
    Field("saving", "duration", "time from a caught signal to the end of a piece that was requeued"),
    Field("unsaved", "duration", "run time of a piece cut short without such a signal: the most that was redone"),
    Field("cluster", quiet=True),
)
#: How the last run ended -> its meaning, where the word needs one.
ENDS: Final[Mapping[str, Message]] = {
    "open": message("continues"),
    "max": message("was requeued as many times as it asked for"),
    "short": message("ran for less than twice the lead: no progress"),
    "refused": message("Slurm refused to requeue it"),
}
#: The same as bars have it; other words are the plugin's and Slurm's.
_BARS: Final[Mapping[str, Message]] = {
    "open": in_context("last run", "open"),
    "completed": message("completed"),
    "refused": message("refused"),
    "failed": message("failed"),
    "timeout": message("timeout"),
    "cancelled": message("cancelled"),
    "preempted": message("preempted"),
    "unknown": message("unknown"),
}


def restarts_report(measured: Restarts, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    title, jobs = "Jobs that ran in several pieces", measured.overall.jobs
    meta = header(title, measured, query, jobs, _notes(measured), unheeded=("elapsed",))
    rows = [_row(group, group.value) for group in measured.groups]
    return Report(meta, (Field(query.by), *FIELDS), rows, [_row(measured.overall, ALL)], _pictures(measured))


def _row(group: Group, name: str | None) -> list[Cell]:
    hours = [seconds / 3600 for seconds in (group.ran, group.waited, group.saving, group.unsaved)]
    lost, whole = group.waited + group.saving, group.waited + group.ran
    return [
        name, group.jobs, group.restarted, group.runs, *hours, lost / whole if whole else None,
        group.ours, group.signals, group.unheeded, group.uncaught, group.cluster,
    ]  # fmt: skip


def _notes(measured: Restarts) -> list[str]:
    if not measured.overall.jobs:
        return [
            message("no job is left to measure: no run was requeued or signalled, or the filters left such runs out")
        ]
    ends = joined(", ", (joined(" ", (_said(end), number(jobs))) for end, jobs in measured.ended.items()))
    notes: list[str] = [message("how the last run ended: {ends}", ends=ends)]
    if measured.overall.unsaved:
        notes.append(
            message(
                "it is not known how much of unsaved_hours was computed again, because Slurm does not see a job's"
                " own checkpoints"
            )
        )
    return notes


def _said(end: str) -> str:
    return message("{end} ({meaning})", end=end, meaning=ENDS[end]) if end in ENDS else end


def _pictures(measured: Restarts) -> Pictures | None:
    jobs = measured.overall.jobs
    if not jobs:
        return None
    runs = [Bar(nouns.runs(count), n, n / jobs) for count, n in measured.pieces.items()]
    ended = [Bar(_BARS.get(end, end), n, n / jobs) for end, n in measured.ended.items()]
    overall = measured.overall
    lost = (overall.waited + overall.saving) / max(overall.waited + overall.ran, 1)
    return Pictures(
        message("{share} of these jobs' time was spent waiting between their pieces and saving", share=percent(lost)),
        "",
        [
            Bars(message("Jobs by number of runs"), nouns.jobs(jobs), runs),
            Bars(message("How the last run ended"), nouns.jobs(jobs), ended),
        ],
    )


def pieces_report(pieces: Sequence[Piece], job: str, database: str) -> Report:
    """Every run of one job, in order; of an array, task by task."""
    rows: list[list[Cell]] = []
    for _, runs in groupby(pieces, key=lambda one: (one.cluster, one.job_id)):
        rows += [_piece(one, nth) for nth, one in enumerate(runs, start=1)]
    total: list[Cell] = [None] * len(PIECES)
    total[0], total[1] = ALL, len(pieces)
    for place, name in ((2, "waited"), (4, "elapsed"), (10, "saving"), (11, "unsaved")):
        total[place] = sum(getattr(one, name) or 0 for one in pieces)
    ends = [one.end_time for one in pieces if one.end_time is not None]
    meta = Meta(
        f"The runs of job {job}",
        database,
        (None, None),
        sorted({one.cluster for one in pieces}),
        {},
        None,
        {},
        _meanings(pieces),
        (min(ends, default=None), max(ends, default=None)),
    )
    return Report(meta, PIECES, rows, [total])


def _piece(one: Piece, nth: int) -> list[Cell]:
    signal_at = None if one.ckpt_at is None or one.start_time is None else one.ckpt_at - one.start_time
    return [
        one.job_id, nth, one.waited, one.start_time, one.elapsed, one.time_limit, signal_at, one.ckpt_heard, one.state,
        one.ckpt_end, one.saving, one.unsaved, one.cluster,
    ]  # fmt: skip


#: How the plugin judged the end of a run (job.CKPT_ENDS) -> the sentence about it.
MEANINGS: Final[Mapping[str, str]] = {
    "more": "exited with the code for 'more to do', and was requeued",
    "limit": "reached its limit after the signal, and was requeued",
    "done": "everything that was watched exited with 0",
    "failed": "exited with another code",
    "max": "was requeued as many times as it asked for",
    "short": "ran for less than twice the lead, so it made no progress",
    "refused": "Slurm refused to requeue it",
}


def _meanings(pieces: Sequence[Piece]) -> list[str]:
    shown = [end for end in MEANINGS if any(one.ckpt_end == end for one in pieces)]
    notes: list[str] = [f"{end}: {MEANINGS[end]}" for end in shown]
    if any(one.unheeded for one in pieces):
        notes.append(
            "a run caught the signal but still reached its limit: it is not known whether the run had saved its work"
        )
    if any(one.ckpt_heard == 0 for one in pieces):
        notes.append("heard 0: nothing in the run caught the signal; docs/checkpoint.md says what to do")
    return notes


def _measure(trace: sqlite3.Connection, query: Query) -> Restarts | list[Piece]:
    if query.own["job"] is not None:
        return pieces(trace, query.own["job"], query.filter.clusters)
    return restarts(trace, query.filter, query.by)


def _view(measured: Restarts | list[Piece], query: Query) -> Report:
    if isinstance(measured, Restarts):
        return restarts_report(measured, query)
    return pieces_report(measured, query.own["job"], query.database)


SPEC: Final = ReportSpec(
    "restarts",
    "Jobs that ran in several pieces, and what that cost. Shows their runs, the time lost to restarts, and signals that"
    " were caught but not heeded.",
    "report restarts --by user",
    _measure,
    _view,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until"),
    parts=tuple(PARTS),
    options=(Option("job", ("--job", "-j"), "List every run of this job: 123, 123_4.", "ID"),),
    pictures=True,
    every_end=True,
)
