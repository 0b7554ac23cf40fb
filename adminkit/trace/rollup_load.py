"""The rollups in a load of many rows by adminkit-ingest: it sums up what its statements store, in its transaction.

The statements hand each run to rolled(), which is adminkit-ingest's; native/ingest/image.c, hours.c and waits.c have in
C what rollup_row.py, rollup_hours.py and rollup_waits.py have in SQL. So the triggers do nothing while the rows come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from adminkit.trace.rollup import APART, DROP, EMPTY, add_ended, add_everybody, add_key, keep, key_of, triggers
from adminkit.trace.rollup_hours import CREATE_ODD
from adminkit.trace.rollup_row import TABLES

#: What rolled() wants of a run: the columns of job in the order of native/ingest/image.h; of node_list whether it is
#: known.
RUN: Final = (
    *("cluster", "queue", "user", "account", "state", "limit_kind", "limit_source", "source", "audited"),
    *("reason", "exit_code", "time_limit", "limit_original", "ext_asked", "ext_limit", "ext_times"),
    *("restarts", "ckpt_requeues", "ckpt_heard"),
    *("start_time", "eligible_time", "end_time", "elapsed"),
    *("nodes", "cpus", "gpus", "req_nodes", "req_cpus", "req_gpus", "node_list"),
)
#: The parts of a key in the order of native/ingest/image.c.
_PARTS: Final = (
    *("cluster", "queue", "user", "account", "state", "limit_kind", "limit_source", "source", "class"),
    *("limit_upto", "acting", "checkpoint", "exit_code", "ran_upto"),
)
#: What a column has where nothing is stored in it, if not NULL.
_DEFAULTS: Final = {"limit_kind": "'unknown'", "limit_source": "'unknown'"}


class RollupLoad(NamedTuple):
    """What adminkit-ingest is given: statements before and after the rows, and the values of its options --rollup."""

    before: Sequence[str]
    statements: Sequence[str]
    after: Sequence[str]


def rolled(value: str, *runs: Mapping[str, str]) -> str:
    """SQL: `value`, and in passing the run that is stored, or the one that is and the one that it becomes.

    A run is its columns -> SQL.
    """
    columns = [
        f"({run.get(column, 'NULL')}) IS NOT NULL"
        if column == "node_list"
        else run.get(column, _DEFAULTS.get(column, "NULL"))
        for run in runs
        for column in RUN
    ]
    return f"rolled({', '.join((value, *columns))})"


def _bound(count: int) -> str:
    return f"VALUES ({', '.join(f'?{number + 1}' for number in range(count))})"


_PLACES: Final = {name: f"?{number}" for number, name in enumerate(_PARTS, start=1)}
#: What the helper calls those of rollup.APART.
_CALLED: Final = ("hours", "waits")
_ROWS: Final = f"SELECT {rolled('NULL', {c: c for c in RUN})} FROM job WHERE end_time IS NOT NULL"


def _statements(rows: bool) -> list[str]:
    of = _PLACES.__getitem__
    found = {
        "find": key_of(of),
        "make-everybody": add_everybody(of),
        "make": add_key(of),
        "everybody": "SELECT coalesce(everybody, id) FROM rollup_key WHERE id = ?1",
        "month": add_ended("ended_month", _bound(2 + len(TABLES["ended_month"]))),
        "user": add_ended("ended_month_user", _bound(2 + len(TABLES["ended_month_user"]))),
    }
    for name, one in zip(_CALLED, APART, strict=True):
        places = {part: f"?{number}" for number, part in enumerate(one.keys, start=1)}
        found[f"find-of-{name}"], found[f"make-of-{name}"] = one.key_of(places), one.add_key(places)
        found[name] = one.add(_bound(2 + len(one.sums)))
    if rows:
        found["rows"] = _ROWS
    return [f"{name}={sql}" for name, sql in found.items()]


_LOAD: Final = RollupLoad((), _statements(rows=False), EMPTY)


def loading() -> RollupLoad:
    """What a load into a trace that keeps rollups adds."""
    return _LOAD


def rebuilding(now: int) -> RollupLoad:
    """Make the rollups from every row of job, and keep them up to date."""
    return RollupLoad((*DROP, keep(now)), _statements(rows=True), (CREATE_ODD, *triggers()))
