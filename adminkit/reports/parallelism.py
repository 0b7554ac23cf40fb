"""How parallel jobs are, as a Report: the study's Figure 1."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

from adminkit.render.format import number, percent, plural
from adminkit.render.report import Bar, Bars, Cell, Field, Meta, Panel, Pictures, Report
from adminkit.reports.spec import Query, ReportSpec
from adminkit.stats.parallelism import Parallelism, parallelism
from adminkit.stats.select import Filter

FIELDS: Final = (
    Field("part", help="class: all jobs by class; gpus: multi-GPU jobs by GPUs; nodes: multi-node jobs by nodes"),
    Field("value", help="the class, or the number of GPUs or nodes"),
    Field("jobs", "count", "jobs that count"),
    Field("share", "share", "share of the part's jobs"),
)
UNKNOWN: Final = "unknown"
#: Bars show the most frequent values only.
MOST_BARS: Final = 12


def parallelism_report(measured: Parallelism, filter: Filter, database: str) -> Report:
    """`measured` under the header that every output begins with."""
    rows: list[list[Cell]] = []
    for part, counts in (
        ("class", [(kind or UNKNOWN, jobs) for kind, jobs in measured.classes.items()]),
        ("gpus", [(str(value), jobs) for value, jobs in measured.gpus.items()]),
        ("nodes", [(str(value), jobs) for value, jobs in measured.nodes.items()]),
    ):
        whole = sum(jobs for _, jobs in counts)
        rows += [[part, value, jobs, jobs / whole if whole else None] for value, jobs in counts]
    notes = []
    if not measured.jobs:
        notes.append("no job is left to count; the filters above say why")
    if measured.het_jobs:
        components = plural(measured.het_components, "component")
        notes.append(f"{components} of {plural(measured.het_jobs, 'het job')} are counted as whole jobs")
    if unknown := measured.classes.get(None):
        notes.append(f"{plural(unknown, 'job')} of unknown GPUs are in no class")
    meta = Meta(
        "Parallelism of jobs",
        database,
        (filter.since, filter.until),
        measured.clusters,
        filter.described(),
        measured.jobs,
        measured.excluded,
        notes,
        measured.span,
    )
    total: list[Cell] = ["class", "(all)", measured.jobs, 1.0 if measured.jobs else None]
    return Report(meta, FIELDS, rows, [total], _pictures(measured))


def _pictures(measured: Parallelism) -> Pictures | None:
    if not measured.jobs:
        return None
    kind, most = max(measured.classes.items(), key=lambda item: item[1])
    panels: list[Panel] = [_bars("All jobs by class", [(kind or UNKNOWN, n) for kind, n in measured.classes.items()])]
    if measured.gpus:
        panels.append(_bars("Multi-GPU jobs by GPUs", [(f"{value} GPUs", n) for value, n in measured.gpus.items()]))
    if measured.nodes:
        panels.append(_bars("Multi-node jobs by nodes", [(f"{value} nodes", n) for value, n in measured.nodes.items()]))
    return Pictures(f"{percent(most / measured.jobs)} of the jobs are {kind or 'unknown'} jobs", "", panels)


def _bars(title: str, counts: Iterable[tuple[str, int]]) -> Bars:
    """One panel: the most frequent values in the order given, the others as one bar."""
    counts = list(counts)
    whole = sum(jobs for _, jobs in counts)
    often = sorted((jobs for _, jobs in counts), reverse=True)[:MOST_BARS]
    kept: list[tuple[str, int]] = []
    for name, jobs in counts:
        if jobs in often:
            often.remove(jobs)
            kept.append((name, jobs))
    if rest := whole - sum(jobs for _, jobs in kept):
        kept.append(("others", rest))
    return Bars(title, f"{number(whole)} jobs", [Bar(name, jobs, jobs / whole) for name, jobs in kept])


def _measure(trace: sqlite3.Connection, query: Query) -> Parallelism:
    return parallelism(trace, query.filter)


def _view(measured: Parallelism, query: Query) -> Report:
    return parallelism_report(measured, query.filter, query.database)


SPEC: Final = ReportSpec(
    "parallelism",
    "How many jobs use no GPU, one, several, or several nodes.",
    _measure,
    _view,
    FIELDS,
    ("queue", "user", "account", "cluster", "since", "until", "states", "min_elapsed"),
    pictures=True,
)
