"""Months of UTC: jobs, how good limits were, what was reserved for nothing, waits, failures; one row per cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.calendar import label, month_around
from adminkit.stats.distribution import distributions
from adminkit.stats.grouped import grouped
from adminkit.stats.select import LIMITED, Filter, clusters, select, snapshot, span
from adminkit.stats.taken import alike, total
from adminkit.stats.wait import WAIT, started
from adminkit.stats.whole import RATIO, in_seconds, month, ratios, seconds
from adminkit.stats.whole import months as months_of
from adminkit.trace.months.edges import first_end
from adminkit.trace.wait_sql import CAUSES

if TYPE_CHECKING:
    pass

DAY: Final = 86_400
#: Months before the last one that are measured: the same month a year ago is the first of them.
BEFORE: Final = 12
#: Days that the last month needs to have; else the month before it is the last.
LEAST_DAYS: Final = 7
#: Jobs without which a month says nothing.
LEAST_JOBS: Final = 5
#: Months before without which there is no usual range.
LEAST_MONTHS: Final = 3
#: How a run ends that failed.
FAILED: Final = ("FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL")

_LIMITED: Final = f"{{counts}} AND {LIMITED}"
_UNUSED: Final = f"{_LIMITED} AND elapsed < req_limit"
_ON_CPUS: Final = "coalesce(size_gpus, -1) <= 0"
#: Field of Month -> when a run adds to it, and what; {counts} holds for a run that counts.
_SUMS: Final = {
    "jobs": ("{counts}", "1"),
    "limited": (_LIMITED, "1"),
    "sized": (f"{_LIMITED} AND size_gpus >= 0", "1"),
    "cpu_sized": (f"{_LIMITED} AND size_units > 0", "1"),
    "failed": (f"state IN ({', '.join(map(repr, FAILED))})", "1"),
    "used": (_LIMITED, "elapsed"),
    "reserved": (_LIMITED, "req_limit"),
    "gpu_seconds_unused": (_UNUSED, seconds("size_gpus", "(req_limit - elapsed)")),
    "cpu_seconds_unused": (f"{_UNUSED} AND {_ON_CPUS}", seconds("size_units", "(req_limit - elapsed)")),
    "ratios": (_LIMITED, RATIO[0]),
    "parts": (_LIMITED, RATIO[1]),
}


@dataclass(slots=True)
class Month:
    """One month of one cluster, or the part of it that the window and the trace have."""

    days: float
    jobs: int = 0  # that count in a report
    limited: int = 0  # of these, with a finite limit and no checkpoint run: accuracy is theirs
    ratios: float = 0.0
    used: float = 0.0  # seconds
    reserved: float = 0.0  # seconds
    gpu_seconds_unused: float = 0.0
    cpu_seconds_unused: float = 0.0  # of jobs without GPUs, or of unknown GPUs
    sized: int = 0  # of the limited ones, of known GPUs: what was unused is theirs
    cpu_sized: int = 0  # of the limited ones, on GPUs or of known CPUs: the CPU-hours are theirs
    ended: int = 0  # runs, however they ended
    failed: int = 0
    waited: int = 0  # jobs that started and had waited only for the queue
    wait_median: float | None = None  # seconds
    wait_p95: float | None = None

    def values(self) -> dict[str, float | None]:
        """What months are compared by; None where the month has too few jobs to say it."""
        known, enough = self.limited >= LEAST_JOBS, self.waited >= LEAST_JOBS
        return {
            "jobs_a_day": self.jobs / self.days if self.days else None,
            "accuracy": self.ratios / self.limited if known else None,
            "used_fraction": self.used / self.reserved if known and self.reserved else None,
            "unused_gpu_hours_a_day": self._a_day(self.gpu_seconds_unused) if known and self.sized else None,
            "unused_cpu_hours_a_day": self._a_day(self.cpu_seconds_unused) if known and self.cpu_sized else None,
            "wait_median": self.wait_median if enough else None,
            "wait_p95": self.wait_p95 if enough else None,
            "failed_share": self.failed / self.ended if self.ended >= LEAST_JOBS else None,
        }

    def _a_day(self, seconds: float) -> float | None:
        return seconds / 3600 / self.days if self.days else None


@dataclass(frozen=True, slots=True)
class Months:
    """`names` are those of the months, "2026-01", the oldest first; `edges` the epochs where they begin, and the end.

    The first begins where the trace does, where that is later. Every cluster has every month; those before its own
    first end have no days.
    """

    names: Sequence[str]
    edges: Sequence[int]
    clusters: Mapping[str, Sequence[Month]] = field(default_factory=dict)


def months(db: sqlite3.Connection, chosen: Filter, until: int) -> Months:
    """The month that `until` ends and BEFORE before it, of the jobs that `chosen` takes; its own window is not heeded.

    Empty where the trace has no job that ended before. 8 bytes per job are kept.
    """
    with snapshot(db):
        first, _ = span(db)
        if first is None or first >= until:
            return Months((), ())
        edges = _edges(first, until)
        window = replace(chosen, since=edges[0], until=edges[-1])
        names = [label(edge, "month", UTC) for edge in edges[:-1]]
        found = {cluster: _empty(db, cluster, edges) for cluster in chosen.clusters or clusters(db)}
        place = {name: number for number, name in enumerate(names)}
        _sums(db, window, found, place)
        _quantiles(db, window, found, place)
    seen = {cluster: some for cluster, some in sorted(found.items()) if any(one.ended or one.waited for one in some)}
    return Months(names, edges, seen)


def _empty(db: sqlite3.Connection, cluster: str, edges: Sequence[int]) -> list[Month]:
    """A cluster's months; those before its first end have no days."""
    first = first_end(db, "+cluster = :cluster", {"cluster": cluster})
    begin = edges[-1] if first is None else first
    return [Month(max(after - max(before, begin), 0) / DAY) for before, after in pairwise(edges)]


