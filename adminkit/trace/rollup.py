"""The rollups: sums of runs that ended, per UTC hour, in three tables. docs/adr/0015-rollups.md has the reasons.

`ended_hour` has a row for each hour, key and bins; `occupied_hour` has how the use of nodes, CPUs and GPUs changes in
an hour. Every number is whole, so that adding and subtracting a run is exact. What a run adds depends on its own row
alone. While a trace keeps rollups (`rollup_kept` has a row), triggers on `job` add and subtract: whoever writes a row
corrects the sums in the same transaction.

A bin goes by its upper edge: `wait_upto` 600 is a wait of more than 300 and at most 600 seconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from adminkit.trace.run_view import CHECKPOINT_OWN, CPUS, GPUS, NODES, REQ_LIMIT, TOO_LONG, acting, class_sql
from adminkit.trace.transaction import transaction

#: Of what the tables hold. A release that changes it counts one up; rollups of another version are not read.
VERSION: Final = 1
HOUR: Final = 3600
_MINUTE: Final = 60
#: Upper edges of the bins of wait, elapsed and req_limit, seconds; 0 is a bin of its own.
EDGES: Final = (
    0, 10, 30, 60, 120, 300, 600, 900, 1200, 1800, 2700, HOUR, 90 * _MINUTE, 2 * HOUR, 3 * HOUR, 4 * HOUR, 6 * HOUR,
    8 * HOUR, 12 * HOUR, 16 * HOUR, 24 * HOUR, 36 * HOUR, 48 * HOUR, 72 * HOUR, 96 * HOUR, 168 * HOUR, 336 * HOUR,
    720 * HOUR, TOO_LONG - 1,
)  # fmt: skip
#: Width of a bin of accuracy, per cent, and the bin of everything above 100 %.
PERCENT: Final = 5
OVER: Final = 100 + PERCENT
#: More nodes, CPUs or GPUs of one run are nonsense and count as unknown; sums stay within 64 bits.
MOST: Final = 1 << 24


def _upto(value: str) -> str:
    return f"CASE WHEN {value} >= 0 AND {value} < {TOO_LONG} THEN {_halved(value, EDGES)} END"


def _halved(value: str, edges: Sequence[int]) -> str:
    """The first of `edges` that is not below the value, found in halves."""
    if len(edges) == 1:
        return str(edges[0])
    middle = len(edges) // 2
    below, above = _halved(value, edges[:middle]), _halved(value, edges[middle:])
    return f"CASE WHEN {value} <= {edges[middle - 1]} THEN {below} ELSE {above} END"


def hour_of(time: str) -> str:
    """The UTC hour of a time; also of one before 1970."""
    return f"({time} - (({time} % {HOUR}) + {HOUR}) % {HOUR})"


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
}
_MAY_BE_NULL: Final = ("queue", "user", "account", "class", "state", "limit_upto", "exit_code")
_RAN: Final = f"elapsed >= 0 AND elapsed < {TOO_LONG}"
_WAITED: Final = f"wait >= 0 AND wait < {TOO_LONG}"
_LIMITED: Final = f"{_RAN} AND req_limit > 0"
#: The bins -> SQL over a row of job with size_nodes, size_cpus, size_gpus and req_limit.
BINS: Final = {
    "elapsed_upto": _upto("elapsed"),
    "wait_upto": _upto("wait"),
    "accuracy_upto": f"CASE WHEN {_LIMITED} THEN"
    f" min((elapsed * {100 // PERCENT} + req_limit - 1) / req_limit * {PERCENT}, {OVER}) END",
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
#: What changes in an hour: how many more are in use from its end on, the correction of this hour's seconds, and of how
#: many starts and ends these are.
LEVELS: Final = ("nodes", "cpus", "gpus", "node_seconds", "cpu_seconds", "gpu_seconds", "edges")

_FROM: Final = (
    *("cluster", "queue", "user", "account", "state", "limit_kind", "limit_source", "source", "audited", "exit_code"),
    *("time_limit", "limit_original", "restarts", "ckpt_requeues", "ckpt_heard", "start_time", "eligible_time"),
    *("end_time", "elapsed", "nodes", "cpus", "gpus", "req_nodes", "req_cpus", "req_gpus"),
)


def _columns(names: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {name}" for name, sql in names.items())


def image(rows: str, keys: Mapping[str, str] = KEYS) -> str:
    """SQL: what each row of `rows` (job, or a SELECT in parentheses) adds: hour, keys, bins, sums; times and sizes."""
    # Trap: without LIMIT SQLite writes each expression out wherever its name stands, and computes it as often.
    inner = (
        f"SELECT {', '.join(_FROM)}, {_columns(_SIZES)}, {REQ_LIMIT} AS req_limit, start_time - eligible_time AS wait"
        f" FROM {rows} AS job LIMIT -1"
    )
    return (
        f"SELECT {hour_of('end_time')} AS hour, {_columns(keys)}, {_columns(BINS)}, {_columns(SUMS)},"
        f" start_time, end_time, size_nodes, size_cpus, size_gpus FROM ({inner}) AS job LIMIT -1"
    )


def _edge(sign: str, seconds: str) -> dict[str, str]:
    """LEVELS of a run's start or end -> SQL over an image. `seconds`: the correction for one unit."""
    units = ("node", "cpu", "gpu")
    return {
        **{f"{unit}s": f"{sign}coalesce(size_{unit}s, 0)" for unit in units},
        **{f"{unit}_seconds": f"coalesce(size_{unit}s, 0) * ({seconds})" for unit in units},
        "edges": "1",
    }


