"""The accuracy of time limits as a Report: the study's Table 3, then what an operator asks next."""

from __future__ import annotations

import sqlite3
from typing import Final

from adminkit.quote import clean
from adminkit.render.format import number, percent, plural, some
from adminkit.render.report import Box, Boxes, Cell, Curves, Field, Line, Meta, Panel, Pictures, Report
from adminkit.reports.spec import FILTERS, Query, ReportSpec
from adminkit.stats.accuracy import Accuracy, Curve, QueueAccuracy, accuracy
from adminkit.stats.select import Filter
from adminkit.units import show_short

#: Shown as the queue of jobs whose queue is unknown.
NO_QUEUE: Final = "(no queue)"
FIELDS: Final = (
    Field("queue", help="the queue (Slurm's partition)"),
    Field("jobs", "count", "jobs that count"),
    Field("min", "ratio", "least elapsed / limit"),
    Field("max", "ratio", "greatest elapsed / limit"),
    Field("mean", "ratio", "mean of elapsed / limit"),
    Field("std", "ratio", "its standard deviation, n-1"),
    Field("median", "ratio", "half of the jobs are at or below"),
    Field("p10", "ratio", "a tenth of the jobs is at or below"),
    Field("p25", "ratio"),
    Field("p75", "ratio"),
    Field("p90", "ratio"),
    Field("share_maximum", "share", "jobs that asked for the queue's maximum or more"),
    Field("share_default", "share", "jobs that took the queue's default"),
    Field("over_limit", "count", "jobs that ran longer than asked (elapsed / limit above 1)"),
    Field("gpu_hours_unused", "hours", "GPU-hours reserved and not used"),
    Field("cpu_hours_unused", "hours", "CPU-hours reserved and not used"),
    Field("cluster", help="the cluster of the queue", quiet=True),
)
ALL: Final = "(all)"
MEAN_OF_QUEUES: Final = "(mean of queues)"
#: The most panels of a picture: those of the queues with the most jobs.
MOST_PANELS: Final = 12
LONGEST_NAME: Final = 32


def accuracy_report(measured: Accuracy, filter: Filter, database: str) -> Report:
    """`measured` under the header that every output begins with."""
    everything = measured.overall
    rows = [_row(queue, queue.queue) for queue in measured.queues]
    mean_row: list[Cell] = [None] * len(FIELDS)
    mean_row[0], mean_row[4] = MEAN_OF_QUEUES, measured.mean_of_queues
    meta = Meta(
        "Accuracy of time limits: elapsed / limit",
        database,
        (filter.since, filter.until),
        measured.clusters,
        filter.described(),
        everything.jobs,
        measured.excluded,
        _notes(measured),
        measured.span,
    )
    return Report(meta, FIELDS, rows, [_row(everything, ALL), mean_row], _pictures(measured))


def _row(queue: QueueAccuracy, name: str | None) -> list[Cell]:
    s = queue.spread
    hours = [
        None if unused is None else unused / 3600 for unused in (queue.gpu_seconds_unused, queue.cpu_seconds_unused)
    ]
    return [
        name, queue.jobs, s.min, s.max, s.mean, s.std, s.median, s.p10, s.p25, s.p75, s.p90,
        queue.share_maximum, queue.share_default, queue.over_limit, *hours, queue.cluster,
    ]  # fmt: skip


def _notes(measured: Accuracy) -> list[str]:
    jobs = measured.overall.jobs
    if not jobs:
        return ["no job is left to measure; the filters above say why"]
    notes = []
    if over := measured.overall.over_limit:
        notes.append(f"elapsed / limit is above 1 for {plural(over, 'job')} that ran longer than asked; kept as it is")
    unlimited = [queue.queue or NO_QUEUE for queue in measured.queues if not queue.max_limit]
    if unlimited:
        notes.append(f"share_maximum is empty where the trace knows no maximum limit: {some(unlimited)}")
    if measured.source_unknown and measured.overall.share_default is not None:
        notes.append(
            f"who chose the limit is unknown for {plural(measured.source_unknown, 'job')}; of these, share_default"
            " counts those whose limit is their queue's default"
        )
    for resource, unknown in (("gpu", measured.gpus_unknown), ("cpu", measured.cpus_unknown)):
        if unknown:
            notes.append(f"{resource}_hours_unused leaves out {plural(unknown, 'job')} of unknown {resource.upper()}s")
    return notes


def _pictures(measured: Accuracy) -> Pictures | None:
    median = measured.overall.spread.median
    if median is None or not measured.overall.elapsed_curve.seconds:
        return None
    shown = measured.queues[:MOST_PANELS]
    several = len({queue.cluster for queue in measured.queues}) > 1
    named = [(_name(queue, several), queue) for queue in shown]
    panels: list[Panel] = [_curves(name, queue) for name, queue in named]
    panels.append(_boxes(named))
    left_out = len(measured.queues) - len(shown)
    return Pictures(
        f"Half of the jobs use {percent(median)} of their time limit or less",
        "Cumulative histograms: the share of jobs that ran, and that asked, at most so long. Box plots: the box holds"
        " the middle half of the jobs, the whiskers reach from the 10th to the 90th percentile, the line is the median,"
        " the diamond the mean."
        + (f" The {MOST_PANELS} queues with the most jobs are shown, {left_out} are not." if left_out > 0 else ""),
        panels,
    )


def _name(queue: QueueAccuracy, several: bool) -> str:
    name = queue.queue or NO_QUEUE
    name = clean(f"{queue.cluster}: {name}" if several else name)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


def _curves(name: str, queue: QueueAccuracy) -> Curves:
    ran, asked = _half(queue.elapsed_curve), _half(queue.req_limit_curve)
    marks = [("default", queue.default_limit), ("maximum", queue.max_limit)]
    return Curves(
        f"{name}: {number(queue.jobs)} {'job' if queue.jobs == 1 else 'jobs'}",
        f"half run at most {show_short(ran)}, half ask at most {show_short(asked)}",
        (
            Line("ran", queue.elapsed_curve.seconds, queue.elapsed_curve.share),
            Line("asked", queue.req_limit_curve.seconds, queue.req_limit_curve.share),
        ),
        [(label, float(limit)) for label, limit in marks if limit],
    )


def _half(curve: Curve) -> int:
    """The seconds that half of the jobs do not exceed."""
    return next(seconds for seconds, share in zip(curve.seconds, curve.share, strict=True) if share >= 0.5)


def _boxes(named: list[tuple[str, QueueAccuracy]]) -> Boxes:
    boxes, means = [], []
    for name, queue in named:
        s = queue.spread
        assert s.p10 is not None and s.p25 is not None and s.median is not None
        assert s.p75 is not None and s.p90 is not None and s.mean is not None
        boxes.append(Box(name, s.p10, s.p25, s.median, s.p75, s.p90, s.mean))
        means.append(s.mean)
    low, high = percent(min(means)), percent(max(means))
    title = f"On average jobs use {low} of their limit" if low == high else f"Queue means: {low} to {high} of the limit"
    return Boxes(title, "elapsed / limit", boxes)


def _measure(trace: sqlite3.Connection, query: Query) -> Accuracy:
    return accuracy(trace, query.filter, query.now, curves=query.pictures)


def _view(measured: Accuracy, query: Query) -> Report:
    return accuracy_report(measured, query.filter, query.database)


SPEC: Final = ReportSpec(
    "accuracy",
    "The accuracy of time limits, by queue: elapsed / limit.",
    _measure,
    _view,
    FIELDS,
    FILTERS,
    pictures=True,
)
