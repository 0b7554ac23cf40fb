"""How long jobs waited from Eligible to their start, and who made them wait: the queue or something else.

Slurm's Reason is the last one besides Priority and Resources that slurmctld saw while the job waited, however long ago
and however briefly; the trace has no other. So a job that has one is kept apart, whole, from those that waited for the
queue only. docs/reports/wait.md has which of these moments Slurm takes out of the wait itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from adminkit.sqlite import sqlite3
from adminkit.stats.backlog import WAITS
from adminkit.stats.distribution import Distribution, distribution, distributions
from adminkit.stats.grouped import grouped
from adminkit.stats.select import Filter, Selection, clusters, select, snapshot, span
from adminkit.stats.taken import Alike, Ask, alikes, total
from adminkit.trace.run_view import GPUS_IN_DOUBT, STARTED
from adminkit.trace.wait_sql import (
    CAUSE,
    CAUSES,
    LIMIT_BUCKET,
    LIMIT_UNKNOWN,
    LIMITS,
    LONGER,
    OTHER,
    SIZES,
    bucket_of_size,
)
from adminkit.trace.windows import FROM_SUBMISSION, fact

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a row may be about -> the column with its name; None: a bucket, an hour or a cell.
PARTS: Final[Mapping[str, str | None]] = {
    "queue": "queue",
    "class": "class",
    "nodes": None,
    "limit": None,
    "hour": None,
    "user": "user",
    "cells": None,
}
#: Those of them that are numbers -> SQL over the view run. Hours on this host's clock begin at a quarter of UTC's.
_NUMBERED: Final = {"nodes": bucket_of_size("size_nodes"), "limit": LIMIT_BUCKET, "hour": "eligible_time / 900"}
#: What a size counts; the order of the heat maps.
UNITS: Final = ("gpus", "nodes", "cpus")
QUANTILES: Final = (0.5, 0.75, 0.9, 0.95, 1.0)
_MOST: Final = 2**31 - 1  # 31 bits
_IN_DOUBT: Final = 255  # instead of a bucket of GPUs

#: SQL over the view run: seconds; below 0 for a run that started before it was eligible.
WAIT: Final = "start_time - eligible_time"
#: Whether no source says what the job waited for.
_UNTOLD: Final = "CASE WHEN reason IS NULL AND source <> 'slurmdbd' THEN 1 ELSE 0 END"
#: A cell's buckets: limit, GPUs, nodes, and CPUs where there is no GPU; and whether the job waited only for the queue.
_CELL: Final = (
    LIMIT_BUCKET,
    f"CASE WHEN {GPUS_IN_DOUBT} THEN {_IN_DOUBT} ELSE {bucket_of_size('size_gpus')} END",
    bucket_of_size("size_nodes"),
    f"CASE WHEN size_gpus > 0 THEN 0 ELSE {bucket_of_size('size_cpus')} END",
    f"CASE WHEN {CAUSES['queue']} THEN 1 ELSE 0 END",
)
_WAITING: Final = f"""
SELECT total(coalesce(tasks, 1)), min(eligible_time), count(*) - count(tasks) FROM run WHERE {WAITS} AND {{rules}}
"""


@dataclass(frozen=True, slots=True)
class Waits:
    """Waits of some jobs, in seconds; None for no job."""

    jobs: int = 0
    median: float | None = None
    p75: float | None = None
    p90: float | None = None
    p95: float | None = None
    max: float | None = None
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The jobs with one value of a part: a name, a bucket of LIMITS or SIZES, an hour of the day; None for unknown.

    `limit` is the bucket of a cell of the heat map, whose value is (unit, bucket of SIZES).
    """

    value: Any
    cluster: str | None
    waits: Waits  # of those that waited only for the queue
    apart: int  # the others
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """`groups` by number of jobs, most first; those of buckets and hours in their order."""

    groups: Sequence[Group]
    overall: Group
    causes: Mapping[str, Waits]  # of the jobs kept apart, by who made them wait
    cells: Mapping[str, Sequence[Group]]  # unit of the size -> the cells of its heat map
    unplaced: int  # jobs of unknown size or limit, which no cell has
    below_zero: int  # started before they were eligible: their wait counts as 0
    untold: int  # no source says what they waited for: counted as the queue's
    waiting: int  # jobs that wait still, each task of an array
    longest: int | None  # of these, seconds until now
    cut_arrays: int  # among them of which the number of tasks is unknown: each is one job, at least
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]
    from_submission: Sequence[str] = ()  # the clusters of which an import brought runs without their eligible time