#: The times at which a run changes what is in use -> by how much.
EDGES_OF_RUN: Final = {
    "start_time": _edge("", f"{hour_of('start_time')} + {HOUR} - start_time"),
    "end_time": _edge("-", f"end_time - {hour_of('end_time')} - {HOUR}"),
}
#: Whether an image has a start and an end that count.
HELD: Final = f"start_time <= end_time AND end_time - start_time < {TOO_LONG}"


def levels(images: str) -> str:
    """SQL: what the runs of `images` add to occupied_hour: a row where each starts and one where it ends."""
    return " UNION ALL ".join(
        f"SELECT {hour_of(time)} AS hour, {', '.join(KEYS)}, {_columns(more)} FROM ({images}) WHERE {HELD}"
        for time, more in EDGES_OF_RUN.items()
    )


def _unique(name: str, table: str = "") -> str:
    """SQL of a column in a unique index, where NULL is a value like others."""
    return _null_is_a_value(name, f"{table}{name}")


def _null_is_a_value(name: str, value: str) -> str:
    return f"ifnull({value}, x'')" if name in _MAY_BE_NULL or name in BINS else value


_KEY_TARGET: Final = ", ".join(map(_unique, KEYS))
_ENDED_TARGET: Final = ", ".join(("hour", "key", *map(_unique, BINS)))
_TEXT: Final = ("cluster", "queue", "user", "account", "class", "state", "limit_kind", "limit_source", "source")


def _declared(name: str) -> str:
    return f"{name} {'TEXT' if name in _TEXT else 'INTEGER'}{'' if name in _MAY_BE_NULL else ' NOT NULL'}"


#: The statements that make the tables.
TABLES: Final = (
    "CREATE TABLE rollup_kept (version INTEGER NOT NULL, since INTEGER NOT NULL) STRICT",
    f"CREATE TABLE rollup_key (id INTEGER PRIMARY KEY, {', '.join(map(_declared, KEYS))}) STRICT",
    f"CREATE UNIQUE INDEX rollup_key_all ON rollup_key ({_KEY_TARGET})",
    f"CREATE TABLE ended_hour (hour INTEGER NOT NULL, key INTEGER NOT NULL, {', '.join(f'{b} INTEGER' for b in BINS)},"
    f" {', '.join(f'{name} INTEGER NOT NULL' for name in SUMS)}) STRICT",
    f"CREATE UNIQUE INDEX ended_hour_all ON ended_hour ({_ENDED_TARGET})",
    "CREATE INDEX ended_hour_empty ON ended_hour (hour) WHERE jobs = 0",
    f"CREATE TABLE occupied_hour (hour INTEGER NOT NULL, key INTEGER NOT NULL,"
    f" {', '.join(f'{name} INTEGER NOT NULL' for name in LEVELS)}, UNIQUE (hour, key)) STRICT",
    "CREATE INDEX occupied_hour_empty ON occupied_hour (hour) WHERE edges = 0",
)
#: Their names.
NAMES: Final = ("rollup_kept", "rollup_key", "ended_hour", "occupied_hour")
_TRIGGERS: Final = ("rollup_insert", "rollup_update", "rollup_delete")
#: SQL: what removes the triggers.
NO_TRIGGERS: Final = tuple(f"DROP TRIGGER IF EXISTS {name}" for name in _TRIGGERS)
#: SQL: what removes the rows from which every run is gone. Runs may be subtracted before others are added.
EMPTY: Final = ("DELETE FROM ended_hour WHERE jobs = 0", "DELETE FROM occupied_hour WHERE edges = 0")

