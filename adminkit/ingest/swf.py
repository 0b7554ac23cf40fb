"""The Standard Workload Format 2.2: 18 numbers a line, -1 for unknown, times counted from UnixStartTime."""

from __future__ import annotations

from typing import Any, Final

from adminkit.ingest.layout import Layout
from adminkit.ingest.run import Statement
from adminkit.ingest.spec import parameters
from adminkit.trace.upsert import upsert_job

#: SWF's status. 2, 3 and 4 are parts of a job whose whole has a line of its own.
_STATES: Final = "CASE {status} WHEN 0 THEN 'FAILED' WHEN 1 THEN 'COMPLETED' WHEN 5 THEN 'CANCELLED' END"

_VALUES: Final = {
    "cluster": "{cluster}",
    "job_id_raw": "{job}",
    "submit_time": "{start} + CAST({submit} AS INTEGER)",
    "synced": "0",
    "job_id": "CAST({job} AS TEXT)",
    "user": "'user' || CAST({user} AS INTEGER)",
    "group": "'group' || CAST({group} AS INTEGER)",
    "queue": "'queue' || CAST({queue} AS INTEGER)",
    "job_name": "'app' || CAST({app} AS INTEGER)",
    "state": _STATES,
    "eligible_time": "{start} + CAST({submit} AS INTEGER)",
    "start_time": "{start} + CAST({submit} + {wait} AS INTEGER)",
    "end_time": "{start} + CAST({submit} + {wait} + {run} AS INTEGER)",
    "elapsed": "CAST({run} AS INTEGER)",
    "time_limit": "CAST(nullif({req_time}, 0) AS INTEGER)",
    "limit_kind": "CASE WHEN {req_time} > 0 THEN 'finite' ELSE 'unknown' END",
    "req_cpus": "CAST({req_procs} AS INTEGER)",
    "cpus": "CAST(nullif({procs}, 0) AS INTEGER)",
    "req_mem": "CAST({req_mem} * 1024 * coalesce({req_procs}, 1) AS INTEGER)",
    "max_rss": "CAST({mem} * 1024 AS INTEGER)",
    "cpu_time": "CAST({cpu} * {procs} AS REAL)",
}


def swf_statement(layout: Layout, common: dict[str, Any]) -> Statement:
    """How adminkit-ingest reads an SWF trace. `common` binds source, time and cluster, in this order."""
    place = parameters(layout.columns)
    last = max(int(where[1:]) for where in place.values())
    bound = last + len(common["bind"])
    place |= {"cluster": f"?{bound}", "start": f"CAST(?{bound + 1} AS INTEGER)"}
    values = {column: _fill(sql, place) for column, sql in _VALUES.items()}
    only = _fill("({status} IS NULL OR {status} NOT IN (2, 3, 4))", place)
    bind = (*common.pop("bind"), str(layout.swf_start))
    return Statement(**common, swf=True, bind=bind, job_sql=upsert_job(values, only))


def _fill(sql: str, place: dict[str, str]) -> str:
    for name, where in place.items():
        sql = sql.replace("{" + name + "}", where)
    return sql