def started(chosen: Filter) -> Selection:
    """The jobs of `chosen` that started in the window and whose moment of being eligible is known, however they end."""
    selection = select(replace(chosen, states=(), min_elapsed=None), limits=False, at="start_time")
    return replace(
        selection,
        rules={**selection.rules, "not_started": STARTED, "eligible_unknown": "eligible_time IS NOT NULL"},
    )


def wait(db: sqlite3.Connection, chosen: Filter, now: int, part: str = "queue") -> Wait:
    """Measure the jobs that `chosen` takes; `part` is one of PARTS."""
    selection, named = started(chosen), PARTS[part]
    with snapshot(db):
        more = (_NUMBERED[part],) if part in _NUMBERED else ()
        by = ("cluster", *([named] if named else ()), "reason")
        jobs, placed = alikes(db, selection, [Ask(by, (WAIT, _UNTOLD, *more)), Ask((), (WAIT, *_CELL))])
        causes = [db.execute(f"SELECT {CAUSE} FROM (SELECT ? AS reason)", (name,)).fetchone()[0]
                  for name in jobs.texts[-1].names]  # fmt: skip
        cells, unplaced = _cells(placed)
        still = still_waiting(db, selection, now)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
        without = from_submission(db, names)
    groups, overall, apart = _groups(jobs, causes, part)
    if part == "cells":
        groups = [one for each in cells.values() for one in each]
    below_zero = int(jobs.many[jobs.numbers[0] < 0].sum())
    untold = int((jobs.numbers[1] * jobs.many).sum())
    return Wait(
        groups, overall, apart, cells, unplaced, below_zero, untold, *still, jobs.excluded, names, ends, without
    )


def from_submission(db: sqlite3.Connection, names: Sequence[str]) -> list[str]:
    """The clusters of `names` of which an import brought runs without the moment of being eligible."""
    return [name for name in names if fact(db, name, FROM_SUBMISSION)]


def still_waiting(db: sqlite3.Connection, selection: Selection, now: int) -> tuple[int, int | None, int]:
    """How many of the jobs wait still, each task of an array, for how long the first of them, whatever the window; and
    the arrays of which sacct cut the list of tasks: each counts as one."""
    rules = [f"({sql})" for name, sql in selection.rules.items() if name not in ("not_started", "eligible_unknown")]
    query = _WAITING.format(rules=" AND ".join(rules) or "TRUE")
    count, first, cut = db.execute(query, {**selection.params, "now": now}).fetchone()
    return int(count), None if first is None else now - first, cut


def limit_bucket(limit: int) -> int:
    """The bucket of a finite limit, in seconds."""
    return next((place for place, most in enumerate(LIMITS) if limit <= most), LONGER)


def size_bucket(size: int) -> int:
    """The bucket of a number of GPUs, nodes or CPUs."""
    return next((place + 1 for place, most in enumerate(SIZES) if size <= most), len(SIZES) + 1) if size > 0 else 0


def buckets(size: NDArray[Any]) -> NDArray[Any]:
    """size_bucket() of each."""
    import numpy as np

    return np.where(size > 0, above(SIZES, size) + 1, 0).astype(np.uint8)


def above(edges: Sequence[int], values: NDArray[Any]) -> NDArray[Any]:
    """How many of the edges each value is above: np.searchsorted() of few edges, many times as fast."""
    import numpy as np

    found = np.zeros(len(values), np.uint8)
    for edge in edges:
        found += values > edge
    return found


class _Codes(dict[tuple[str, Any], int]):
    """A number for each (cluster, value), given when it is first asked for."""

    def __missing__(self, key: tuple[str, Any]) -> int:
        self[key] = len(self)
        return self[key]


