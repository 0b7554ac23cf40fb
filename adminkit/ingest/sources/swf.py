"""The Standard Workload Format 2.2: 18 numbers a line, -1 for unknown, times counted from UnixStartTime."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from adminkit.ingest.helper import Statement
from adminkit.ingest.spec import outputs, parameters

#: The most names that are read of a header.
MAX_NAMES: Final = 1000
_START: Final = re.compile(r"^;[ \t]*UnixStartTime:[ \t]*([0-9]{1,12})\b", re.MULTILINE | re.ASCII)
_PROCS: Final = re.compile(r"^;[ \t]*MaxProcs:[ \t]*([0-9]{1,9})\b", re.MULTILINE | re.ASCII)
_NAME: Final = re.compile(r"^;[ \t]*(Queue|Partition):[ \t]*([0-9]{1,9})[ \t]+(\S{1,64})(?!\S)", re.MULTILINE)
#: A name as Slurm has them, with a letter; what looks like the number of a queue or partition is not a name.
_WORD: Final = re.compile(r"(?=.*[^\W\d_])[\w.+-]+")
_NUMBERED: Final = re.compile(r"(queue|partition)[0-9]+")

#: SWF's status. 2, 3 and 4 are parts of a job whose whole has a line of its own. It has no number for the end at the
#: limit: a job that ran for its limit and did not complete was killed there, whatever its site called that. Trap: sites
#: that hold nobody to a limit have runs of a thousand times theirs, which ended for another reason.
_KILL_SECONDS: Final = 600
_STATES: Final = (
    "CASE WHEN {status} = 1 THEN 'COMPLETED'"
    f" WHEN {{run}} - {{req_time}} BETWEEN 0 AND max({_KILL_SECONDS}, {{req_time}} / 10) AND {{req_time}} > 0"
    " THEN 'TIMEOUT'"
    " WHEN {status} = 0 THEN 'FAILED' WHEN {status} = 5 THEN 'CANCELLED' END"
)
#: Fields that count something: what is below 0 in them is nonsense, and unknown.
_AMOUNTS: Final = ("wait", "run", "procs", "cpu", "mem", "req_procs", "req_time", "req_mem")


def _named(sort: str) -> str:
    """SQL: what the header calls this job's queue or partition, else its number."""
    number = f"'{sort}' || CAST({{{sort}}} AS INTEGER)"
    return f"coalesce(json_extract({{names}}, '$.' || {number}), {number})"


#: Neither two queues nor two partitions may become one, so a job that has both is in "queue@partition".
_QUEUE: Final = (
    f"CASE WHEN {{queue}} >= 0 AND {{partition}} >= 0 THEN {_named('queue')} || '@' || {_named('partition')} "
    f"WHEN {{queue}} >= 0 THEN {_named('queue')} WHEN {{partition}} >= 0 THEN {_named('partition')} END"
)

_VALUES: Final = {
    "cluster": "{cluster}",
    "job_id_raw": "{job}",
    "submit_time": "{start} + CAST({submit} AS INTEGER)",
    "job_id": "CAST({job} AS TEXT)",
    "user": "'user' || CAST({user} AS INTEGER)",
    "group": "'group' || CAST({group} AS INTEGER)",
    "queue": _QUEUE,
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


@dataclass(frozen=True, slots=True)
class Header:
    """What the comments at the head of a trace say. `names` goes by queue1, partition0, …"""

    start: int = 0  # epoch seconds
    max_procs: int | None = None  # the processors of the machine
    names: Mapping[str, str] = field(default_factory=dict)


def read_header(text: str) -> Header:
    """The header in `text`. Anybody may have written it: what is malformed is ignored.

    A name is the first word after the number, and only where no other number has the same: two queues stay two.
    """
    text = text.rpartition("\n")[0]  # the last line may be cut short
    start, procs = _START.search(text), _PROCS.search(text)
    names: dict[str, str] = {}
    for sort, number, word in _NAME.findall(text):
        if len(names) < MAX_NAMES and _WORD.fullmatch(word) and not _NUMBERED.fullmatch(word.lower()):
            names.setdefault(f"{sort.lower()}{int(number)}", word)
    used = Counter((key.rstrip("0123456789"), word) for key, word in names.items())
    return Header(
        start=int(start.group(1)) if start else 0,
        max_procs=(int(procs.group(1)) if procs else 0) or None,
        names={key: word for key, word in names.items() if used[key.rstrip("0123456789"), word] == 1},
    )


def binds(header: Header) -> tuple[str, str]:
    """What swf_values expects as the last two parameters: the start, and the names as one JSON object."""
    return str(header.start), json.dumps(header.names)


def swf_values(reading: Statement) -> tuple[dict[str, str], str]:
    """(Job's column -> SQL, which rows) of an SWF trace; the last parameters bound are cluster and `binds`."""
    place = parameters(list(reading.columns))
    last = outputs(reading.columns) + len(reading.bind)
    place |= {"cluster": f"?{last - 2}", "start": f"CAST(?{last - 1} AS INTEGER)", "names": f"?{last}"}
    place |= {name: f"(CASE WHEN {place[name]} >= 0 THEN {place[name]} END)" for name in _AMOUNTS}
    values = {column: _fill(sql, place) for column, sql in _VALUES.items()}
    return values, _fill("({status} IS NULL OR {status} NOT IN (2, 3, 4))", place)


def _fill(sql: str, place: dict[str, str]) -> str:
    for name, where in place.items():
        sql = sql.replace("{" + name + "}", where)
    return sql
