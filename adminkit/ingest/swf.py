"""The Standard Workload Format 2.2: 18 numbers a line, -1 for unknown, times counted from UnixStartTime."""

from __future__ import annotations

from typing import Final

from adminkit.ingest.run import Statement
from adminkit.ingest.spec import outputs, parameters

#: SWF's status. 2, 3 and 4 are parts of a job whose whole has a line of its own.
_STATES: Final = "CASE {status} WHEN 0 THEN 'FAILED' WHEN 1 THEN 'COMPLETED' WHEN 5 THEN 'CANCELLED' END"

_VALUES: Final = {
    "cluster": "{cluster}",
    "job_id_raw": "{job}",
    "submit_time": "{start} + CAST({submit} AS INTEGER)",
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


def swf_values(reading: Statement) -> tuple[dict[str, str], str]:
    """(Job's column -> SQL, which rows) of an SWF trace; the last two parameters bound are cluster and start."""
    place = parameters(list(reading.columns))
    last = outputs(reading.columns) + len(reading.bind)
    place |= {"cluster": f"?{last - 1}", "start": f"CAST(?{last} AS INTEGER)"}
    values = {column: _fill(sql, place) for column, sql in _VALUES.items()}
    return values, _fill("({status} IS NULL OR {status} NOT IN (2, 3, 4))", place)


def _fill(sql: str, place: dict[str, str]) -> str:
    for name, where in place.items():
        sql = sql.replace("{" + name + "}", where)
    return sql