def _groups(jobs: Alike, causes: Sequence[int], part: str) -> tuple[list[Group], Group, dict[str, Waits]]:
    """The groups of `part`, all jobs together, and those kept apart by who made them wait."""
    import numpy as np

    *texts, reason = jobs.texts
    cause, wait = np.array(causes, np.int8)[reason.codes], _positive(jobs.numbers[0])
    mine = cause == 0
    code, found = grouped(*texts, *jobs.numbers[2:])
    keys = {number: (key[0], key[1] if len(key) > 1 else None) for number, key in enumerate(found)}
    if part == "hour":
        code, keys = _by_hour(code, keys)
    groups = [
        Group(keys[number][1], keys[number][0], waits, apart)
        for number, waits, apart in _split(code, wait, jobs.many, mine)
    ]
    apart = {
        name: waits_of(distribution(wait[its], jobs.many[its]))
        for number, name in enumerate([*CAUSES, OTHER])
        if number and (its := cause == number).any()
    }
    overall = waits_of(distribution(wait[mine], jobs.many[mine]))
    return ordered(groups, part), Group(None, None, overall, jobs.jobs - overall.jobs), apart


def _positive(wait: NDArray[Any]) -> NDArray[Any]:
    """Waits of 31 bits; those below 0 as 0."""
    import numpy as np

    return np.clip(wait.astype(np.int64), 0, _MOST)


def ordered(groups: Sequence[Group], part: str) -> list[Group]:
    """Groups of names by number of jobs, most first; those of buckets and hours in their order."""
    if PARTS[part]:
        return sorted(groups, key=lambda one: (-one.waits.jobs - one.apart, one.cluster, one.value or ""))
    return sorted(groups, key=lambda one: (one.cluster, -1 if one.value is None else one.value))


def _by_hour(
    code: NDArray[Any], keys: Mapping[int, tuple[str, Any]]
) -> tuple[NDArray[Any], dict[int, tuple[str, Any]]]:
    """Codes of (cluster, hour of the day) on this host's clock, from those of (cluster, quarter of an hour)."""
    import numpy as np

    from adminkit.units import local_time

    hours = _Codes()
    new = [hours[cluster, local_time(quarter * 900, None).hour] for cluster, quarter in map(keys.get, range(len(keys)))]  # type: ignore[misc]
    return np.asarray(new, np.int32)[code] if new else code, {number: key for key, number in hours.items()}


def _cells(jobs: Alike) -> tuple[dict[str, list[Group]], int]:
    """The heat maps: jobs with GPUs by these; the others by nodes where one of them has several, else by CPUs. And how
    many jobs have no place in them.
    """
    wait, limit, gpus, nodes, cpus, mine = jobs.numbers
    wait = _positive(wait)
    without, doubtful = gpus == 0, gpus == _IN_DOUBT
    by_nodes = bool((nodes[without] > 1).any())
    maps = (
        ("gpus", gpus, ~without & ~doubtful),
        ("nodes" if by_nodes else "cpus", nodes if by_nodes else cpus, without),
    )
    cells: dict[str, list[Group]] = {}
    placed = 0
    for unit, size, among in maps:
        known = among & (size > 0) & (limit < LIMIT_UNKNOWN)
        code, many = size[known].astype("i4") * 256 + limit[known].astype("i4"), jobs.many[known]
        found = [
            Group((unit, number >> 8), None, waits, apart, number & 255)
            for number, waits, apart in _split(code, wait[known], many, mine[known] == 1)
        ]
        placed += int(many.sum())
        if found:
            cells[unit] = found
    return cells, jobs.jobs - placed


def _split(
    code: NDArray[Any], wait: NDArray[Any], many: NDArray[Any], mine: NDArray[Any]
) -> Iterator[tuple[int, Waits, int]]:
    """Each code, ascending, with the waits of the jobs that are `mine`, and how many are not."""
    groups = int(code.max()) + 1 if len(code) else 0
    apart = total(code[~mine], groups, many[~mine])
    for number, waits in enumerate(distributions(code[mine], groups, wait[mine], many[mine])):
        if waits.jobs or apart[number]:
            yield number, waits_of(waits), int(apart[number])


def waits_of(waits: Distribution) -> Waits:
    if not waits.jobs:
        return Waits()
    median, p75, p90, p95, most = waits.quantiles(QUANTILES)
    return Waits(waits.jobs, median, p75, p90, p95, most, waits.mean())
