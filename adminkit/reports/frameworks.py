"""What the jobs run, as a Report: frameworks, containers and programs."""

from __future__ import annotations

from typing import Final

from adminkit.messages import message
from adminkit.render.format import percent
from adminkit.render.report import Bar, Bars, Cell, Field, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header, label, several
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.programs import PARTS, Group, Programs, programs

FIELDS: Final = (
    Field("jobs", "count", "jobs that count"),
    Field("share", "share", "their share of all jobs in the report"),
    Field("users", "count", "how many users have these jobs"),
    Field("gpu_hours", "hours", "GPU-hours of these jobs"),
    Field("gpu_share", "share", "their share of all GPU-hours in the report"),
    Field("cpu_hours", "hours", "CPU-hours of these jobs"),
    Field("accuracy", "ratio", "the mean of elapsed / limit"),
    Field("used_fraction", "ratio", "the sum of elapsed / the sum of limits: long jobs weigh more"),
    Field("cluster", quiet=True),
)
ALL: Final = "(all)"
NONE: Final = message("(none known)")
#: Values that a picture shows by name.
MOST_BARS: Final = 12


def frameworks_report(measured: Programs, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    rows = [_row(group, group.value, measured.overall) for group in measured.groups]
    total = _row(measured.overall, ALL, measured.overall)
    notes: list[str] = [*limits_notes(measured), *_unknown(measured, query.by)]
    meta = header("What the jobs run", measured, query, measured.overall.jobs, notes)
    return Report(meta, (Field(query.by), *FIELDS), rows, [total], pictures(measured, query.by))


def limits_notes(measured: Programs) -> list[str]:
    """What accuracy and hours leave out."""
    overall = measured.overall
    if not overall.jobs:
        return [nouns.NONE_COUNTED]
    notes: list[str] = []
    if left := overall.jobs - overall.limited:
        notes.append(nouns.unlimited_left_out(left))
    for resource, unknown in (("gpu", overall.gpus_unknown), ("cpu", overall.cpus_unknown)):
        if unknown:
            notes.append(nouns.hours_left_out(resource, unknown))
    return notes


def hours(group: Group) -> tuple[float | None, float | None]:
    """GPU-hours and CPU-hours; None where no job says its size."""
    gpu = None if group.jobs and group.gpus_unknown == group.jobs else group.gpu_seconds / 3600
    cpu = None if group.jobs and group.cpus_unknown == group.jobs else group.cpu_seconds / 3600
    return gpu, cpu


def gpu_share(group: Group, overall: Group) -> float | None:
    """The share of all GPU-hours of the report."""
    known = hours(group)[0] is not None and overall.gpu_seconds
    return group.gpu_seconds / overall.gpu_seconds if known else None


def pictures(measured: Programs, part: str) -> Pictures | None:
    """The values with most GPU-hours, or with most jobs where there are none; the others as one bar."""
    overall = measured.overall
    if not overall.jobs:
        return None
    by_hours = overall.gpu_seconds >= 3600
    whole = overall.gpu_seconds if by_hours else overall.jobs
    many = several(group.cluster for group in measured.groups)
    amounts = [
        (label(group.value or NONE, group.cluster, many), group.gpu_seconds if by_hours else group.jobs)
        for group in measured.groups
    ]
    amounts.sort(key=lambda one: -one[1])
    others = len(amounts) - MOST_BARS
    if others > 0:
        amounts[MOST_BARS:] = [(nouns.others(others), sum(amount for _, amount in amounts[MOST_BARS:]))]
    unit = 3600 if by_hours else 1
    bars = [Bar(name, round(amount / unit), amount / whole) for name, amount in amounts]
    share, most, by = percent(amounts[0][1] / whole), amounts[0][0], nouns.part(part)
    if by_hours:
        title = message("{share} of the {what} belong to {most}", share=share, what=nouns.GPU_HOURS, most=most)
        heading, sum_of = message("{what} by {part}", what=nouns.GPU_HOURS, part=by), round(whole / unit)
        return Pictures(title, "", [Bars(heading, nouns.in_hours(sum_of, nouns.GPU_HOURS), bars)])
    title = message("{share} of the jobs belong to {most}", share=share, most=most)
    return Pictures(title, "", [Bars(message("Jobs by {part}", part=by), nouns.jobs(round(whole)), bars)])


def _row(group: Group, name: str | None, overall: Group) -> list[Cell]:
    gpu, cpu = hours(group)
    return [
        name, group.jobs, group.jobs / overall.jobs if overall.jobs else None, len(group.users), gpu,
        gpu_share(group, overall), cpu, group.spread().accuracy, group.used_fraction, group.cluster,
    ]  # fmt: skip


def _unknown(measured: Programs, part: str) -> list[str]:
    unknown = sum(group.jobs for group in measured.groups if group.value is None)
    if not unknown:
        return []
    return [
        message(
            "no {part} is known for {jobs}: none was used, or the command line does not show it",
            jobs=nouns.jobs(unknown),
            part=nouns.part(part),
        )
    ]


def _measure(trace: sqlite3.Connection, query: Query) -> Programs:
    return programs(trace, query.filter, query.by)


SPEC: Final = ReportSpec(
    "frameworks",
    "The frameworks, containers and programs that jobs run. Shows their hours and accuracy.",
    "report frameworks --since 90d",
    _measure,
    frameworks_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until", "states", "min_elapsed"),
    parts=PARTS[:3],
    pictures=True,
)
