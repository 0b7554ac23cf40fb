"""What a run adds to the rollup by the month of its start, `started_month`, as SQL over a row of `job`: its wait, by
who made it wait, its size and its limit, in the buckets of wait_sql.py.

A run that ended is in one row of it, whether it had started or not: stats/wait.py leaves out what has a `left_out`.
native/ingest/waits.c says the same in C.
"""

from __future__ import annotations

from typing import Final

from adminkit.trace.rollup_row import EDGES, columns, month
from adminkit.trace.rollup_table import RollupTable
from adminkit.trace.run_view import CPUS, GPUS, NODES, REQ_LIMIT, STARTED, TOO_LONG, class_sql
from adminkit.trace.wait_sql import CAUSE, LIMIT_BUCKET, bucket_of_size, halved

#: Why a run does not count as a job that waited: `left_out` of a key, 0 for one that is.
NOT_STARTED, ELIGIBLE_UNKNOWN = 1, 2
#: The month of a run without a start.
NO_MONTH: Final = -1
#: The bins of waits -> their columns. The last bin has every longer wait, too.
BINS: Final = {edge: f"wait_{edge}" for edge in EDGES}
#: The sums of a row, for what is left out 0 but for `jobs`. A wait below 0 is 0, one above TOO_LONG is that.
SUMS: Final = ("jobs", "wait", "below_zero", *BINS.values())

_SIZE: Final = {
    name: bucket_of_size(sql) for name, sql in (("gpu_bucket", GPUS), ("node_bucket", NODES), ("cpu_bucket", CPUS))
}
#: What a key has of a run that counts, and 0 of another one -> SQL. Waits are compared by CPUs where there is no GPU.
_COUNTED: Final = {
    **_SIZE,
    "cpu_bucket": f"CASE WHEN {GPUS} > 0 THEN 0 ELSE {_SIZE['cpu_bucket']} END",
    "limit_bucket": LIMIT_BUCKET,
    "cause": CAUSE,
    "untold": "reason IS NULL AND source <> 'slurmdbd'",
}


def image(rows: str) -> str:
    """SQL: what each row of `rows` (job, or a SELECT in parentheses) adds: month, keys and sums; open runs, too."""
    left_out = (
        f"CASE WHEN ({STARTED}) IS NOT TRUE THEN {NOT_STARTED}"
        f" WHEN eligible_time IS NULL THEN {ELIGIBLE_UNKNOWN} ELSE 0 END"
    )
    # Trap: without LIMIT SQLite writes each expression out wherever its name stands, and computes it as often.
    inner = (
        f"SELECT cluster, queue, {class_sql(NODES, GPUS)} AS class, nodes, cpus, gpus, req_nodes, req_cpus, req_gpus,"
        f" limit_kind, reason, source, start_time, eligible_time, {REQ_LIMIT} AS req_limit, {left_out} AS left_out,"
        f" max(min(start_time - eligible_time, {TOO_LONG}), 0) AS waited FROM {rows} AS job LIMIT -1"
    )
    counted = {name: f"CASE left_out WHEN 0 THEN {sql} ELSE 0 END" for name, sql in _COUNTED.items()}
    sums = {
        "jobs": "1",
        "wait": "CASE left_out WHEN 0 THEN waited ELSE 0 END",
        "below_zero": "CASE left_out WHEN 0 THEN start_time < eligible_time ELSE 0 END",
        "bin": f"CASE left_out WHEN 0 THEN {halved('waited', EDGES, EDGES)} END",
    }
    at = f"CASE WHEN start_time IS NULL THEN {NO_MONTH} ELSE {month('start_time')} END"
    middle = (
        f"SELECT {at} AS month, cluster, queue, class, {columns(counted)}, left_out, {columns(sums)}"
        f" FROM ({inner}) LIMIT -1"
    )
    bins = columns({name: f"(bin IS {edge})" for edge, name in BINS.items()})
    return f"SELECT month, {', '.join(KEYS)}, jobs, wait, below_zero, {bins} FROM ({middle})"


#: The parts of a key -> their types.
KEYS: Final = {
    "cluster": "TEXT NOT NULL",
    "queue": "TEXT",
    "class": "TEXT",
    **dict.fromkeys((*_COUNTED, "left_out"), "INTEGER NOT NULL"),
}
STARTS: Final = RollupTable("started_month", "started_key", "month", KEYS, SUMS, "jobs = 0", image)
