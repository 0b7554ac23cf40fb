"""How long jobs waited from Eligible to their start, and who made them wait: the queue or something else.

Slurm's Reason is the last one besides Priority and Resources that slurmctld saw while the job waited, however long ago
and however briefly; the trace has no other. So a job that has one is kept apart, whole, from those that waited for the
queue alone. docs/reports/wait.md has which of these moments Slurm takes out of the wait itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from adminkit.stats.backlog import WAITS
from adminkit.stats.select import STARTED, Filter, LeftOut, Selection, clusters, select, snapshot, span

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Who made a job wait -> SQL that holds for its reason. The first that holds counts; OTHER is for the rest.
CAUSES: Final[Mapping[str, str]] = {
    "queue": "coalesce(reason, 'None') IN ('None', 'Priority', 'Resources')",
    "array": "reason = 'JobArrayTaskLimit'",
    "dependency": "reason GLOB 'Dependency*'",
    "qos": "reason GLOB 'QOS*' OR reason GLOB 'Max*PerAccount' OR reason GLOB 'Max*PerUser' OR reason = 'InvalidQOS'",
    "association": "reason GLOB 'Assoc*' OR reason IN ('AccountingPolicy', 'AccountNotAllowed', 'InvalidAccount')",
    "held": "reason GLOB 'JobHeld*' OR reason = 'JobHoldMaxRequeue'",
    "begin": "reason = 'BeginTime'",
}
OTHER: Final = "other"
#: What a row may be about -> SQL over the view run; None: found from the job's numbers.
PARTS: Final[Mapping[str, str | None]] = {
    "queue": "queue",
    "class": "class",
    "nodes": None,
    "limit": None,
    "hour": "eligible_time / 900",
    "user": "user",
    "cells": None,
}
#: The upper ends of the buckets of limits, in seconds. The one after the last is for longer ones.
LIMITS: Final = (900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600, 168 * 3600)
LONGER: Final = len(LIMITS)
#: Buckets of what has no finite limit: unlimited, the queue's own, unknown.
UNLIMITED, QUEUES_OWN, LIMIT_UNKNOWN = range(LONGER + 1, LONGER + 4)
#: The upper ends of the buckets of sizes; bucket 0 is for unknown and none, the one after the last for more.
SIZES: Final = tuple(1 << power for power in range(11))
#: Of what a size counts; the order of the heat maps.
UNITS: Final = ("gpus", "nodes", "cpus")
QUANTILES: Final = (0.5, 0.75, 0.9, 0.95, 1.0)
CHUNK: Final = 2000
_MOST: Final = 2**31 - 1  # 31 bits

_CAUSE: Final = (
    f"CASE {' '.join(f'WHEN {sql} THEN {k}' for k, sql in enumerate(CAUSES.values()))} ELSE {len(CAUSES)} END"
)
#: One row per job, packed because a Python object costs more than SQLite's whole row. The limit (2**31 - 1: unlimited,
#: 2**31 - 2: the queue's, 0: unknown) above the wait; 23 bits of CPUs, 20 of nodes, 20 of GPUs; whether the wait is
#: below 0, whether nobody says why it waited, and the cause. Trap: in SQL, << and | bind alike.
_JOBS: Final = f"""
SELECT cluster, {{part}},
    max(min(wait, {_MOST}), 0) | (CASE WHEN req_limit > 0 THEN min(req_limit, {_MOST - 2})
        WHEN limit_kind = 'unlimited' THEN {_MOST} WHEN limit_kind = 'partition' THEN {_MOST - 1} ELSE 0 END << 31),
    min(max(coalesce(size_gpus, 0), 0), 1048575) | (min(max(coalesce(size_nodes, 0), 0), 1048575) << 20)
    | (min(max(coalesce(size_cpus, 0), 0), 8388607) << 40),
    ({_CAUSE}) | ((wait < 0) << 4) | ((reason IS NULL AND source <> 'slurmdbd') << 5)
FROM run WHERE """
_WAITING: Final = f"""
SELECT count(*), min(eligible_time) FROM run WHERE {WAITS} AND {{rules}}
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
    waits: Waits  # of those that waited for the queue alone
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
    waiting: int  # jobs that wait still
    longest: int | None  # of these, seconds until now
    excluded: Mapping[str, int]
    clusters: Sequence[str]
    span: tuple[int | None, int | None]


def started(chosen: Filter) -> Selection:
    """The jobs of `chosen` that started in the window and whose moment of being eligible is known, however they end."""
    selection = select(replace(chosen, states=(), min_elapsed=None), limits=False, at="start_time")
    return replace(
        selection,
        rules={**selection.rules, "not_started": STARTED, "eligible_unknown": "eligible_time IS NOT NULL"},
    )


