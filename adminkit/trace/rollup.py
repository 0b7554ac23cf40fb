"""The rollups: sums of runs that ended, per UTC month of their end and of their start, and what was in use, per UTC
hour. docs/adr/0015-rollups.md has the reasons.

`ended_month` has a row for each month and key of everybody's, `ended_month_user` for each month and key with user and
account, `occupied_hour` (rollup_hours.py) for each hour in which a run of a key began or ended, `started_month`
(rollup_waits.py) for each month in which one began. While a trace keeps rollups (`rollup_kept` has a row), triggers on
`job` add and subtract what these files say: whoever writes a row corrects the sums in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.trace.gpu_words import is_cut_or_untracked
from adminkit.trace.rollup_hours import CREATE_ODD, DROP_ODD, HOURS
from adminkit.trace.rollup_row import COUNTED, FROM, KEYS, MAY_BE_NULL, TABLES, WHOSE, image
from adminkit.trace.rollup_table import ENDED_ROWS
from adminkit.trace.rollup_waits import STARTS
from adminkit.trace.transaction import transaction

#: Those with keys of their own.
APART: Final = (HOURS, STARTS)
#: The version of the tables. A release that changes them counts one up; rollups of another version are not read.
VERSION: Final = 3


def _unique(name: str, table: str = "") -> str:
    """SQL of a column in a unique index, where NULL is a value like others."""
    return _null_is_a_value(name, f"{table}{name}")


def _null_is_a_value(name: str, value: str) -> str:
    return f"ifnull({value}, x'')" if name in MAY_BE_NULL else value


_TEXT: Final = ("cluster", "queue", "user", "account", "class", "state", "limit_kind", "limit_source", "source")


def _declared(name: str) -> str:
    return f"{name} {'TEXT' if name in _TEXT else 'INTEGER'}{'' if name in MAY_BE_NULL else ' NOT NULL'}"


def _ended(table: str) -> tuple[str, ...]:
    """The statements that make a table."""
    sums = ", ".join(f"{name} INTEGER NOT NULL" for name in TABLES[table])
    return (
        f"CREATE TABLE {table} (month INTEGER NOT NULL, key INTEGER NOT NULL, {sums}, PRIMARY KEY (month, key))"
        " STRICT, WITHOUT ROWID",
        f"CREATE INDEX {table}_empty ON {table} (month) WHERE jobs = 0",
    )


#: The statements that make the tables. `everybody` is the key without user and account; of such a one NULL.
CREATE: Final = (
    "CREATE TABLE rollup_kept (version INTEGER NOT NULL, since INTEGER NOT NULL) STRICT",
    f"CREATE TABLE rollup_key (id INTEGER PRIMARY KEY, {', '.join(map(_declared, KEYS))}, everybody INTEGER) STRICT",
    f"CREATE UNIQUE INDEX rollup_key_all ON rollup_key ({', '.join(map(_unique, KEYS))})",
    *(statement for table in TABLES for statement in _ended(table)),
    *(statement for one in APART for statement in one.create),
)
#: Their names.
NAMES: Final = ("rollup_kept", "rollup_key", *TABLES, *(name for one in APART for name in (one.key_table, one.table)))
#: Those that version 1 had besides.
_FORMER: Final = ("ended_day", "rollup_queue")
_TRIGGERS: Final = ("rollup_insert", "rollup_update", "rollup_delete")
#: SQL: what removes the rows from which every run is gone. Runs may be subtracted before others are added.
EMPTY: Final = (
    *(f"DELETE FROM {table} WHERE jobs = 0" for table in TABLES),
    *(f"DELETE FROM {one.table} WHERE {one.gone}" for one in APART),
)


def key_of(value: Callable[[str], str], what: str = "id") -> str:
    """SQL: a SELECT of the id of a key whose parts are `value` of their names."""
    return f"SELECT {what} FROM rollup_key AS k WHERE " + " AND ".join(
        f"{_unique(name, 'k.')} = {_null_is_a_value(name, value(name))}" for name in KEYS
    )


def _nobody(value: Callable[[str], str]) -> Callable[[str], str]:
    return lambda name: "NULL" if name in WHOSE else value(name)


def add_everybody(value: Callable[[str], str], rows: str = "") -> str:
    """SQL: put in the keys without user and account, where they are not there. `value`: SQL of a part, over `rows`."""
    parts = ", ".join(map(_nobody(value), KEYS))
    # Trap: before ON CONFLICT a SELECT needs a WHERE.
    return f"INSERT INTO rollup_key ({', '.join(KEYS)}) SELECT {parts} {rows} WHERE TRUE ON CONFLICT DO NOTHING"


def add_key(value: Callable[[str], str], rows: str = "") -> str:
    """SQL: put in the keys that are not there, after those without user and account; as add_everybody."""
    parts = ", ".join((*map(value, KEYS), f"({key_of(_nobody(value))})"))
    return (
        f"INSERT INTO rollup_key ({', '.join(KEYS)}, everybody) SELECT {parts} {rows} WHERE TRUE ON CONFLICT DO NOTHING"
    )


def add_ended(table: str, rows: str) -> str:
    """SQL: add `rows` of month, key and the table's sums."""
    added = ", ".join(f"{name} = {name} + excluded.{name}" for name in TABLES[table])
    names = ", ".join(("month", "key", *TABLES[table]))
    return f"INSERT INTO {table} ({names}) {rows} ON CONFLICT (month, key) DO UPDATE SET {added}"


