"""The reports' questions as DuckDB's SQL over Parquet of the view run: python -m tests.bench.rival_reports FILES NAME

As report_once.py, with one thread; a table is not drawn.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Final

from tests.bench.report_once import peak

_COUNTED: Final = "state IN ('COMPLETED', 'TIMEOUT') AND elapsed > 60"
_LIMITED: Final = "(req_limit > 0 AND NOT checkpoint AND exit_code IS DISTINCT FROM 85)"
_LEFT_OUT: Final = f"""SELECT CASE WHEN state NOT IN ('COMPLETED', 'TIMEOUT') THEN 'state'
    WHEN elapsed <= 60 THEN 'elapsed' WHEN NOT {_LIMITED} THEN 'limit' END AS rule, count(*) FROM run GROUP BY 1"""
_RATIO: Final = "elapsed / req_limit"
_HOURS: Final = "sum(elapsed * size_gpus) / 3600, sum(elapsed * size_cpus) / 3600"
_UNUSED: Final = "greatest(req_limit - elapsed, 0)"
_RESOURCES: Final = {
    "cpu": ("cpu_time / (elapsed * size_cpus)", "elapsed * size_cpus"),
    "mem": ("mem / coalesce(mem, req_mem)", "elapsed * coalesce(mem, req_mem)"),
}
_USED: Final = ", ".join(
    f"sum({share} * {held}), sum({held}), avg({share}), quantile_cont({share}, [0.1, 0.25, 0.5, 0.75, 0.9])"
    for share, held in _RESOURCES.values()
)
_PROGRAM: Final = f"""SELECT grouping({{part}}), {{part}}, count(*), count(DISTINCT user), {_HOURS},
    avg({_RATIO}) FILTER ({_LIMITED}), stddev_samp({_RATIO}) FILTER ({_LIMITED}),
    quantile_cont(elapsed, [0.1, 0.5, 0.9])
    FROM run WHERE {_COUNTED} GROUP BY GROUPING SETS ((cluster, {{part}}), ())"""
_WAITS: Final = "count(*), quantile_cont(greatest(wait, 0), [0.5, 0.75, 0.9, 0.95, 1]), avg(greatest(wait, 0))"
_STARTED: Final = """start_time IS NOT NULL AND eligible_time IS NOT NULL
    AND (end_time > start_time OR elapsed > 0 OR node_list IS NOT NULL)"""
_ALONE: Final = "coalesce(reason, 'None') IN ('None', 'Priority', 'Resources')"
#: Name of the report -> the statements that answer what it answers, and how many jobs each rule leaves out.
QUERIES: Final = {
    "accuracy": (
        f"""SELECT cluster, queue, count(*), min({_RATIO}), max({_RATIO}), avg({_RATIO}), stddev_samp({_RATIO}),
            quantile_cont({_RATIO}, [0.1, 0.25, 0.5, 0.75, 0.9]), sum(elapsed) / sum(req_limit),
            count(*) FILTER (limit_source = 'default'), count(*) FILTER (elapsed > req_limit),
            sum({_UNUSED} * size_gpus), sum({_UNUSED} * size_cpus)
        FROM run WHERE {_COUNTED} AND {_LIMITED} GROUP BY GROUPING SETS ((cluster, queue), ())""",
        _LEFT_OUT,
    ),
    "parallelism": (
        f"SELECT cluster, class, size_gpus, size_nodes, size_cpus, count(*) FROM run WHERE {_COUNTED} GROUP BY ALL",
        _LEFT_OUT,
    ),
    "states": (
        """SELECT cluster, queue, state, cancelled_by = uid, elapsed <= 60, start_time IS NULL, reason IN ('NodeDown',
            'JobLaunchFailure', 'SystemFailure', 'Prolog'), exit_code IN (2, 126, 127), exit_signal IN (52, 53, 54),
            count(*), sum(elapsed * size_gpus), sum(elapsed * size_cpus), count(size_gpus), count(size_cpus)
        FROM run WHERE end_time IS NOT NULL GROUP BY ALL""",
    ),
    "users": (
        f"""SELECT cluster, user, strftime(make_timestamp(end_time * 1000000), '%Y-%m'), count(*), max(end_time),
            {_HOURS}, count(size_gpus), count(size_cpus), count(*) FILTER ({_LIMITED}),
            sum({_RATIO}) FILTER ({_LIMITED}), sum(elapsed) FILTER ({_LIMITED}), sum(req_limit) FILTER ({_LIMITED})
        FROM run WHERE {_COUNTED} GROUP BY ALL""",
        _LEFT_OUT,
    ),
    "wait": (
        f"SELECT cluster, queue, {_WAITS} FROM run WHERE {_STARTED} AND {_ALONE} GROUP BY GROUPING SETS ((1, 2), ())",
        f"SELECT reason, {_WAITS} FROM run WHERE {_STARTED} AND NOT {_ALONE} GROUP BY 1",
        f"""SELECT size_gpus > 0, ceil(log2(greatest(size_gpus, 1))), ceil(log2(greatest(size_nodes, 1))),
            req_limit <= 900, req_limit <= 3600, req_limit <= 14400, req_limit <= 43200, req_limit <= 86400,
            req_limit <= 259200, req_limit <= 604800, {_WAITS}
        FROM run WHERE {_STARTED} AND {_ALONE} GROUP BY ALL""",
        f"SELECT {_STARTED}, count(*) FROM run GROUP BY 1",
    ),
    "efficiency": (
        f"""SELECT cluster, queue, count(*), {_USED}, count(*) FILTER (size_gpus > 0)
        FROM run WHERE {_COUNTED} GROUP BY GROUPING SETS ((cluster, queue), ())""",
        _LEFT_OUT,
    ),
    "frameworks": (_PROGRAM.format(part="framework"), _LEFT_OUT),
    "names": (_PROGRAM.format(part="job_name"), _LEFT_OUT),
}  # fmt: skip


def main(file: str, *names: str) -> None:
    python = time.process_time()
    import duckdb

    modules, clock = time.process_time(), time.perf_counter()
    db = duckdb.connect()
    db.execute("SET threads = 1")
    db.execute(f"CREATE VIEW run AS SELECT * FROM read_parquet('{file}')")
    opened, spent = time.process_time(), {}
    for name in names:
        began = time.process_time()
        for query in QUERIES[name]:
            db.execute(query).fetchall()
        spent[name] = time.process_time() - began
    told = {"python": python, "modules": modules - python, "opening": opened - modules, "spent": spent}
    print(json.dumps({**told, "drawing": 0.0, "clock": time.perf_counter() - clock, "megabytes": peak()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
