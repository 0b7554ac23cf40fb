"""What was reserved or there and nobody could use, as a Report: by limits, by shape, in gaps before a start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.messages import message
from adminkit.quote import clean
from adminkit.render.report import Bar, Bars, Cell, Field, Panel, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import ends_early, header
from adminkit.reports.spec import Query, ReportSpec
from adminkit.stats.waste import Waste, Wasted, waste
from adminkit.stats.waste_search import LOOKS

FIELDS: Final = (
    Field("queue"),
    Field("kind", help="limits, gpus_without_cpus, gpus_without_memory, cpus_without_gpus, gaps"),
    Field(
        "jobs",
        "count",
        "for limits, runs shorter than their limit; for gaps, jobs that would have fitted; unknown for other kinds",
    ),
    Field("gpu_hours", "hours", "GPU-hours of this kind; unknown if the kind has none"),
    Field("cpu_hours", "hours", "CPU-hours of this kind; unknown if the kind has none"),
    Field(
        "node_hours",
        "hours",
        "for limits, node-hours that were reserved but not used; for the three kinds with `without`, hours that nodes "
        "spent in that state; empty for gaps",
    ),
)
ALL: Final = "(all)"
#: Bars show the largest only.
MOST_BARS: Final = 12
_STRANDED: Final = {
    "gpus_without_cpus": message("GPUs without free CPUs"),
    "gpus_without_memory": message("GPUs without free memory"),
    "gaps": message("gaps"),
}


def waste_report(measured: Wasted, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    meta = header("Waste", measured, query, measured.jobs, _notes(measured, query), unheeded=("elapsed",))
    rows = [_row(one.queue, one) for one in measured.rows]
    totals = [_row(ALL, one) for one in measured.totals] if measured.rows else []
    return Report(meta, FIELDS, rows, totals, _pictures(measured))


def _row(queue: str | None, one: Waste) -> list[Cell]:
    return [queue, one.kind, one.jobs, _hours(one.gpu), _hours(one.cpu), _hours(one.node)]


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600


def _notes(measured: Wasted, query: Query) -> list[str]:
    if not measured.ran and not measured.jobs:
        return [nouns.NOTHING_RAN]
    notes = ends_early(measured.until, query) + [
        message("limits leave out {runs} with an unknown number of {what}", runs=nouns.runs(runs), what=name)
        for name, runs in (("GPUs", measured.unknown["gpu"]), ("CPUs", measured.unknown["cpu"]))
        if runs
    ]
    if not measured.nodes or measured.homeless == measured.ran:
        return [*notes, message("the trace does not record which nodes runs had, so only limits are known")]
    if measured.homeless:
        notes.append(
            message(
                "the nodes of {runs} are not known: what they held counts as free, so every figure except limits is"
                " too high",
                runs=nouns.runs(measured.homeless),
            )
        )
    if measured.unclear:
        notes.append(
            message(
                "{hours:,} node-hours are left out, because it is not known how much of these nodes a run held",
                hours=round(measured.unclear / 3600, 1),
            )
        )
    return [
        *notes,
        message("runs on several nodes are assumed to hold the same on each"),
        message(
            "gaps are a bound, not a simulation: only single-node jobs are considered, and {looks} gaps are tried for"
            " each job; `adminkit simulate` shows what shorter limits would do",
            looks=LOOKS,
        ),
    ]


def _pictures(measured: Wasted) -> Pictures | None:
    limits = next((one for one in measured.totals if one.kind == "limits"), None)
    panels: list[Panel] = []
    if limits is not None and limits.gpu:
        rows = [one for one in measured.rows if one.kind == "limits" and one.gpu]
        bars = _bars([(clean(one.queue or "-"), one.gpu or 0.0) for one in rows], limits.gpu)
        panels.append(Bars(message("Reserved and not used"), message("GPU-hours, share of all queues'"), bars))
    free = [(_STRANDED[one.kind], one.gpu) for one in measured.totals if one.kind in _STRANDED and one.gpu]
    if free:
        whole = sum(seconds for _, seconds in free)
        panels.append(Bars(message("Free, but unusable"), message("GPU-hours, share of these"), _bars(free, whole)))
    if not panels or limits is None:
        return None
    title = message("{hours:,} GPU-hours were reserved and not used", hours=round((limits.gpu or 0.0) / 3600))
    return Pictures(title, "", panels)


def _bars(rows: Sequence[tuple[str, float]], whole: float) -> list[Bar]:
    largest = sorted(rows, key=lambda row: -row[1])[:MOST_BARS]
    return [Bar(name, round(seconds / 3600), seconds / whole) for name, seconds in largest]


SPEC: Final = ReportSpec(
    "waste",
    "What was reserved but not used, or free but not usable. Shows the hours lost to long limits, to job shapes and to"
    " gaps.",
    "report waste --since 30d",
    lambda trace, query: waste(trace, query.filter, query.now),
    waste_report,
    FIELDS,
    ("queue", "since", "until"),
    pictures=True,
    every_end=True,
    one_cluster=True,
    operators=("only operators may see what all users together left unused", "adminkit my shows your own limits"),
)