#: SQL over an image: which key a table has its row under.
_KEY_OF: Final = {
    "ended_month": f"({key_of('i.{}'.format, 'coalesce(everybody, id)')})",
    "ended_month_user": f"({key_of('i.{}'.format)})",
}


def _put(row: str, sign: int) -> str:
    """The statement of a trigger that adds (sign 1) or subtracts (-1) the row OLD or NEW, if it has ended."""
    run = ", ".join(f"{row}.{column}" for column in FROM)
    return f"INSERT INTO rollup_change SELECT {sign}, {run} WHERE {row}.end_time IS NOT NULL"


def _change() -> list[str]:
    """SQL: what makes the view rollup_change, into which a run is put with a sign. The text of what that does is long,
    and every connection reads the schema: so it stands there once.
    """
    of_row = f"(SELECT {', '.join(f'NEW.{c} AS {c}' for c in FROM)})"
    rows = f"FROM ({image(of_row, ())}) AS i"
    body = [add_everybody("i.{}".format, rows), add_key("i.{}".format, rows)]
    for table, names in TABLES.items():
        sums = ", ".join(f"NEW.sign * {name}" for name in names)
        rows = f"SELECT month, {_KEY_OF[table]}, {sums} FROM ({image(of_row, COUNTED[table])}) AS i WHERE TRUE"
        body += [add_ended(table, rows), f"DELETE FROM {table} WHERE jobs = 0 AND NEW.sign < 0"]
    for one in APART:
        body += one.change(of_row)
    return [
        f"CREATE VIEW rollup_change AS SELECT 0 AS sign, {', '.join(FROM)} FROM job WHERE FALSE",
        f"CREATE TRIGGER rollup_put INSTEAD OF INSERT ON rollup_change BEGIN {'; '.join(body)}; END",
    ]


def triggers() -> list[str]:
    """SQL: what makes the triggers."""
    changed = f"({', '.join(f'OLD.{c}' for c in FROM)}) IS NOT ({', '.join(f'NEW.{c}' for c in FROM)})"
    add, subtract = _put("NEW", 1), _put("OLD", -1)
    bodies = (
        ("INSERT", "NEW.end_time IS NOT NULL", add),
        ("UPDATE", f"{changed} AND coalesce(OLD.end_time, NEW.end_time) IS NOT NULL", f"{subtract}; {add}"),
        ("DELETE", "OLD.end_time IS NOT NULL", subtract),
    )
    return [
        *_change(),
        *(
            f"CREATE TRIGGER {name} AFTER {event} ON job WHEN {when} BEGIN {body}; END"
            for name, (event, when, body) in zip(_TRIGGERS, bodies, strict=True)
        ),
    ]


_PARTS: Final = {
    "ended_month": ", ".join(f"NULL AS {name}" if name in WHOSE else name for name in KEYS),
    "ended_month_user": ", ".join(KEYS),
}


def _from_jobs(table: str) -> str:
    """SQL: a table as the rows of job say, with the columns of the key."""
    groups = ", ".join(name for name in ("month", *KEYS) if table != "ended_month" or name not in WHOSE)
    sums = ", ".join(f"sum({name}) AS {name}" for name in TABLES[table])
    return f"SELECT month, {_PARTS[table]}, {sums} FROM ({image(ENDED_ROWS, COUNTED[table])}) GROUP BY {groups}"


