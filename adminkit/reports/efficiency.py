"""What jobs used of what they had, as a Report: CPUs, memory, GPUs and their memory."""

from __future__ import annotations

from typing import Final

from adminkit.messages import Message, message
from adminkit.render.format import percent
from adminkit.render.report import Box, Boxes, Cell, Field, Panel, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header, label, several
from adminkit.reports.spec import Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.efficiencies import IDLE, PARTS, RESOURCES, Efficiencies, Group

FIELDS: Final = (
    Field("jobs", "count", "jobs that count"),
    Field("cpu_jobs", "count", "of these, jobs with a known CPU time"),
    Field("cpu", "share", "CPU time / (elapsed × CPUs) over all of these jobs: long jobs weigh more"),
    Field("cpu_median", "share", "the median of the jobs' own shares"),
    Field("cpu_hours_unused", "hours", "CPU-hours that were reserved and not used"),
    Field("mem_jobs", "count", "jobs whose memory use is known for all tasks"),
    Field("mem", "share", "memory used / memory asked for, both weighted by time"),
    Field("mem_median", "share", "the median of the jobs' own shares"),
    Field("gpu_jobs", "count", "jobs whose use of their GPUs is known"),
    Field("gpu", "share", "GPU-hours busy / reserved"),
    Field("gpu_median", "share", "the median of the jobs' own shares"),
    Field("gpu_hours_unused", "hours", "GPU-hours that were reserved and not busy"),
    Field("gpu_idle", "count", "jobs whose GPUs were busy for less than 1 % of the time"),
    Field("gpu_hours_idle", "hours", "GPU-hours that these jobs reserved"),
    Field("gpu_mem_jobs", "count", "jobs whose GPU memory use is known from Jobstats or adminkit's plugin", quiet=True),
    Field("gpu_mem", "share", "GPU memory used / GPU memory available, both weighted by time", quiet=True),
    Field("gpu_mem_median", "share", "the median of the jobs' own shares", quiet=True),
    Field("cluster", quiet=True),
)
ALL: Final = "(all)"
UNKNOWN: Final = message("(unknown)")
_WORDS: Final = {
    "cpu": message("CPU time"),
    "mem": message("Memory"),
    "gpu": message("GPU time"),
    "gpu_mem": message("GPU memory"),
}
#: Groups that a picture shows.
MOST_BOXES: Final = 10


def efficiency_report(measured: Efficiencies, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    meta = header("What jobs used of what they had", measured, query, measured.overall.jobs, _notes(measured))
    rows = [_row(group, group.value) for group in measured.groups]
    pictures = _pictures(measured, query.by) if query.pictures else None
    return Report(meta, (Field(query.by), *FIELDS), rows, [_row(measured.overall, ALL)], pictures)


def _row(group: Group, name: str | None) -> list[Cell]:
    cpu, mem, gpu, gpu_mem = (_shares(group, resource) for resource in RESOURCES)
    known = bool(group.uses["gpu"].jobs)
    idle = [group.idle, group.idle_seconds / 3600] if known else [None, None]
    return [
        name, group.jobs, *cpu, _unused(group, "cpu"), *mem, *gpu, _unused(group, "gpu"), *idle, *gpu_mem,
        group.cluster,
    ]  # fmt: skip


def _shares(group: Group, resource: str) -> list[Cell]:
    use = group.uses[resource]
    return [use.jobs, use.share, use.spread.median if use.spread else None]


def _unused(group: Group, resource: str) -> float | None:
    use = group.uses[resource]
    return (use.reserved - use.used) / 3600 if use.jobs else None


def _notes(measured: Efficiencies) -> list[str]:
    overall = measured.overall
    if not overall.jobs:
        return [nouns.NONE_COUNTED]
    notes: list[str] = []
    for resource, whole in (("cpu", overall.jobs), ("mem", overall.jobs), ("gpu", overall.gpu_jobs)):
        if missing := whole - overall.uses[resource].jobs:
            notes.append(
                message(
                    "{what} leaves out {jobs} for which it is unknown", what=_WORDS[resource], jobs=nouns.jobs(missing)
                )
            )
    if told := overall.monitored:
        notes.append(
            message(
                "the GPU use of {jobs} was measured by Jobstats or adminkit's plugin, and that of the other jobs by"
                " Slurm's plugin",
                jobs=nouns.jobs(told),
            )
        )
    if overall.uses["gpu"].jobs:
        notes.append(idle_note())
    return notes


def _pictures(measured: Efficiencies, part: str) -> Pictures | None:
    panels: list[Panel] = []
    many = several(group.cluster for group in measured.groups)
    for resource in RESOURCES:
        groups = sorted(measured.groups, key=lambda group: group.uses[resource].used - group.uses[resource].reserved)
        boxes = [
            _box(group, label(group.value or UNKNOWN, group.cluster, many), resource)
            for group in groups
            if group.uses[resource].jobs
        ]
        if boxes:
            title = message("{what} by {part}", what=_WORDS[resource], part=nouns.part(part))
            panels.append(Boxes(title, message("used / reserved, per job"), boxes[:MOST_BOXES]))
    if not panels:
        return None
    best = "gpu" if measured.overall.uses["gpu"].jobs else "cpu"
    share = measured.overall.uses[best].share
    title = message("What jobs used")
    if share is not None:
        title = message("{share} of the {what} was used", share=percent(share), what=_WORDS[best])
    caption = message("The box holds the middle half of the jobs; the whiskers reach from p10 to p90.")
    return Pictures(title, caption, panels)


def idle_note() -> Message:
    return message("idle GPUs were busy for less than {share} of the time", share=percent(IDLE, 0))


def _box(group: Group, name: str, resource: str) -> Box:
    spread = group.uses[resource].spread
    assert spread is not None
    return Box(name, spread.p10, spread.p25, spread.median, spread.p75, spread.p90, spread.mean)


def _measure(trace: sqlite3.Connection, query: Query) -> Efficiencies:
    return query.measures.efficiencies(trace, query.filter, query.by)


SPEC: Final = ReportSpec(
    "efficiency",
    "How much jobs used of their CPUs, memory and GPUs. Also shows how much GPU memory they used.",
    "report efficiency --by user",
    _measure,
    efficiency_report,
    FIELDS,
    ("job_class", "queue", "user", "account", "cluster", "since", "until", "states", "min_elapsed"),
    parts=tuple(PARTS),
    pictures=True,
)