def _edges(first: int, until: int) -> list[int]:
    """The beginnings of the months, and the end: `until`, or the beginning of a month that has only begun."""
    last = month_around(until - 1)[0]
    if until - last < LEAST_DAYS * DAY and first < last:
        until, last = last, month_around(last - 1)[0]
    found = [last]
    while len(found) <= BEFORE and found[0] > first:
        found.insert(0, month_around(found[0] - 1)[0])
    return [max(found[0], first), *found[1:], until]


def _sums(db: sqlite3.Connection, window: Filter, found: Mapping[str, list[Month]], place: Mapping[str, int]) -> None:
    counted, ended = select(window, limits=False), select(replace(window, states=(), min_elapsed=None), limits=False)
    # The rules of `ended` are some of those of `counted`, whose values are bound.
    every = replace(counted, rules={name: rule for name, rule in counted.rules.items() if name in ended.rules})
    counts = f"({counted.reason}) = 0"
    sums = [f"CASE WHEN {when.format(counts=counts)} THEN {what} ELSE 0 END" for when, what in _SUMS.values()]
    runs = alike(
        db, every, ("cluster",), (month("end_time"),), sums=sums, given={"checkpoint_code": window.checkpoint_code}
    )
    number, keys = grouped(*runs.texts, months_of(runs.numbers[0]))
    columns = {name: total(number, len(keys), one) for name, one in zip(_SUMS, runs.sums, strict=True)}
    columns["gpu_seconds_unused"] = in_seconds("size_gpus", columns["gpu_seconds_unused"])
    columns["ended"] = total(number, len(keys), runs.many)
    whole, parts = columns.pop("ratios"), columns.pop("parts")
    for k, ((of, name), ratio) in enumerate(zip(keys, ratios(whole, parts), strict=True)):
        one = found[of][place[name]]
        one.ratios = ratio
        for field_name, column in columns.items():
            setattr(one, field_name, type(getattr(one, field_name))(column[k]))


def _quantiles(
    db: sqlite3.Connection, window: Filter, found: Mapping[str, list[Month]], place: Mapping[str, int]
) -> None:
    import numpy as np

    selection = started(window)
    rules = {**selection.rules, "waited_for_queue": CAUSES["queue"]}
    jobs = alike(db, replace(selection, rules=rules), ("cluster",), (WAIT, month("start_time")))
    number, keys = grouped(*jobs.texts, months_of(jobs.numbers[1]))
    waits = np.maximum(jobs.numbers[0], 0)
    for (of, name), some in zip(keys, distributions(number, len(keys), waits, jobs.many), strict=True):
        one = found[of][place[name]]
        one.waited = some.jobs
        one.wait_median, one.wait_p95 = some.quantiles((0.5, 0.95))
