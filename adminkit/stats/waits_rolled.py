"""Waits from the rollup by the month of the start instead of the runs: the same Wait, or None where it does not answer.

Counts, sums and means are those of the runs. A quantile is the middle of its bin, half of whose width is the error.
The rows of job are read of runs without an end.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from adminkit.stats.rollup import EVERYTHING, Histogram, between, binned, month_around
from adminkit.stats.select import Filter, Selection, clusters, snapshot, span
from adminkit.stats.wait import QUANTILES, UNITS, Group, Wait, Waits, ordered, started, still_waiting
from adminkit.trace.rollup import is_kept
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
#: Every run: those that ended, summed up, and the others.
_ROWS: Final = f"{STARTS.kept} UNION ALL SELECT {_NAMES} FROM ({image('(SELECT * FROM run WHERE end_time IS NULL)')})"
#: Whether a run started at a moment or later. One that ended before it is odd. Indexes have all of these.
_LATER: Final = " UNION ALL ".join(
    f"SELECT 1 FROM run WHERE {which} AND start_time >= :at" for which in ("end_time >= :at", "end_time IS NULL", ODD)
)


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
    """Jobs that waited for the queue alone, and how many others there are."""

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
    UTC; one that ends after the last start ends with a month.
    """
    selection = started(chosen)
    if part not in _PARTS or not set(selection.rules) <= {*_BY_KEY, *_STARTED} or not is_kept(db):
        return None
    with snapshot(db):
        if not _whole_months(db, chosen):
            return None
        rows, excluded = _read(db, chosen, selection, part)
        still = still_waiting(db, selection, now)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
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
    )


def _whole_months(db: sqlite3.Connection, chosen: Filter) -> bool:
    def begins(at: int) -> bool:
        return 0 <= at <= LAST - 31 * DAY and month_around(at)[0] == at

    since, until = chosen.since, chosen.until
    if since is not None and not begins(since):
        return False
    return until is None or begins(until) or not db.execute(f"{_LATER} LIMIT 1", {"at": until}).fetchone()


def _read(
    db: sqlite3.Connection, chosen: Filter, selection: Selection, part: str
) -> tuple[Sequence[_Row], dict[str, int]]:
    """The runs that count, and how many each rule left out."""
    everywhen = selection.within == "TRUE"
    within = "TRUE" if everywhen else f"month <> {NO_MONTH} AND {between('month', chosen.since, chosen.until)}"
    selection = replace(selection, within=within, rules={**selection.rules, **_STARTED})
    buckets = ", ".join(_BUCKETS.values())
    sums = ", ".join(f"sum({one})" for one in ("jobs", "wait", "below_zero", "untold * jobs", *BINS.values()))
    rows = db.execute(
        f"SELECT {selection.reason} AS rule, cluster, {_PARTS[part]}, {buckets}, limit_bucket, cause, {sums}"
        f" FROM ({_ROWS}) WHERE {within} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8",
        selection.params,
    )
    excluded = dict.fromkeys(selection.rules, 0)
    found: list[_Row] = []
    jobs, bins = (_Row._fields.index(name) for name in ("jobs", "bins"))
    for rule, *values in rows:
        if rule:
            excluded[list(selection.rules)[rule - 1]] += values[jobs]
        else:
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
