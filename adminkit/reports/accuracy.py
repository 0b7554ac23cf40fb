"""The accuracy of time limits as a Report: the study's Table 3, then what an operator asks next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

from adminkit.errors import UsageError
from adminkit.messages import joined, message
from adminkit.render.format import percent, some
from adminkit.render.report import Box, Boxes, Cell, Curves, Field, Line, Panel, Pictures, Report
from adminkit.reports import nouns
from adminkit.reports.header import header, label, several
from adminkit.reports.spec import FILTERS, Option, Query, ReportSpec
from adminkit.sqlite import sqlite3
from adminkit.stats.accuracy import Accuracy, Curve, QueueAccuracy, Wanted, accuracy
from adminkit.units import parse_duration, show_short

#: Shown as the queue of jobs whose queue is unknown.
NO_QUEUE: Final = message("(no queue)")
FIELDS: Final = (
    Field("queue", help="the queue (Slurm's partition)"),
    Field("jobs", "count", "jobs that count"),
    Field("min", "ratio", "the smallest elapsed / limit"),
    Field("max", "ratio", "the largest elapsed / limit"),
    Field("mean", "ratio", "the mean of elapsed / limit"),
    Field("std", "ratio", "the standard deviation of elapsed / limit (n-1)"),
    Field("median", "ratio", "half of the jobs are at or below this value"),
    Field("p10", "ratio", "a tenth of the jobs are at or below this value"),
    Field("p25", "ratio"),
    Field("p75", "ratio"),
    Field("p90", "ratio"),
    Field("used_fraction", "ratio", "the sum of elapsed / the sum of limits: long jobs weigh more than in the mean"),
    Field("share_maximum", "share", "the share of jobs that asked for the queue's maximum or more"),
    Field("share_default", "share", "the share of jobs with the queue's default limit"),
    Field("over_limit", "count", "jobs that ran longer than their limit (elapsed / limit above 1)"),
    Field("gpu_hours_unused", "hours", "GPU-hours that the jobs reserved and did not use"),
    Field("cpu_hours_unused", "hours", "CPU-hours that the jobs reserved and did not use"),
    Field("cluster", help="the cluster of the queue", quiet=True),
)
ALL: Final = "(all)"
MEAN_OF_QUEUES: Final = "(mean of queues)"
#: A row for each point of a queue's cumulative histograms.
POINT_FIELDS: Final = (
    Field("queue"),
    Field("line", help="ran: of elapsed; asked: of the limit"),
    Field("seconds", "duration"),
    Field("share", "share", "jobs that ran for, or asked for, this time or less"),
    Field("cluster", quiet=True),
)
#: Means of elapsed / limit elsewhere; the archive's by this report, of jobs of more than 60 s.
YARDSTICKS: Final = message(
    "for comparison: the mean of queues was 0.269 in the study (AAIC 2017, single-GPU jobs); the mean of jobs about 0.3"
    " on Kraken (2012), 0.516 on KTH-SP2 (1996), 0.141 on RICC (2010)"
)
#: The most points of --points.
MOST_POINTS: Final = 24
#: The most panels of a picture: those of the queues with the most jobs.
MOST_PANELS: Final = 12
LONGEST_NAME: Final = 32


def accuracy_report(measured: Accuracy, query: Query) -> Report:
    """`measured` under the header that every output begins with."""
    everything = measured.overall
    meta = header("Accuracy of time limits: elapsed / limit", measured, query, everything.jobs, _notes(measured))
    points = _points(query)
    if query.by == "point":
        rows = [row for queue in measured.queues for row in _point_rows(queue, queue.queue, points)]
        return Report(meta, POINT_FIELDS, rows, _point_rows(everything, ALL, points), _pictures(measured))
    fields = (*FIELDS[:-1], *(_within(*one) for one in product(("ran", "asked"), points)), FIELDS[-1])
    mean_row: list[Cell] = [None] * len(fields)
    mean_row[0], mean_row[4] = MEAN_OF_QUEUES, measured.mean_of_queues
    return Report(
        meta,
        fields,
        [_row(queue, queue.queue) for queue in measured.queues],
        [_row(everything, ALL), mean_row],
        _pictures(measured),
        {"curves": [_curve(queue) for queue in measured.queues]} if query.pictures else {},
    )


def _points(query: Query) -> list[int]:
    """Seconds, as --points has them."""
    typed = query.own.get("points")
    words = [] if typed is None else str(typed).split(",")
    seconds = list(dict.fromkeys(parse_duration(word) for word in words))
    if len(seconds) > MOST_POINTS:
        raise UsageError(f"--points has {len(seconds)} points", f"name at most {MOST_POINTS}")
    return seconds


def _within(line: str, at: int) -> Field:
    """The column for one of --points: ran_1h, asked_90m."""
    size, unit = next((size, unit) for size, unit in ((3600, "h"), (60, "m"), (1, "s")) if at % size == 0)
    said = "ran" if line == "ran" else "asked for"
    return Field(f"{line}_{at // size}{unit}", "share", f"jobs that {said} this time or less")


def _point_rows(queue: QueueAccuracy, name: str | None, points: Sequence[int]) -> list[list[Cell]]:
    curves = queue.elapsed_curve, queue.req_limit_curve
    shares: list[tuple[Sequence[int], Sequence[float]]] = [(one.seconds, one.share) for one in curves]
    if points:
        shares = [(points, queue.ran_within), (points, queue.asked_within)]
    return [
        [name, line, seconds, share, queue.cluster]
        for line, steps in zip(("ran", "asked"), shares, strict=True)
        for seconds, share in zip(*steps, strict=True)
    ]


def _curve(queue: QueueAccuracy) -> dict[str, Any]:
    """The cumulative histograms of a queue as plain lists."""
    lines = {"ran": queue.elapsed_curve, "asked": queue.req_limit_curve}
    return {
        "cluster": queue.cluster,
        "queue": queue.queue,
        "default_limit": queue.default_limit,
        "max_limit": queue.max_limit,
        **{name: {"seconds": list(curve.seconds), "share": list(curve.share)} for name, curve in lines.items()},
    }


def _row(queue: QueueAccuracy, name: str | None) -> list[Cell]:
    s = queue.spread
    hours = [
        None if unused is None else unused / 3600 for unused in (queue.gpu_seconds_unused, queue.cpu_seconds_unused)
    ]
    return [
        name, queue.jobs, s.min, s.max, s.mean, s.std, s.median, s.p10, s.p25, s.p75, s.p90, queue.used_fraction,
        queue.share_maximum, queue.share_default, queue.over_limit, *hours, *queue.ran_within, *queue.asked_within,
        queue.cluster,
    ]  # fmt: skip


def _notes(measured: Accuracy) -> list[str]:
    jobs = measured.overall.jobs
    if not jobs:
        return [nouns.NONE_MEASURED]
    notes: list[str] = []
    if over := measured.overall.over_limit:
        notes.append(
            message(
                "elapsed / limit is above 1 for {jobs} that ran longer than asked; these values are not capped",
                jobs=nouns.jobs(over),
            )
        )
    unlimited = [queue.queue or NO_QUEUE for queue in measured.queues if not queue.max_limit]
    if unlimited:
        notes.append(
            message("share_maximum is empty where the trace has no maximum limit: {queues}", queues=some(unlimited))
        )
    if measured.source_unknown and measured.overall.share_default is not None:
        notes.append(
            message(
                "for {jobs}, it is not known who chose the limit; share_default counts those whose limit is"
                " their queue's default",
                jobs=nouns.jobs(measured.source_unknown),
            )
        )
    for resource, unknown in (("gpu", measured.gpus_unknown), ("cpu", measured.cpus_unknown)):
        if unknown:
            notes.append(
                message(
                    "{column} leaves out {jobs} with unknown {what}",
                    column=f"{resource}_hours_unused",
                    jobs=nouns.jobs(unknown),
                    what=f"{resource.upper()}s",
                )
            )
    notes.append(YARDSTICKS)
    return notes


def _pictures(measured: Accuracy) -> Pictures | None:
    median = measured.overall.spread.median
    if median is None or not measured.overall.elapsed_curve.seconds:
        return None
    shown = measured.queues[:MOST_PANELS]
    many = several(queue.cluster for queue in measured.queues)
    named = [(_name(queue, many), queue) for queue in shown]
    panels: list[Panel] = [_curves(name, queue) for name, queue in named]
    panels.append(_boxes(named))
    left_out = len(measured.queues) - len(shown)
    caption = message(
        "Cumulative histograms: for each time, the share of jobs that ran for that time or less, and the share that"
        " asked for that time or less. Box plots: the"
        " box"
        " holds the middle half of the jobs, the whiskers reach from the 10th to the 90th percentile, the line is the"
        " median, the diamond the mean."
    )
    if left_out > 0:
        rest = message(
            "The chart shows the {shown} queues with the most jobs, and leaves out {left_out}.",
            shown=MOST_PANELS,
            left_out=left_out,
        )
        caption = joined(" ", (caption, rest))
    title = message("Half of the jobs use {share} of their time limit or less", share=percent(median))
    return Pictures(title, caption, panels)


def _name(queue: QueueAccuracy, many: bool) -> str:
    name = label(queue.queue or NO_QUEUE, queue.cluster, many)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


def _curves(name: str, queue: QueueAccuracy) -> Curves:
    ran, asked = _half(queue.elapsed_curve), _half(queue.req_limit_curve)
    marks = [(message("default"), queue.default_limit), (message("maximum"), queue.max_limit)]
    return Curves(
        joined(": ", (name, nouns.jobs(queue.jobs))),
        message(
            "half run for at most {ran}, half ask for at most {asked}", ran=show_short(ran), asked=show_short(asked)
        ),
        (
            Line(message("ran"), queue.elapsed_curve.seconds, queue.elapsed_curve.share),
            Line(message("asked"), queue.req_limit_curve.seconds, queue.req_limit_curve.share),
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
    title = message("Queue means: {low} to {high} of the limit", low=low, high=high)
    if low == high:
        title = message("On average jobs use {share} of their limit", share=low)
    return Boxes(title, message("elapsed / limit"), boxes)


def _wanted(query: Query) -> Wanted:
    points = _points(query)
    return Wanted(query.pictures or (query.by == "point" and not points), points)


def _measure(trace: sqlite3.Connection, query: Query) -> Accuracy:
    return accuracy(trace, query.filter, query.now, _wanted(query))


SPEC: Final = ReportSpec(
    "accuracy",
    "The accuracy of time limits, by queue: elapsed / limit.",
    "report accuracy --queue gq --plot",
    _measure,
    accuracy_report,
    FIELDS,
    FILTERS,
    parts=("queue", "point"),
    options=(
        Option(
            "points",
            ("--points",),
            "Also show, for each of these times, what share of jobs ran for at most that time, and what share asked"
            " for at most that time.",
            "1h,70h",
        ),
    ),
    pictures=True,
)
