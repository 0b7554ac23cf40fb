"""What jobs of a limit have waited, as a Report: a row for each queue, with the backtest beside it."""

from __future__ import annotations

from typing import Final

from adminkit.render.format import plural
from adminkit.render.report import Cell, Field, Report
from adminkit.reports.header import header
from adminkit.reports.spec import Query
from adminkit.stats.bootstrap import LEVEL
from adminkit.stats.wait import size_bucket
from adminkit.stats.wait_given_limit import MIN_DAYS, MIN_JOBS, Given, GivenLimit
from adminkit.trace.wait_sql import LIMITS, LONGER, SIZES
from adminkit.units import show_short

FIELDS: Final = (
    Field("queue"),
    Field("jobs", "count", "jobs with such a limit, and such a size, that waited only for the queue"),
    Field("days", "count", "days on which they became eligible"),
    Field("median", "duration", "median of their waits; empty, like the next three, where there are too few of them"),
    Field("median_low", "duration", "of 20 further periods of the same length, 19 should have a median from here"),
    Field("median_high", "duration", "… and to here"),
    Field("p90", "duration", "90th percentile of their waits"),
    Field("queue_median", "duration", "median wait of all jobs of the queue, whatever their limit and size"),
    Field("tried", "count", "backtest: medians of a size and a limit that were predicted"),
    Field("held", "count", "of these, medians that were within the interval"),
    Field("error", "duration", "mean distance of the prediction from the median"),
    Field("queue_error", "duration", "the same for the queue's median as the prediction"),
    Field("cluster", quiet=True),
)
#: Answers in the header, at most: the queues with the most jobs.
MOST: Final = 5


def given_report(measured: GivenLimit, query: Query, gpus: int | None) -> Report:
    """`measured` under the header that every output begins with. `gpus` is what was asked for."""
    asked = {"limit": _between(measured.bucket)}
    if gpus is not None:
        asked["GPUs"] = _sizes(gpus)
    meta = header(
        "Waits of jobs with such a limit: from Eligible to the start",
        measured,
        query,
        measured.jobs,
        _notes(measured),
        unheeded=("elapsed", "states"),
        heeded=asked,
        answers=[_answer(one) for one in measured.queues[:MOST] if one.waits.jobs],
        moment="started",
    )
    return Report(meta, FIELDS, [_row(one) for one in measured.queues])


def _between(bucket: int) -> str:
    if bucket == LONGER:
        return f"over {show_short(LIMITS[-1])}"
    low = f"over {show_short(LIMITS[bucket - 1])}, " if bucket else ""
    return f"{low}up to {show_short(LIMITS[bucket])}"


def _sizes(gpus: int) -> str:
    bucket = size_bucket(gpus)
    if bucket > len(SIZES):
        return f"over {SIZES[-1]}"
    return f"{SIZES[bucket - 2] + 1} to {SIZES[bucket - 1]}" if bucket > 2 else str(gpus)


def _row(one: Given) -> list[Cell]:
    waits, told = one.waits, one.expected
    known = (told.median, told.low, told.high, waits.p90) if told else (None,) * 4
    return [
        one.queue, waits.jobs, one.days, *map(_whole, known), _whole(one.of_queue.median), one.tried,
        one.held if one.tried else None, _whole(one.error), _whole(one.queue_error), one.cluster,
    ]  # fmt: skip


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


def _answer(one: Given) -> str:
    name, told = one.queue or "(no queue)", one.expected
    if told is None or one.waits.p90 is None:
        days = f"{plural(one.waits.jobs, 'job')} on {plural(one.days, 'day')}"
        return f"{name}: not known: {days}; at least {MIN_JOBS} jobs on {MIN_DAYS} days are needed"
    return (
        f"{name}: half of {plural(one.waits.jobs, 'job')} waited {show_short(told.median)} or less, 90 %"
        f" {show_short(one.waits.p90)}; over another period of the same length, expect a median from"
        f" {show_short(told.low)} to {show_short(told.high)}"
    )


def _notes(measured: GivenLimit) -> list[str]:
    tried, held = (sum(getattr(one, name) for one in measured.queues) for name in ("tried", "held"))
    if not measured.jobs:
        return ["no job is left to measure; the lines above say why"]
    notes = [
        "jobs with another limit differ in other ways too: this comparison does not prove that the limit caused a"
        " difference"
    ]
    if not tried:
        return [*notes, "no backtest: too few jobs in both halves of the period"]
    error, naive = (
        sum((getattr(one, name) or 0.0) * one.tried for one in measured.queues) / tried
        for name in ("error", "queue_error")
    )
    return [
        *notes,
        f"backtest (second half of the period predicted from the first): {held} of {plural(tried, 'median')}, one for"
        f" each size and limit, were in the interval ({LEVEL * 100:.0f} % expected); mean error {show_short(error)}, or"
        f" {show_short(naive)} with the queue's median as the prediction",
    ]