_ADDED: Final = ", ".join(f"{name} = {name} + excluded.{name}" for name in SUMS)
_LEVELLED: Final = ", ".join(f"{name} = {name} + excluded.{name}" for name in LEVELS)


def key_of(value: Callable[[str], str]) -> str:
    """SQL: a SELECT of the id of a key whose parts are `value` of their names."""
    return "SELECT id FROM rollup_key AS k WHERE " + " AND ".join(
        f"{_unique(name, 'k.')} = {_null_is_a_value(name, value(name))}" for name in KEYS
    )


def add_key(rows: str) -> str:
    """SQL: put in the keys of `rows` that are not there. Without a table of its own a SELECT needs a WHERE."""
    return f"INSERT INTO rollup_key ({', '.join(KEYS)}) {rows} ON CONFLICT DO NOTHING"


def add_ended(rows: str) -> str:
    """SQL: add `rows` of hour, key, BINS, SUMS; as add_key."""
    names = ", ".join(("hour", "key", *BINS, *SUMS))
    return f"INSERT INTO ended_hour ({names}) {rows} ON CONFLICT ({_ENDED_TARGET}) DO UPDATE SET {_ADDED}"


def add_occupied(rows: str) -> str:
    """SQL: add `rows` of hour, key, LEVELS; as add_key."""
    names = ", ".join(("hour", "key", *LEVELS))
    return f"INSERT INTO occupied_hour ({names}) {rows} ON CONFLICT (hour, key) DO UPDATE SET {_LEVELLED}"


_KEY_OF: Final = f"({key_of('i.{}'.format)})"


def _put(row: str, sign: str) -> list[str]:
    """The statements that add (sign "") or subtract ("-") the row OLD or NEW of a trigger."""
    one = image(f"(SELECT {', '.join(f'{row}.{c} AS {c}' for c in _FROM)} WHERE {row}.end_time IS NOT NULL)")
    sums, changes = (", ".join(f"{sign}{name}" for name in names) for names in (SUMS, LEVELS))
    ended = add_ended(f"SELECT hour, {_KEY_OF}, {', '.join(BINS)}, {sums} FROM ({one}) AS i WHERE TRUE")
    occupied = add_occupied(f"SELECT hour, {_KEY_OF}, {changes} FROM ({levels(one)}) AS i WHERE TRUE")
    if not sign:
        return [add_key(f"SELECT {', '.join(KEYS)} FROM ({one}) WHERE TRUE"), ended, occupied]
    return [ended, occupied, *EMPTY]


def triggers() -> list[str]:
    """SQL: what makes the triggers."""
    changed = f"({', '.join(f'OLD.{c}' for c in _FROM)}) IS NOT ({', '.join(f'NEW.{c}' for c in _FROM)})"
    add, subtract = _put("NEW", ""), _put("OLD", "-")
    bodies = (
        ("INSERT", "NEW.end_time IS NOT NULL", add),
        ("UPDATE", f"{changed} AND coalesce(OLD.end_time, NEW.end_time) IS NOT NULL", subtract + add),
        ("DELETE", "OLD.end_time IS NOT NULL", subtract),
    )
    return [
        f"CREATE TRIGGER {name} AFTER {event} ON job WHEN {when} BEGIN {'; '.join(body)}; END"
        for name, (event, when, body) in zip(_TRIGGERS, bodies, strict=True)
    ]


