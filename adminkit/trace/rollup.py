"""The rollups: sums of runs that ended, per UTC month, day and hour. docs/adr/0015-rollups.md has the reasons.

`ended_month` and `ended_day` have a row for each month or day, key and bins; `occupied_hour` has how the use of nodes,
CPUs and GPUs of a queue changes in an hour. While a trace keeps rollups (`rollup_kept` has a row), triggers on `job`
add and subtract what rollup_row.py says: whoever writes a row corrects the sums in the same transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from adminkit.trace.rollup_row import BINS, FROM, KEYS, LEVELS, MAY_BE_NULL, QUEUE, SPANS, SUMS, image, levels
from adminkit.trace.transaction import transaction

#: Of what the tables hold. A release that changes it counts one up; rollups of another version are not read.
VERSION: Final = 1


def _unique(name: str, table: str = "") -> str:
    """SQL of a column in a unique index, where NULL is a value like others."""
    return _null_is_a_value(name, f"{table}{name}")


def _null_is_a_value(name: str, value: str) -> str:
    return f"ifnull({value}, x'')" if name in MAY_BE_NULL or name in BINS else value


_KEY_TARGET: Final = ", ".join(map(_unique, KEYS))
_QUEUE_TARGET: Final = ", ".join(map(_unique, QUEUE))


def _ended_target(span: str) -> str:
    return ", ".join((span, "key", *map(_unique, BINS)))


_TEXT: Final = ("cluster", "queue", "user", "account", "class", "state", "limit_kind", "limit_source", "source")


def _declared(name: str) -> str:
    return f"{name} {'TEXT' if name in _TEXT else 'INTEGER'}{'' if name in MAY_BE_NULL else ' NOT NULL'}"


def _ended(span: str) -> tuple[str, ...]:
    """The statements that make the table of a span."""
    bins, sums = (f"{bin} INTEGER" for bin in BINS), (f"{name} INTEGER NOT NULL" for name in SUMS)
    return (
        f"CREATE TABLE ended_{span} ({span} INTEGER NOT NULL, key INTEGER NOT NULL, {', '.join((*bins, *sums))})"
        " STRICT",
        f"CREATE UNIQUE INDEX ended_{span}_all ON ended_{span} ({_ended_target(span)})",
        f"CREATE INDEX ended_{span}_empty ON ended_{span} ({span}) WHERE jobs = 0",
    )


#: The statements that make the tables.
TABLES: Final = (
    "CREATE TABLE rollup_kept (version INTEGER NOT NULL, since INTEGER NOT NULL) STRICT",
    f"CREATE TABLE rollup_key (id INTEGER PRIMARY KEY, {', '.join(map(_declared, KEYS))}) STRICT",
    f"CREATE UNIQUE INDEX rollup_key_all ON rollup_key ({_KEY_TARGET})",
    f"CREATE TABLE rollup_queue (id INTEGER PRIMARY KEY, {', '.join(map(_declared, QUEUE))}) STRICT",
    f"CREATE UNIQUE INDEX rollup_queue_all ON rollup_queue ({_QUEUE_TARGET})",
    *(statement for span in SPANS for statement in _ended(span)),
    f"CREATE TABLE occupied_hour (hour INTEGER NOT NULL, queue INTEGER NOT NULL,"
    f" {', '.join(f'{name} INTEGER NOT NULL' for name in LEVELS)}, UNIQUE (hour, queue)) STRICT",
    "CREATE INDEX occupied_hour_empty ON occupied_hour (hour) WHERE edges = 0",
)
_ENDED: Final = tuple(f"ended_{span}" for span in SPANS)
#: Their names.
NAMES: Final = ("rollup_kept", "rollup_key", "rollup_queue", *_ENDED, "occupied_hour")
_TRIGGERS: Final = ("rollup_insert", "rollup_update", "rollup_delete")
_NO_TRIGGERS: Final = tuple(f"DROP TRIGGER IF EXISTS {name}" for name in _TRIGGERS)
#: SQL: what removes the rows from which every run is gone. Runs may be subtracted before others are added.
EMPTY: Final = (
    *(f"DELETE FROM {table} WHERE jobs = 0" for table in _ENDED),
    "DELETE FROM occupied_hour WHERE edges = 0",
)

_ADDED: Final = ", ".join(f"{name} = {name} + excluded.{name}" for name in SUMS)
_LEVELLED: Final = ", ".join(f"{name} = {name} + excluded.{name}" for name in LEVELS)


def _number(table: str, parts: Iterable[str], value: Callable[[str], str]) -> str:
    return f"SELECT id FROM {table} AS k WHERE " + " AND ".join(
        f"{_unique(name, 'k.')} = {_null_is_a_value(name, value(name))}" for name in parts
    )


def key_of(value: Callable[[str], str]) -> str:
    """SQL: a SELECT of the id of a key whose parts are `value` of their names."""
    return _number("rollup_key", KEYS, value)


def queue_of(value: Callable[[str], str]) -> str:
    """SQL: a SELECT of the id of a queue; as key_of."""
    return _number("rollup_queue", QUEUE, value)


def add_key(rows: str) -> str:
    """SQL: put in the keys of `rows` that are not there. Without a table of its own a SELECT needs a WHERE."""
    return f"INSERT INTO rollup_key ({', '.join(KEYS)}) {rows} ON CONFLICT DO NOTHING"


def add_queue(rows: str) -> str:
    """SQL: put in the queues of `rows`; as add_key."""
    return f"INSERT INTO rollup_queue ({', '.join(QUEUE)}) {rows} ON CONFLICT DO NOTHING"


def add_ended(span: str, rows: str) -> str:
    """SQL: add `rows` of the span, key, BINS, SUMS; as add_key."""
    names = ", ".join((span, "key", *BINS, *SUMS))
    return f"INSERT INTO ended_{span} ({names}) {rows} ON CONFLICT ({_ended_target(span)}) DO UPDATE SET {_ADDED}"


def add_occupied(rows: str) -> str:
    """SQL: add `rows` of hour, queue, LEVELS; as add_key."""
    names = ", ".join(("hour", "queue", *LEVELS))
    return f"INSERT INTO occupied_hour ({names}) {rows} ON CONFLICT (hour, queue) DO UPDATE SET {_LEVELLED}"


_KEY_OF: Final = f"({key_of('i.{}'.format)})"
_QUEUE_OF: Final = f"({queue_of('i.{}'.format)})"


def _put(row: str, sign: str) -> list[str]:
    """The statements that add (sign "") or subtract ("-") the row OLD or NEW of a trigger."""
    one = image(f"(SELECT {', '.join(f'{row}.{c} AS {c}' for c in FROM)} WHERE {row}.end_time IS NOT NULL)")
    sums, changes = (", ".join(f"{sign}{name}" for name in names) for names in (SUMS, LEVELS))
    ended = [
        add_ended(span, f"SELECT {span}, {_KEY_OF}, {', '.join(BINS)}, {sums} FROM ({one}) AS i WHERE TRUE")
        for span in SPANS
    ]
    occupied = add_occupied(f"SELECT hour, {_QUEUE_OF}, {changes} FROM ({levels(one)}) AS i WHERE TRUE")
    if sign:
        return [*ended, occupied, *EMPTY]
    queue = f"SELECT {row}.cluster, {row}.queue WHERE {row}.end_time IS NOT NULL"
    return [add_key(f"SELECT {', '.join(KEYS)} FROM ({one}) WHERE TRUE"), add_queue(queue), *ended, occupied]


def triggers() -> list[str]:
    """SQL: what makes the triggers."""
    changed = f"({', '.join(f'OLD.{c}' for c in FROM)}) IS NOT ({', '.join(f'NEW.{c}' for c in FROM)})"
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
_PARTS: Final = ", ".join((*KEYS, *BINS))
_LEVEL_PARTS: Final = ", ".join(("hour", *QUEUE))
#: SQL: the tables as the rows of job say, and as they are kept, with the columns of the key.
_FROM_JOBS: Final = (
    *(
        f"SELECT {span}, {_PARTS}, {', '.join(f'sum({name})' for name in SUMS)} FROM ({_ENDED_ROWS})"
        f" GROUP BY {span}, {_PARTS}"
        for span in SPANS
    ),
    f"SELECT {_LEVEL_PARTS}, {', '.join(f'sum({name}) AS {name}' for name in LEVELS)} FROM ({levels(_ENDED_ROWS)})"
    f" GROUP BY {_LEVEL_PARTS}",
)
#: SQL: occupied_hour with the columns of QUEUE.
OCCUPIED: Final = (
    f"SELECT hour, cluster, q.queue AS queue, {', '.join(LEVELS)}"
    " FROM occupied_hour AS o JOIN rollup_queue AS q ON q.id = o.queue"
)
KEPT: Final = (
    *(f"SELECT {span}, {_PARTS}, {', '.join(SUMS)} FROM ended_{span} JOIN rollup_key ON id = key" for span in SPANS),
    OCCUPIED,
)


#: SQL: what empties the tables, and keeps none from here on.
DROP: Final = (*_NO_TRIGGERS, *(f"DELETE FROM {name}" for name in NAMES))


def keep(now: int) -> str:
    """SQL: say that the tables are kept from here on, which the triggers do."""
    return f"INSERT INTO rollup_kept VALUES ({VERSION}, {int(now)})"


class Size(NamedTuple):
    """Rows of the tables, and runs that they sum up."""

    months: int
    days: int
    hours: int
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
        db.execute(add_queue("SELECT DISTINCT cluster, queue FROM job WHERE end_time IS NOT NULL"))
        for span, rows in zip(SPANS, _FROM_JOBS, strict=False):
            columns = ", ".join((*BINS, *SUMS))
            db.execute(
                f"WITH i ({span}, {', '.join(KEYS)}, {columns}) AS ({rows})"
                f" INSERT INTO ended_{span} ({span}, key, {columns}) SELECT {span}, {_KEY_OF}, {columns} FROM i"
            )
        db.execute(
            f"INSERT INTO occupied_hour SELECT hour, {_QUEUE_OF}, {', '.join(LEVELS)} FROM ({_FROM_JOBS[-1]}) AS i"
        )
        for statement in (*triggers(), keep(now)):
            db.execute(statement)
    return size(db)


def drop(db: sqlite3.Connection) -> None:
    """Keep no rollups any more. One transaction."""
    with transaction(db):
        for statement in DROP:
            db.execute(statement)


def forget_keys(db: sqlite3.Connection) -> None:
    """Delete the keys of which no run is left: they hold names. One transaction."""
    used = " UNION ".join(f"SELECT key FROM {table}" for table in _ENDED)
    with transaction(db):
        for statement in EMPTY:
            db.execute(statement)
        db.execute(f"DELETE FROM rollup_key WHERE id NOT IN ({used})")
        db.execute("DELETE FROM rollup_queue WHERE id NOT IN (SELECT queue FROM occupied_hour)")


def size(db: sqlite3.Connection) -> Size:
    """How large the rollups are."""
    months, days, hours, keys = (
        int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        for table in (*_ENDED, "occupied_hour", "rollup_key")
    )
    (runs,) = db.execute("SELECT coalesce(sum(jobs), 0) FROM ended_month").fetchone()
    return Size(months, days, hours, keys, int(runs))


def check(db: sqlite3.Connection) -> Differences:
    """Compare the tables with the runs. The caller holds a transaction, or nobody writes."""
    wrong = missing = 0
    for rows, kept in zip(_FROM_JOBS, KEPT, strict=True):
        wrong += _only(db, kept, rows)
        missing += _only(db, rows, kept)
    return Differences(wrong, missing)


def _only(db: sqlite3.Connection, these: str, others: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM (SELECT * FROM ({these}) EXCEPT {others})").fetchone()[0])