def wait(db: sqlite3.Connection, chosen: Filter, now: int, part: str = "queue") -> Wait:
    """Measure the jobs that `chosen` takes; `part` is one of PARTS. 13 bytes per job are kept."""
    selection = started(chosen)
    with snapshot(db):
        left_out = LeftOut(db, selection)
        jobs = _Jobs(part)
        cursor = db.execute(_JOBS.format(part=PARTS[part] or "NULL") + selection.counting, selection.params)
        while rows := cursor.fetchmany(CHUNK):
            jobs.add(rows)
        excluded = left_out.counts(jobs.count)
        still = _still(db, selection, now)
        names, ends = tuple(chosen.clusters) or tuple(clusters(db)), span(db)
    return jobs.measured(still, excluded, names, ends)


def _still(db: sqlite3.Connection, selection: Selection, now: int) -> tuple[int, int | None]:
    """How many of the jobs wait still, and for how long the first of them, whatever the window."""
    rules = [f"({sql})" for name, sql in selection.rules.items() if name not in ("not_started", "eligible_unknown")]
    query = _WAITING.format(rules=" AND ".join(rules) or "TRUE")
    count, first = db.execute(query, {**selection.params, "now": now}).fetchone()
    return int(count), None if first is None else now - first


def limit_bucket(limit: int) -> int:
    """The bucket of a finite limit, in seconds."""
    return next((place for place, most in enumerate(LIMITS) if limit <= most), LONGER)


def size_bucket(size: int) -> int:
    """The bucket of a number of GPUs, nodes or CPUs."""
    return next((place + 1 for place, most in enumerate(SIZES) if size <= most), len(SIZES) + 1) if size > 0 else 0


def buckets(size: NDArray[Any]) -> NDArray[Any]:
    """size_bucket() of each."""
    import numpy as np

    return np.where(size > 0, np.searchsorted(SIZES, size) + 1, 0).astype(np.uint8)


def limit_buckets(limit: NDArray[Any]) -> NDArray[Any]:
    """The buckets of packed limits."""
    import numpy as np

    found = np.searchsorted(LIMITS, limit)
    for packed, bucket in ((_MOST, UNLIMITED), (_MOST - 1, QUEUES_OWN), (0, LIMIT_UNKNOWN)):
        found = np.where(limit == packed, bucket, found)
    return found.astype(np.uint8)


class _Codes(dict[tuple[str, Any], int]):
    """A number for each (cluster, value), given when it is first asked for."""

    def __missing__(self, key: tuple[str, Any]) -> int:
        self[key] = len(self)
        return self[key]


