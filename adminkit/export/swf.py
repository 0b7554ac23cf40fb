"""The Standard Workload Format 2.2 (Feitelson, Parallel Workloads Archive): 18 numbers for each run that ended, -1 for
unknown, times counted from UnixStartTime. What it has no place for is in a CSV beside it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from adminkit.export.folder import BATCH, whole_file
from adminkit.export.pseudonyms import Pseudonyms
from adminkit.job import KEY
from adminkit.sqlite import sqlite3
from adminkit.stats.exported import chosen_runs, counted, machine_size, names, submitted
from adminkit.stats.select import Filter, Selection
from adminkit.trace.exchange import SIDECAR, TABLES
from adminkit.trace.run_view import TOO_LONG

#: Slurm's state -> status; every other state is a failure, 0, and an unknown one unknown.
_STATUS: Final = {"COMPLETED": 1, "CANCELLED": 5}
#: Columns of the sidecar besides its key, which is that of the imported SWF trace: cluster, the line's number,
#: submission.
BESIDE: Final = (
    "user", "group", "account", "queue", "qos", "job_name", "state", "reason", "eligible_time", "end_time", "suspended",
    "array_job", "array_task", "time_limit", "limit_kind", "limit_source", "limit_original", "ext_asked", "ext_limit",
    "ext_times", "req_nodes", "req_gpus", "nodes", "gpus", "gpu_type", "req_mem", "mem", "cpu_time", "max_rss",
)  # fmt: skip
_PLACE: Final = {name: number for number, name in enumerate(TABLES["job"].columns)}
_UNKNOWN: Final = -1


def write_swf(
    db: sqlite3.Connection,
    path: Path,
    cluster: str,
    chosen: Filter,
    pseudonyms: Pseudonyms | None,
    tick: Callable[[int], None],
) -> int:
    """Write the trace at `path` and its sidecar beside it. Returns how many runs; what has not ended is left out."""
    which = chosen_runs(chosen, ended=True)
    many, _, _ = counted(db, which)
    numbers = {column: _numbered(db, column, which, pseudonyms) for column in ("user", "group", "queue", "job_name")}
    hide = pseudonyms.row("job") if pseudonyms else tuple
    start = 0
    # Trap: the trace gets its name last, so whoever finds it finds its names.
    with whole_file(path) as trace, whole_file(path.with_name(path.name + SIDECAR)) as beside:
        table = csv.writer(beside, lineterminator="\n")
        table.writerow((*KEY, *BESIDE))
        for number, row in enumerate(submitted(db, which), start=1):
            if number == 1:
                start = _int(row, "submit_time") or 0
                trace.write(_header(db, cluster, start, many, numbers["queue"]))
            trace.write(" ".join(map(str, _line(number, row, start, numbers))) + "\n")
            shown = hide(row)
            table.writerow((cluster, number, _int(row, "submit_time"), *(shown[_PLACE[name]] for name in BESIDE)))
            if number % BATCH == 0:
                tick(number)
        if many == 0:
            trace.write(_header(db, cluster, 0, 0, {}))
    return many


def _numbered(db: sqlite3.Connection, column: str, which: Selection, pseudonyms: Pseudonyms | None) -> dict[str, int]:
    """Name -> number, from 1. Trap: numbers in the order of names would tell something of hidden ones."""
    found = names(db, column, which)
    if pseudonyms and column != "queue":
        found.sort(key=lambda name: pseudonyms.name(column, name))
    return {name: number for number, name in enumerate(found, start=1)}


def _int(row: tuple[object, ...], name: str) -> int | None:
    value = row[_PLACE[name]]
    return value if isinstance(value, int) else None


def _unextended(row: tuple[object, ...]) -> int | None:
    """run_view.UNEXTENDED of the row."""
    limit, asked, last, times = (_int(row, name) for name in ("time_limit", "ext_asked", "ext_limit", "ext_times"))
    extended = asked is not None and last is not None and (times or 0) > 0 and 0 < asked < last < TOO_LONG
    return asked if extended and limit is not None and last is not None and limit <= last else limit


def _line(number: int, row: tuple[object, ...], start: int, numbers: dict[str, dict[str, int]]) -> Iterator[int]:
    """The 18 numbers of a run."""
    submit, begin = _int(row, "submit_time") or 0, _int(row, "start_time")
    asked, given = _int(row, "req_cpus"), _int(row, "cpus")
    memory, peak = _int(row, "req_mem"), _int(row, "max_rss")
    limit = _int(row, "limit_original") or _unextended(row)
    used = row[_PLACE["cpu_time"]]
    yield number
    yield submit - start
    yield begin - submit if begin is not None and begin >= submit else _UNKNOWN
    yield _known(_int(row, "elapsed"))
    yield _known(given)
    yield round(used / given) if isinstance(used, (int, float)) and given else _UNKNOWN  # of each processor
    yield peak // 1024 if peak is not None else _UNKNOWN
    yield _known(asked)
    yield _known(limit)
    yield memory // 1024 // max(asked or 1, 1) if memory is not None else _UNKNOWN
    state = row[_PLACE["state"]]
    yield _STATUS.get(str(state), 0) if state is not None else _UNKNOWN
    for column in ("user", "group", "job_name", "queue"):
        name = row[_PLACE[column]]
        yield numbers[column][name] if isinstance(name, str) else _UNKNOWN
    yield from (_UNKNOWN,) * 3


def _known(value: int | None) -> int:
    return _UNKNOWN if value is None else value


def _header(db: sqlite3.Connection, cluster: str, start: int, many: int, queues: dict[str, int]) -> str:
    """The comments at the head. Names in them are one word each, as the reader has it; others stay numbers."""
    nodes, cpus = machine_size(db, cluster)
    said = [
        ("Version", "2.2"),
        ("Computer", _word(cluster)),
        ("Conversion", "adminkit export"),
        ("MaxJobs", many),
        ("MaxRecords", many),
        ("UnixStartTime", start),
        ("TimeZoneString", "UTC"),
        ("StartTime", datetime.fromtimestamp(start, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")),
        *([("MaxNodes", nodes)] if nodes else []),
        *([("MaxProcs", cpus)] if cpus else []),
        ("MaxQueues", len(queues)),
        *(("Queue", f"{number} {_word(name)}") for name, number in queues.items()),
    ]
    return "".join(f"; {key}: {value}\n" for key, value in said)


def _word(name: str) -> str:
    """A name as one printable word."""
    return "".join(c if c.isalnum() or c in "_.+-" else "_" for c in name)[:64] or "_"