#: SQL: the tables as the rows of job say, and as they are kept.
RIGHT: Final = (*map(_from_jobs, TABLES), *(one.right for one in APART))
KEPT: Final = (
    *(
        f"SELECT month, {', '.join(KEYS)}, {', '.join(names)} FROM {table} JOIN rollup_key ON id = key"
        for table, names in TABLES.items()
    ),
    *(one.kept for one in APART),
)


#: SQL: makes the tables again, empty, and stops keeping them: those of another version too.
DROP: Final = (
    *(f"DROP TRIGGER IF EXISTS {name}" for name in _TRIGGERS),
    "DROP VIEW IF EXISTS rollup_change",
    DROP_ODD,
    *(f"DROP TABLE IF EXISTS {name}" for name in (*NAMES, *_FORMER)),
    *CREATE,
)


def keep(now: int) -> str:
    """SQL: say that the tables are kept up to date, which the triggers do."""
    return f"INSERT INTO rollup_kept VALUES ({VERSION}, {int(now)})"


class Size(NamedTuple):
    """Rows of the tables, and runs that they sum up."""

    months: int
    users: int
    hours: int
    starts: int
    keys: int
    runs: int


class Differences(NamedTuple):
    """Rows that differ from what the runs say: kept ones that are wrong, and ones that are missing."""

    wrong: int
    missing: int


def is_kept(db: sqlite3.Connection) -> bool:
    """Whether the trace keeps rollups of this version, and this connection sees them."""
    return db.execute("SELECT 1 FROM rollup_kept WHERE version = ?", (VERSION,)).fetchone() is not None


def may_read(db: sqlite3.Connection) -> bool:
    """Whether they are kept, and are what the runs say: they add up whole GPUs, as rows have them."""
    return is_kept(db) and not is_cut_or_untracked(db)


def rebuild(db: sqlite3.Connection, now: int) -> Size:
    """Make the rollups from the rows of job, and keep them up to date. One transaction."""
    with transaction(db):
        for statement in DROP:
            db.execute(statement)
        every = f"FROM (SELECT DISTINCT {', '.join(KEYS)} FROM ({image(ENDED_ROWS, ())})) AS i"
        db.execute(add_everybody("i.{}".format, every))
        db.execute(add_key("i.{}".format, every))
        for table, names in TABLES.items():
            sums = ", ".join(names)
            db.execute(
                f"INSERT INTO {table} (month, key, {sums})"
                f" SELECT month, {_KEY_OF[table]}, {sums} FROM ({_from_jobs(table)}) AS i"
            )
        for statement in (*(each for one in APART for each in one.rebuild()), CREATE_ODD, *triggers(), keep(now)):
            db.execute(statement)
    return size(db)


def drop(db: sqlite3.Connection) -> None:
    """Keep no rollups any more. One transaction."""
    with transaction(db):
        for statement in DROP:
            db.execute(statement)


def forget_keys(db: sqlite3.Connection) -> None:
    """Delete the keys of which no run is left: they hold names. Rollups of another version go. One transaction."""
    if not is_kept(db):
        drop(db)
        return
    with transaction(db):
        for statement in EMPTY:
            db.execute(statement)
        used = " UNION ".join(f"SELECT key FROM {table}" for table in TABLES)
        db.execute(f"DELETE FROM rollup_key WHERE id NOT IN ({used})")
        for one in APART:
            db.execute(one.forget)


def size(db: sqlite3.Connection) -> Size:
    """How large the rollups are."""
    months, users, of_hours, starts, keys = (
        int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        for table in (*TABLES, *(one.table for one in APART), "rollup_key")
    )
    (runs,) = db.execute("SELECT coalesce(sum(jobs), 0) FROM ended_month").fetchone()
    return Size(months, users, of_hours, starts, keys, int(runs))


def check(db: sqlite3.Connection) -> Differences:
    """Compare the tables with the runs. The caller holds a transaction, or nobody writes."""
    wrong = missing = 0
    for right, kept in zip(RIGHT, KEPT, strict=True):
        wrong += _only(db, kept, right)
        missing += _only(db, right, kept)
    return Differences(wrong, missing)


def _only(db: sqlite3.Connection, these: str, others: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM (SELECT * FROM ({these}) EXCEPT {others})").fetchone()[0])
