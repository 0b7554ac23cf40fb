"""What a run of the simulator says, as a Report, and its schedule as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.render.format import percent, plural
from adminkit.render.report import Cell, Field, Meta, Report
from adminkit.simulate.calibrate import compare
from adminkit.simulate.core import KILLED, Schedule
from adminkit.simulate.jobs import Missing
from adminkit.simulate.metrics import WARM_UP, Metrics, measure
from adminkit.simulate.subject import Subject, left_out
from adminkit.simulate.unmodelled import Cause
from adminkit.stats.select import Filter

FIELDS: Final = (
    Field("scenario", help="what was changed; today: nothing"),
    Field("model", help="the model of the scheduler"),
    Field("seed", "count", "the seed with which submissions are shifted; 0: they are not shifted"),
    Field("jobs", "count", "jobs that ran"),
    Field("not_run", "count", "jobs that could not run: the header says why"),
    Field("killed", "count", "jobs that were ended at their limit"),
    Field("avebsld", "ratio", "mean bounded slowdown (tau 10 s) of all jobs"),
    Field("mean_bsld", "ratio", "the same for jobs submitted and ended in the steady part"),
    Field("mean_wait", "duration", "mean time from submission to start"),
    Field("median_wait", "duration", "median of that time"),
    Field("p95_wait", "duration", "95th percentile of that time"),
    Field("mean_turnaround", "duration", "mean time from submission to end"),
    Field("makespan", "duration", "from the first submission to the last end"),
    Field("utilization", "share", "share of the machine in use, in the steady part"),
    Field("utilization_all", "share", "share of the machine in use, over the makespan"),
)
SCHEDULE: Final = ("job_id_raw", "submit_time", "start_time", "end_time", "nodes")
#: Behind the verdict "no basis", where numbers are shown all the same.
_WHOSE: Final = "the numbers are the simulator's: here they say nothing about what the site would do"


def steady_note() -> str:
    """What the steady part is."""
    return f"the steady part: from the submission after the first {1 / WARM_UP:.0%} of the jobs to the last submission"


def refuse_contradiction(subject: Subject, schedule: Schedule) -> None:
    """AdminkitError where most of the jobs could not run on this machine: it is not the one of the trace."""
    lost = sum(one.jobs for one in left_out(subject, schedule) if one.of_site)
    every = lost + int((schedule.start >= 0).sum())
    if 2 * lost > every or lost == every:
        why = "; ".join(f"{one.jobs} {one.reason}" for one in left_out(subject, schedule) if one.of_site)
        plain = "name the machine's size with --procs"
        hint = "correct the --site file: docs/site.md" if subject.model == "slurm" else plain
        raise AdminkitError(f"the machine contradicts the trace, most of whose {every} jobs cannot run: {why}", hint)


def measured(subject: Subject, schedule: Schedule) -> Metrics:
    """All jobs of a schedule."""
    columns = subject.jobs.columns
    killed = schedule.outcome == KILLED
    return measure(columns["submit"], schedule.start, schedule.end, killed, columns["procs"], subject.units or None)


def row_of(scenario: str, model: str, seed: int, metrics: Metrics, missing: int) -> list[Cell]:
    """One row of FIELDS; `missing` jobs were left out before."""
    m = metrics
    return [
        scenario, model, seed, m.jobs, m.not_run + missing, m.killed, m.avebsld, m.mean_bsld, m.mean_wait,
        m.median_wait, m.p95_wait, m.mean_turnaround, m.makespan, m.utilization, m.utilization_all,
    ]  # fmt: skip


def run_report(subject: Subject, schedule: Schedule, filter: Filter, database: str) -> Report:
    """One row: what the model made of the jobs."""
    left = left_out(subject, schedule)
    row = row_of("today", subject.model, 0, measured(subject, schedule), sum(one.jobs for one in subject.jobs.missing))
    worth, causes = calibration_notes(subject, schedule)
    notes = [*causes, *subject.notes, *left_out_sentences(left), steady_note()]
    meta = meta_of("A schedule of the trace's jobs", subject, filter, database, notes)
    meta = replace(meta, answers=worth)
    return Report(meta, FIELDS, [row])


def calibration_notes(subject: Subject, schedule: Schedule) -> tuple[list[str], list[str]]:
    """What the site's own scheduler's answers on its own jobs are worth here, and what is not modelled."""
    if subject.model != "slurm":
        return [], []
    try:
        found = compare(subject, schedule)
    except AdminkitError as error:
        return [f"calibration: none: {error.message}"], []
    return [found.sentence, *([_WHOSE] if found.verdict == "no basis" else [])], cause_notes(found.causes)


def cause_notes(causes: Sequence[Cause]) -> list[str]:
    """What is not modelled, and whom it touches."""
    return [
        f"not modelled: {one.what}; {percent(one.jobs)} of the jobs, {percent(one.waits)} of the waiting time"
        for one in causes
    ]


def meta_of(title: str, subject: Subject, filter: Filter, database: str, notes: Sequence[str]) -> Meta:
    """The header of an answer of the simulator's."""
    window, runs = (filter.since, filter.until), subject.runs
    return Meta(title, database, window, [runs.cluster], {}, len(subject.jobs), runs.excluded, notes, runs.span)


def left_out_sentences(left: Sequence[Missing]) -> list[str]:
    """A sentence for each reason."""
    return [_sentence(one) for one in left]


def _sentence(missing: Missing) -> str:
    more = ", …" if missing.jobs > len(missing.ids) else ""
    return f"not run: {plural(missing.jobs, 'job')} {missing.reason}: {', '.join(map(str, missing.ids))}{more}"


def schedule_csv(subject: Subject, schedule: Schedule) -> str:
    """A line per job by (submit, id): its key in the trace, start, end and nodes; empty where it did not run."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(SCHEDULE)
    known = {name: column.tolist() for name, column in subject.jobs.real.items() if name in ("submit", "nodes")}
    ids, start, end = subject.jobs.columns["id"].tolist(), schedule.start.tolist(), schedule.end.tolist()
    for job, submit, nodes, begin, finish in zip(ids, known["submit"], known["nodes"], start, end, strict=True):
        ran = begin >= 0
        writer.writerow([job, submit, *([begin, finish, nodes if nodes > 0 else ""] if ran else ["", "", ""])])
    return out.getvalue()