class _Jobs:
    """Narrow arrays of the jobs, filled as rows come in."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.codes = _Codes()
        self.count = self.below_zero = self.untold = 0
        self._chunks: list[tuple[NDArray[Any], ...]] = []  # code, wait, limit, cause, and the size in each unit

    def add(self, rows: list[tuple[Any, ...]]) -> None:
        import numpy as np

        cluster, value, times, sizes, flags = zip(*rows, strict=True)
        code = np.fromiter(map(self.codes.__getitem__, zip(cluster, value, strict=True)), np.int32, len(rows))
        packed, size, flag = (np.asarray(column, np.int64) for column in (times, sizes, flags))
        self.count += len(rows)
        self.below_zero += int((flag >> 4 & 1).sum())
        self.untold += int((flag >> 5 & 1).sum())
        gpus, nodes, cpus = size & 0xFFFFF, size >> 20 & 0xFFFFF, size >> 40
        self._chunks.append(
            (
                code,
                (packed & _MOST).astype(np.int32),
                limit_buckets(packed >> 31),
                (flag & 15).astype(np.uint8),
                *map(buckets, (gpus, nodes, cpus)),
            )
        )

    def measured(
        self,
        still: tuple[int, int | None],
        excluded: Mapping[str, int],
        names: Sequence[str],
        ends: tuple[int | None, int | None],
    ) -> Wait:
        import numpy as np

        kinds = (np.int32, np.int32, *[np.uint8] * 5)
        columns = list(zip(*self._chunks, strict=True)) or [()] * len(kinds)
        self._chunks.clear()
        code, wait, limit, cause, *sizes = (
            np.concatenate([np.zeros(0, kind), *column]) for column, kind in zip(columns, kinds, strict=True)
        )
        mine = cause == 0
        cells, unplaced = _cells(wait, limit, mine, sizes)
        keys = {number: key for key, number in self.codes.items()}
        if self.part in ("nodes", "limit"):
            code, keys = _recoded(code, limit if self.part == "limit" else sizes[1], keys)
        elif self.part == "hour":
            code, keys = _by_hour(code, keys)
        groups = [
            Group(keys[number][1], keys[number][0], waits, apart) for number, waits, apart in _split(code, wait, mine)
        ]
        if self.part == "cells":
            groups = [one for each in cells.values() for one in each]
        names_first = self.part in ("queue", "class", "user")
        if self.part != "cells":
            groups.sort(
                key=(lambda g: (-g.waits.jobs - g.apart, g.cluster, g.value or "")) if names_first else _in_order
            )
        causes = {
            name: waits_of(wait[cause == number])
            for number, name in enumerate([*CAUSES, OTHER])
            if number and (cause == number).any()
        }
        overall = Group(None, None, waits_of(wait[mine]), int((~mine).sum()))
        return Wait(
            groups, overall, causes, cells, unplaced, self.below_zero, self.untold, *still, excluded, names, ends
        )


def _in_order(group: Group) -> tuple[Any, ...]:
    return group.cluster, -1 if group.value is None else group.value


def _recoded(
    code: NDArray[Any], bucket: NDArray[Any], keys: Mapping[int, tuple[str, Any]]
) -> tuple[NDArray[Any], dict[int, tuple[str, Any]]]:
    """Codes of (cluster, bucket). `keys` has a code for each cluster."""
    new = code.astype("i4") * 256 + bucket
    return new, {number * 256 + one: (cluster, one) for number, (cluster, _) in keys.items() for one in range(256)}


def _by_hour(
    code: NDArray[Any], keys: Mapping[int, tuple[str, Any]]
) -> tuple[NDArray[Any], dict[int, tuple[str, Any]]]:
    """Codes of (cluster, hour of the day) on this host's clock, from those of (cluster, quarter of an hour)."""
    import numpy as np

    from adminkit.units import local_time

    hours = _Codes()
    new = [hours[cluster, local_time(quarter * 900, None).hour] for cluster, quarter in map(keys.get, range(len(keys)))]  # type: ignore[misc]
    return np.asarray(new, np.int32)[code] if new else code, {number: key for key, number in hours.items()}


def _cells(
    wait: NDArray[Any], limit: NDArray[Any], mine: NDArray[Any], sizes: Sequence[NDArray[Any]]
) -> tuple[dict[str, list[Group]], int]:
    """The heat maps: jobs with GPUs by these; the others by nodes where one of them has several, else by CPUs."""
    gpus, nodes, cpus = sizes
    without = gpus == 0
    by_nodes = bool((nodes[without] > 1).any())
    maps = (("gpus", gpus, ~without), ("nodes" if by_nodes else "cpus", nodes if by_nodes else cpus, without))
    cells: dict[str, list[Group]] = {}
    placed = 0
    for unit, size, among in maps:
        known = among & (size > 0) & (limit < LIMIT_UNKNOWN)
        code = size[known].astype("i4") * 256 + limit[known]
        found = [
            Group((unit, number >> 8), None, waits, apart, number & 255)
            for number, waits, apart in _split(code, wait[known], mine[known])
        ]
        placed += int(known.sum())
        if found:
            cells[unit] = found
    return cells, len(wait) - placed


def _split(code: NDArray[Any], wait: NDArray[Any], mine: NDArray[Any]) -> Iterator[tuple[int, Waits, int]]:
    """Of each code, ascending: the waits of the jobs that are `mine`, and how many are not."""
    import numpy as np

    apart = np.bincount(code[~mine])
    code, wait = code[mine], wait[mine]
    order = np.argsort(code, kind="stable")
    code, wait = code[order], wait[order]
    counts = np.bincount(code)
    most = max(len(apart), len(counts))
    apart, counts = (np.pad(one, (0, most - len(one))) for one in (apart, counts))
    ends = np.cumsum(counts)
    for number in np.flatnonzero(apart + counts):
        yield int(number), waits_of(wait[ends[number] - counts[number] : ends[number]]), int(apart[number])


def waits_of(values: NDArray[Any]) -> Waits:
    """Quantiles are interpolated linearly: type 7 of Hyndman and Fan, as in accuracy.spread()."""
    import numpy as np

    if not len(values):
        return Waits()
    median, p75, p90, p95, most = map(float, np.quantile(values, QUANTILES))
    return Waits(len(values), median, p75, p90, p95, most, float(values.mean()))
