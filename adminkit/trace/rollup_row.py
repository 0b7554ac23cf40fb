"""What a run adds to the rollups, as SQL over its row of job: a month, a key, sums, and counts by bin and by day.

Every number is whole, so that adding and subtracting a run is exact. What a run adds depends only on its own row.
native/ingest/image.c says the same in C.

A bin goes by its upper edge: `elapsed_600` counts runs of more than 300 and at most 600 seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from adminkit.trace.continued_runs import acting
from adminkit.trace.run_view import (
    CHECKPOINT_OWN,
    CPUS,
    GPUS,
    NODES,
    REQ_LIMIT,
    STUDY_MIN_ELAPSED,
    TOO_LONG,
    class_sql,
)
from adminkit.trace.wait_sql import halved

HOUR: Final = 3600
DAY: Final = 24 * HOUR
#: The last second that has a month, 9999-12-31T23:59:59Z; before 1970 and after it a month is a day.
LAST: Final = 253402300799
_MINUTE: Final = 60
#: Upper edges of the bins of elapsed and req_limit, seconds; 0 is a bin of its own.
EDGES: Final = (
    0, 10, 30, 60, 120, 300, 600, 900, 1200, 1800, 2700, HOUR, 90 * _MINUTE, 2 * HOUR, 3 * HOUR, 4 * HOUR, 6 * HOUR,
    8 * HOUR, 12 * HOUR, 16 * HOUR, 24 * HOUR, 36 * HOUR, 48 * HOUR, 72 * HOUR, 96 * HOUR, 168 * HOUR, 336 * HOUR,
    720 * HOUR, TOO_LONG - 1,
)  # fmt: skip
#: Upper edges of the bins of elapsed that are parts of a key: what `min_elapsed` may be, and one bin above.
RAN: Final = (0, STUDY_MIN_ELAPSED, TOO_LONG - 1)
#: Width of a bin of accuracy, per cent, and the bin of everything above 100 %.
PERCENT: Final = 5
OVER: Final = 100 + PERCENT
#: More nodes, CPUs or GPUs of one run are nonsense and count as unknown; sums stay within 64 bits.
MOST: Final = 1 << 24


def _upto(value: str, edges: Sequence[int] = EDGES) -> str:
    return f"CASE WHEN {value} >= 0 AND {value} < {TOO_LONG} THEN {halved(value, edges, edges)} END"


def _day(at: str) -> str:
    """SQL: the first second of the UTC day of a time."""
    return f"({at} - (({at} % {DAY}) + {DAY}) % {DAY})"


def month(at: str) -> str:
    """SQL: the first second of the UTC month of a time."""
    first = f"CAST(strftime('%s', {at}, 'unixepoch', 'start of month') AS INTEGER)"
    return f"CASE WHEN {at} BETWEEN 0 AND {LAST} THEN {first} ELSE {_day(at)} END"


MONTH: Final = month("end_time")
_SIZES: Final = {
    name: f"CASE WHEN {sql} BETWEEN 0 AND {MOST} THEN {sql} END"
    for name, sql in (("size_nodes", NODES), ("size_cpus", CPUS), ("size_gpus", GPUS))
}
#: What a key is made of -> SQL over a row of job. `checkpoint` is what the row says by itself.
KEYS: Final = {
    "cluster": "cluster",
    "queue": "queue",
    "user": "user",
    "account": "account",
    "class": class_sql(NODES, GPUS),
    "state": "state",
    "limit_kind": "limit_kind",
    "limit_upto": _upto("req_limit"),
    "limit_source": "limit_source",
    "source": "source",
    "acting": f"CASE WHEN {acting('job')} THEN 1 ELSE 0 END",
    "checkpoint": f"CASE WHEN {CHECKPOINT_OWN} THEN 1 ELSE 0 END",
    "exit_code": "exit_code",
    "ran_upto": _upto("elapsed", RAN),
}
#: The parts that are NULL in a key of everybody's.
WHOSE: Final = ("user", "account")
MAY_BE_NULL: Final = ("queue", "user", "account", "class", "state", "limit_upto", "exit_code", "ran_upto")
_RAN: Final = f"elapsed >= 0 AND elapsed < {TOO_LONG}"
_WAITED: Final = f"wait >= 0 AND wait < {TOO_LONG}"
_LIMITED: Final = f"{_RAN} AND req_limit > 0"
#: The bins -> SQL over a row of job with size_nodes, size_cpus, size_gpus and req_limit; `day_of_month` from 0.
_BINS: Final = {
    "elapsed": _upto("elapsed"),
    "accuracy": f"CASE WHEN {_LIMITED} THEN"
    f" min((elapsed * {100 // PERCENT} + req_limit - 1) / req_limit * {PERCENT}, {OVER}) END",
    "day": f"({_day('end_time')} - month) / {DAY}",
}
#: The columns that count runs by bin: what is counted -> upper edge (of a day its number from 0) -> column.
COUNTS: Final = {
    "elapsed": {edge: f"elapsed_{edge}" for edge in EDGES},
    "accuracy": {edge: f"accuracy_{edge}" for edge in range(0, OVER + 1, PERCENT)},
    "day": {day: f"day_{day + 1}" for day in range(31)},
}
_UNUSED: Final = f"CASE WHEN {_LIMITED} AND req_limit > elapsed THEN req_limit - elapsed ELSE 0 END"
#: The sums -> SQL over the same; 0 for a run of which it is unknown.
SUMS: Final = {
    "jobs": "1",
    "elapsed": f"CASE WHEN {_RAN} THEN elapsed ELSE 0 END",
    "wait": f"CASE WHEN {_WAITED} THEN wait ELSE 0 END",
    "req_limit": "coalesce(req_limit, 0)",
    # Millionths, rounded down; at most 1000 times the limit.
    "accuracy": f"CASE WHEN {_LIMITED} THEN min(elapsed * 1000000 / req_limit, 1000000000) ELSE 0 END",
    **{f"{name}s_known": f"(size_{name}s IS NOT NULL)" for name in ("node", "cpu", "gpu")},
    **{
        f"{name}_seconds": f"CASE WHEN {_RAN} THEN elapsed * coalesce(size_{name}s, 0) ELSE 0 END"
        for name in ("node", "cpu", "gpu")
    },
    **{f"{name}_seconds_unused": f"{_UNUSED} * coalesce(size_{name}s, 0)" for name in ("cpu", "gpu")},
}
#: The tables -> of COUNTS what they have; in the order of image.h, where everybody's are the first of a user's.
COUNTED: Final = {"ended_month": ("elapsed", "accuracy"), "ended_month_user": ("elapsed", "accuracy", "day")}
#: The tables -> their columns besides month and key.
TABLES: Final = {
    table: (*SUMS, *(name for what in counted for name in COUNTS[what].values())) for table, counted in COUNTED.items()
}

#: The columns of job on which rollups depend.
FROM: Final = (
    *("cluster", "queue", "user", "account", "state", "limit_kind", "limit_source", "source", "audited", "reason"),
    *("exit_code", "time_limit", "limit_original", "ext_asked", "ext_limit", "ext_times"),
    *("restarts", "ckpt_requeues", "ckpt_heard", "start_time"),
    *("eligible_time", "end_time", "elapsed", "nodes", "cpus", "gpus", "req_nodes", "req_cpus", "req_gpus"),
    "node_list",
)


def columns(names: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {name}" for name, sql in names.items())


def image(rows: str, counts: Iterable[str] = tuple(COUNTS)) -> str:
    """SQL: what each row of `rows` (job, or a SELECT in parentheses) adds: month, keys, sums, and of COUNTS these; and
    end_time.
    """
    # Trap: without LIMIT SQLite writes each expression out wherever its name stands, and computes it as often.
    wanted = list(counts)
    inner = (
        f"SELECT {', '.join(FROM)}, {columns(_SIZES)}, {REQ_LIMIT} AS req_limit, start_time - eligible_time AS wait,"
        f" {MONTH} AS month FROM {rows} AS job LIMIT -1"
    )
    bins = {f"bin_{what}": _BINS[what] for what in wanted}
    middle = f"SELECT {columns({'month': 'month', **KEYS, **SUMS, **bins})}, end_time FROM ({inner}) AS job LIMIT -1"
    if not wanted:
        return middle
    counted = {name: f"(bin_{what} IS {edge})" for what in wanted for edge, name in COUNTS[what].items()}
    names = ", ".join(("month", *KEYS, *SUMS, "end_time"))
    return f"SELECT {names}, {columns(counted)} FROM ({middle})"
