"""Job names as a Report: their runs, hours and accuracy, and how alike the runs of a name are."""

from __future__ import annotations

from typing import Final

from adminkit.messages import counted, message
from adminkit.render.report import Cell, Field, Report
from adminkit.reports import nouns
from adminkit.reports.frameworks import ALL, gpu_share, hours, limits_notes, pictures
from adminkit.reports.header import header
from adminkit.reports.spec import Option, Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.programs import Group, Programs, programs

FIELDS: Final = (
    Field("job_name"),
    Field("jobs", "count", "jobs that count"),
    Field("users", "count", "how many users have these jobs"),
    Field("gpu_hours", "hours", "GPU-hours of these jobs"),
    Field("gpu_share", "share", "their share of all GPU-hours in the report"),
    Field("cpu_hours", "hours", "CPU-hours of these jobs"),
    Field("accuracy", "ratio", "the mean of elapsed / limit"),
    Field("accuracy_std", "ratio", "the standard deviation of elapsed / limit (n - 1)"),
    Field("elapsed_p10", "duration", "a tenth of the jobs ran for this time or less"),
    Field("elapsed_median", "duration", "half of the jobs ran for this time or less"),
    Field("elapsed_p90", "duration", "nine tenths of the jobs ran for this time or less"),
    Field("cluster", quiet=True),
)
_MOST: Final = 30


def names_report(measured: Programs, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    most = int(query.own["most"])
    groups = measured.groups[:most] if most else measured.groups
    rows = [_row(group, group.value, measured.overall) for group in groups]
    total = _row(measured.overall, ALL, measured.overall)
    notes = limits_notes(measured)
    if rest := measured.groups[len(groups) :]:
        jobs = sum(group.jobs for group in rest)
        held = round(sum(group.gpu_seconds for group in rest) / 3600)
        notes.append(
            message(
                "not shown: {names} with {jobs} and {hours:,} GPU-hours",
                names=counted("{number:,} name", "{number:,} names", len(rest)),
                jobs=nouns.jobs(jobs),
                hours=held,
            )
        )
    if unnamed := sum(group.jobs for group in measured.groups if group.value is None):
        notes.append(message("the name of {jobs} is not known", jobs=nouns.jobs(unnamed)))
    meta = header("Job names", measured, query, measured.overall.jobs, notes)
    return Report(meta, FIELDS, rows, [total], pictures(measured, "job_name"))


def _row(group: Group, name: str | None, overall: Group) -> list[Cell]:
    spread = group.spread()
    gpu, cpu = hours(group)
    return [
        name, group.jobs, len(group.users), gpu, gpu_share(group, overall), cpu, spread.accuracy, spread.accuracy_std,
        *map(_seconds, (spread.elapsed_p10, spread.elapsed_median, spread.elapsed_p90)), group.cluster,
    ]  # fmt: skip


def _seconds(value: float | None) -> int | None:
    """A quantile may fall between two seconds."""
    return None if value is None else round(value)


def _measure(trace: sqlite3.Connection, query: Query) -> Programs:
    return programs(trace, query.filter, "job_name")


SPEC: Final = ReportSpec(
    "names",
    "Which job names have the most GPU-hours. Shows their runs, hours and accuracy, and how similar the runs are.",
    "report names --user alice",
    _measure,
    names_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until", "states", "min_elapsed"),
    options=(
        Option(
            "most",
            ("--most",),
            "How many names to show, those with the most GPU-hours first; 0: all.",
            default=_MOST,
            least=0,
        ),
    ),
    pictures=True,
)