_ENDED_ROWS: Final = image("(SELECT * FROM job WHERE end_time IS NOT NULL)")
_PARTS: Final = ", ".join(("hour", *KEYS, *BINS))
_LEVEL_PARTS: Final = ", ".join(("hour", *KEYS))
#: SQL: both tables as the rows of job say, and as they are kept, with the columns of the key.
_FROM_JOBS: Final = (
    f"SELECT {_PARTS}, {', '.join(f'sum({name})' for name in SUMS)} FROM ({_ENDED_ROWS}) GROUP BY {_PARTS}",
    f"SELECT {_LEVEL_PARTS}, {', '.join(f'sum({name}) AS {name}' for name in LEVELS)} FROM ({levels(_ENDED_ROWS)})"
    f" GROUP BY {_LEVEL_PARTS}",
)
KEPT: Final = (
    f"SELECT {_PARTS}, {', '.join(SUMS)} FROM ended_hour JOIN rollup_key ON id = key",
    f"SELECT {_LEVEL_PARTS}, {', '.join(LEVELS)} FROM occupied_hour JOIN rollup_key ON id = key",
)


#: SQL: what empties the tables, and keeps none from here on.
DROP: Final = (*NO_TRIGGERS, *(f"DELETE FROM {name}" for name in NAMES))


def keep(now: int) -> str:
    """SQL: say that the tables are kept from here on, which the triggers do."""
    return f"INSERT INTO rollup_kept VALUES ({VERSION}, {int(now)})"


class Size(NamedTuple):
    """Rows of the three tables, and of the runs that they sum up."""

    ended: int
    occupied: int
    keys: int
    runs: int


class Differences(NamedTuple):
    """Rows that differ from what the runs say: kept ones that are wrong, and ones that are missing."""

    wrong: int
    missing: int


def is_kept(db: sqlite3.Connection) -> bool:
    """Whether the trace keeps rollups of this version, and this connection may use them."""
    return db.execute("SELECT 1 FROM rollup_kept WHERE version = ?", (VERSION,)).fetchone() is not None


def rebuild(db: sqlite3.Connection, now: int) -> Size:
    """Make the rollups from the rows of job, and keep them from here on. One transaction."""
    with transaction(db):
        for statement in DROP:
            db.execute(statement)
        db.execute(f"INSERT INTO rollup_key ({', '.join(KEYS)}) SELECT DISTINCT {', '.join(KEYS)} FROM ({_ENDED_ROWS})")
        for table, columns, rows in (
            ("ended_hour", (*BINS, *SUMS), _FROM_JOBS[0]),
            ("occupied_hour", LEVELS, _FROM_JOBS[1]),
        ):
            names = ", ".join(("hour", *KEYS, *columns))
            db.execute(
                f"WITH i ({names}) AS ({rows}) INSERT INTO {table} (hour, key, {', '.join(columns)})"
                f" SELECT hour, {_KEY_OF}, {', '.join(columns)} FROM i"
            )
        for statement in (*triggers(), keep(now)):
            db.execute(statement)
    return size(db)


def drop(db: sqlite3.Connection) -> None:
    """Keep no rollups any more. One transaction."""
    with transaction(db):
        for statement in DROP:
            db.execute(statement)


def size(db: sqlite3.Connection) -> Size:
    """How large the rollups are."""
    rows, occupied, keys = (
        int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        for table in ("ended_hour", "occupied_hour", "rollup_key")
    )
    (runs,) = db.execute("SELECT coalesce(sum(jobs), 0) FROM ended_hour").fetchone()
    return Size(rows, occupied, keys, int(runs))


def check(db: sqlite3.Connection) -> Differences:
    """Compare both tables with the runs. The caller holds a transaction, or nobody writes."""
    wrong = missing = 0
    for rows, kept in zip(_FROM_JOBS, KEPT, strict=True):
        wrong += _only(db, kept, rows)
        missing += _only(db, rows, kept)
    return Differences(wrong, missing)


def _only(db: sqlite3.Connection, these: str, others: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM (SELECT * FROM ({these}) EXCEPT {others})").fetchone()[0])
