"""Waits from the rollup by the month of the start instead of the runs: the same Wait, or None where it does not answer.

Counts, sums and means are those of the runs. A quantile is the middle of its bin, half of whose width is the error.
The rows of job are read of runs without an end, and of the few after a window that ends about now.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.rollup import EVERYTHING, Histogram, between, binned, few_after, month_around
from adminkit.stats.select import Filter, Selection, clusters, snapshot, span
from adminkit.stats.wait import QUANTILES, UNITS, Group, Wait, Waits, from_submission, ordered, started, still_waiting
from adminkit.trace.rollup import may_read
from adminkit.trace.rollup_hours import ODD
from adminkit.trace.rollup_row import DAY, LAST
from adminkit.trace.rollup_waits import BINS, ELIGIBLE_UNKNOWN, NO_MONTH, NOT_STARTED, STARTS, image
from adminkit.trace.wait_sql import CAUSES, LIMIT_UNKNOWN, OTHER

#: What a row may be about -> the part of the key.
_PARTS: Final = {
    "queue": "queue",
    "class": "class",
    "nodes": "node_bucket",
    "limit": "limit_bucket",
    "cells": "NULL",
}
#: Unit of a size -> its part of the key.
_BUCKETS: Final = {unit: f"{unit.removesuffix('s')}_bucket" for unit in UNITS}
#: The quantiles of Waits, in the order of QUANTILES.
_ERRORS: Final = ("median", "p75", "p90", "p95", "max")
#: The rules of a Filter that the key can answer.
_BY_KEY: Final = ("cluster", "queue", "class_unknown", "class")
#: The rules of started() over `left_out`.
_STARTED: Final = {"not_started": f"left_out <> {NOT_STARTED}", "eligible_unknown": f"left_out <> {ELIGIBLE_UNKNOWN}"}
_NAMES: Final = ", ".join((STARTS.at, *STARTS.keys, *STARTS.sums))
#: Runs that ended and started at :at or later, by the indexes of ends and of odd runs.
_LATER: Final = " UNION ALL ".join(
    f"SELECT * FROM run WHERE {which} AND start_time >= :at"
    for which in ("end_time >= :at", f"{ODD} AND end_time < :at")
)


def _rows(cut: bool) -> str:
    """SQL: every run: those that ended, summed up, and the others. With `cut` none that started at :at or later."""
    before = " AND coalesce(start_time, :at - 1) < :at" if cut else ""
    every = [STARTS.kept, f"SELECT {_NAMES} FROM ({image(f'(SELECT * FROM run WHERE end_time IS NULL{before})')})"]
    if cut:
        away = ", ".join((STARTS.at, *STARTS.keys, *(f"-{name}" for name in STARTS.sums)))
        every.append(f"SELECT {away} FROM ({image(f'({_LATER})')})")
    return " UNION ALL ".join(every)


class _Row(NamedTuple):
    """Runs that count, of one group and one key."""

    cluster: str
    value: Any
    gpu_bucket: int
    node_bucket: int
    cpu_bucket: int
    limit_bucket: int
    cause: int
    jobs: int
    wait: int
    below_zero: int
    untold: int
    bins: Mapping[int | None, int]


@dataclass(slots=True)
class _Jobs:
    """Jobs that waited only for the queue, and how many others there are."""

    jobs: int = 0
    apart: int = 0
    wait: int = 0
    bins: Counter[int | None] = field(default_factory=Counter)

    def add(self, row: _Row, mine: bool) -> None:
        if not mine:
            self.apart += row.jobs
            return
        self.jobs += row.jobs
        self.wait += row.wait
        self.bins.update(row.bins)

    def waits(self) -> Waits:
        """Their waits, with the errors of the quantiles."""
        if not self.jobs:
            return Waits()
        histogram = binned(self.bins, "wait")
        found = [_middle(histogram, share) for share in QUANTILES]
        median, p75, p90, p95, most = (value for value, _ in found)
        errors = dict(zip(_ERRORS, (error for _, error in found), strict=True))
        return Waits(self.jobs, median, p75, p90, p95, most, self.wait / self.jobs, errors)


def _middle(histogram: Histogram, share: float) -> tuple[float, float]:
    """The middle of a quantile's bin, and half its width; of the bin without an end its beginning, and infinity."""
    found = histogram.quantile(share)
    assert found is not None
    low, high = found[0] or 0, found[1]
    return (low, math.inf) if high is None else ((low + high) / 2, (high - low) / 2)


