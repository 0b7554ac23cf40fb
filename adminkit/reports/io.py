"""Which jobs files kept waiting, as a Report: GPU-hours by class."""

from __future__ import annotations

from typing import Final

from adminkit.findings import io_bound as home
from adminkit.messages import counted, message
from adminkit.render.format import percent
from adminkit.render.report import Bar, Bars, Cell, Field, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.efficiency import UNKNOWN
from adminkit.reports.header import header, label, several
from adminkit.reports.spec import Option, Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.file_waits import PARTS, Group, Waits

FIELDS: Final = (
    Field("jobs", "count", "jobs that ran"),
    Field("gathered", "count", "of these, jobs of which it is known how often they waited for files"),
    Field("gpu_hours", "hours", "GPU-hours that the jobs held"),
    Field("bound", "hours", "GPU-hours of jobs bound by files: they waited for files, and their GPUs were idle"),
    Field("bound_idle", "hours", "of these, GPU-hours in which the GPUs were idle"),
    Field("may_be_bound", "hours", "GPU-hours of jobs that waited for files; whether that cost time is not known"),
    Field("short_of_cpus", "hours", "GPU-hours of jobs whose threads wanted all CPUs of the job"),
    Field("not_bound", "hours", "GPU-hours of jobs that files did not keep waiting"),
    Field("not_gathered", "hours", "GPU-hours of the other jobs"),
    Field("bound_jobs", "count", "jobs bound by files", data=True),
    Field("may_be_bound_jobs", "count", "jobs that may be bound by files", data=True),
    Field("short_of_cpus_jobs", "count", "jobs that were short of CPUs", data=True),
    Field("not_bound_jobs", "count", "jobs that files did not keep waiting", data=True),
    Field("cluster", quiet=True),
)
ALL: Final = "(all)"
#: Rows of the table, and groups of the picture.
_MOST: Final = 30
_MOST_BARS: Final = 12


def io_report(measured: Waits, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    most = int(query.own["most"])
    shown = measured.groups[:most] if most else measured.groups
    rows = [_row(group, group.value) for group in shown]
    notes = _notes(measured)
    if rest := measured.groups[len(shown) :]:
        hours = sum(group.gpu_seconds for group in rest) / 3600
        rows_left = counted("{number:,} row", "{number:,} rows", len(rest))
        notes.append(message("not shown: {rows} with {hours:,.0f} GPU-hours", rows=rows_left, hours=hours))
    meta = header("Jobs that waited for files", measured, query, measured.overall.jobs, notes)
    pictures = _pictures(measured, query.by) if query.pictures else None
    return Report(meta, (Field(query.by), *FIELDS), rows, [_row(measured.overall, ALL)], pictures)


def _row(group: Group, name: str | None) -> list[Cell]:
    held = group.classes
    gathered = group.jobs - held[home.NOT_GATHERED].jobs
    by_class = (held[place] for place in (home.MAY_BE_BOUND, home.SHORT_OF_CPUS, home.NOT_BOUND))
    counts = (held[place].jobs for place in (home.BOUND, home.MAY_BE_BOUND, home.SHORT_OF_CPUS, home.NOT_BOUND))
    bound = held[home.BOUND]
    known = [bound.gpu_seconds / 3600, bound.idle_seconds / 3600, *(one.gpu_seconds / 3600 for one in by_class)]
    return [
        name, group.jobs, gathered, group.gpu_seconds / 3600, *(known if gathered else [None] * len(known)),
        held[home.NOT_GATHERED].gpu_seconds / 3600, *(counts if gathered else [None] * 4), group.cluster,
    ]  # fmt: skip


def _notes(measured: Waits) -> list[str]:
    overall = measured.overall
    if not overall.jobs:
        return [nouns.NONE_COUNTED]
    notes: list[str] = []
    missing = overall.classes[home.NOT_GATHERED].jobs
    if missing == overall.jobs:
        return [
            message(
                "it is not known for any job how often it waited for files: the plugin adminkit_io gathers that;"
                " docs/io.md says how"
            )
        ]
    if missing:
        notes.append(message("it is not known how often {jobs} waited for files", jobs=nouns.jobs(missing)))
    if doubtful := overall.classes[home.MAY_BE_BOUND].jobs:
        notes.append(
            message(
                "{jobs} may be bound by files: only the use of their GPUs could tell, and it is not known or between"
                " the bounds",
                jobs=nouns.jobs(doubtful),
            )
        )
    return notes


def _pictures(measured: Waits, part: str) -> Pictures | None:
    total = measured.overall.gpu_seconds
    groups = [group for group in measured.groups if group.classes[home.BOUND].gpu_seconds]
    if not groups or not total:
        return None
    groups.sort(key=lambda group: -group.classes[home.BOUND].gpu_seconds)
    many = several(group.cluster for group in measured.groups)
    bars = [
        Bar(
            label(group.value or UNKNOWN, group.cluster, many),
            group.classes[home.BOUND].jobs,
            group.classes[home.BOUND].gpu_seconds / total,
        )
        for group in groups[:_MOST_BARS]
    ]
    heading = message("Jobs bound by files, by {part}", part=nouns.part(part))
    share = percent(measured.overall.classes[home.BOUND].gpu_seconds / total)
    title = message("Jobs bound by files held {share} of the GPU-hours", share=share)
    caption = message("The number beside each bar is how many jobs were bound by files.")
    return Pictures(title, caption, [Bars(heading, message("share of all GPU-hours"), bars)])


def _measure(trace: sqlite3.Connection, query: Query) -> Waits:
    return query.measures.file_waits(trace, query.filter, query.by, home.classify, len(home.CLASSES))


SPEC: Final = ReportSpec(
    "io",
    "Which jobs files kept waiting: GPU-hours of jobs that are bound by files, may be, or are short of CPUs.",
    "report io --by user --since 30d",
    _measure,
    io_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until", "states", "min_elapsed"),
    parts=tuple(PARTS),
    options=(
        Option(
            "most",
            ("--most",),
            "How many rows to show, those with the most GPU-hours first; 0: all.",
            default=_MOST,
            least=0,
        ),
    ),
    pictures=True,
)