def wait(db: sqlite3.Connection, chosen: Filter, now: int, part: str = "queue") -> Wait | None:
    """stats.wait.wait(), with the errors of quantiles. None too where the window does not begin and end with a month of
    UTC; after its end there may be few runs in its last month.
    """
    selection = started(chosen)
    if part not in _PARTS or not set(selection.rules) <= {*_BY_KEY, *_STARTED} or not may_read(db):
        return None
    with snapshot(db):
        if not _whole_months(db, chosen):
            return None
        rows, excluded = _read(db, chosen, selection, part)
        still = still_waiting(db, selection, now)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
        without = from_submission(db, names)
    groups: dict[tuple[str, Any], _Jobs] = {}
    causes: dict[int, _Jobs] = {}
    overall = _Jobs()
    for row in rows:
        mine = row.cause == 0
        overall.add(row, mine)
        groups.setdefault((row.cluster, row.value), _Jobs()).add(row, mine)
        if not mine:
            causes.setdefault(row.cause, _Jobs()).add(row, True)
    cells, unplaced = _cells(rows)
    found = [Group(value, cluster, one.waits(), one.apart) for (cluster, value), one in groups.items()]
    return Wait(
        [one for each in cells.values() for one in each] if part == "cells" else ordered(found, part),
        Group(None, None, overall.waits(), overall.apart),
        {name: causes[k].waits() for k, name in enumerate([*CAUSES, OTHER]) if k in causes},
        cells,
        unplaced,
        sum(row.below_zero for row in rows),
        sum(row.untold for row in rows),
        *still,
        excluded,
        names,
        ends,
        without,
    )


def _begins(at: int) -> bool:
    return 0 <= at <= LAST - 31 * DAY and month_around(at)[0] == at


def _whole_months(db: sqlite3.Connection, chosen: Filter) -> bool:
    """Whether the window has whole months, or all of its last one but few runs."""
    since, until = chosen.since, chosen.until
    if since is not None and not _begins(since):
        return False
    return until is None or _begins(until) or (0 <= until <= LAST - 31 * DAY and few_after(db, until))


def _read(
    db: sqlite3.Connection, chosen: Filter, selection: Selection, part: str
) -> tuple[Sequence[_Row], dict[str, int]]:
    """The runs that count, and how many each rule left out."""
    everywhen, until = selection.within == "TRUE", chosen.until
    cut = until is not None and not _begins(until)
    upto = month_around(until)[1] if until is not None and cut else until
    within = "TRUE" if everywhen else f"month <> {NO_MONTH} AND {between('month', chosen.since, upto)}"
    selection = replace(selection, within=within, rules={**selection.rules, **_STARTED})
    buckets = ", ".join(_BUCKETS.values())
    sums = ", ".join(f"sum({one})" for one in ("jobs", "wait", "below_zero", "untold * jobs", *BINS.values()))
    rows = db.execute(
        f"SELECT {selection.reason} AS rule, cluster, {_PARTS[part]}, {buckets}, limit_bucket, cause, {sums}"
        f" FROM ({_rows(cut)}) WHERE {within} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8",
        {**selection.params, "at": until},
    )
    excluded = dict.fromkeys(selection.rules, 0)
    found: list[_Row] = []
    jobs, bins = (_Row._fields.index(name) for name in ("jobs", "bins"))
    for rule, *values in rows:
        if rule:
            excluded[list(selection.rules)[rule - 1]] += values[jobs]
        elif values[jobs]:
            found.append(_Row._make([*values[:bins], dict(zip(BINS, values[bins:], strict=True))]))
    if not everywhen:
        everything = sum(count for (count,) in db.execute(EVERYTHING))
        excluded = {"window": everything - sum(row.jobs for row in found) - sum(excluded.values()), **excluded}
    return found, excluded


def _cells(rows: Iterable[_Row]) -> tuple[dict[str, list[Group]], int]:
    """The heat maps as stats.wait has them, and how many jobs no cell has."""
    rows = list(rows)
    other = "nodes" if any(not row.gpu_bucket and row.node_bucket > 1 for row in rows) else "cpus"
    found: dict[str, dict[tuple[int, int], _Jobs]] = {"gpus": {}, other: {}}
    unplaced = 0
    for row in rows:
        unit = "gpus" if row.gpu_bucket else other
        size = getattr(row, _BUCKETS[unit])
        if size and row.limit_bucket < LIMIT_UNKNOWN:
            found[unit].setdefault((size, row.limit_bucket), _Jobs()).add(row, row.cause == 0)
        else:
            unplaced += row.jobs
    return {
        unit: [Group((unit, size), None, one.waits(), one.apart, limit) for (size, limit), one in sorted(cells.items())]
        for unit, cells in found.items()
        if cells
    }, unplaced
