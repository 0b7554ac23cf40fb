"""Takes one user's name out of the whole trace, and leaves tombstones in it (forgotten.py). docs/privacy.md."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.key_file import read_key
from adminkit.sqlite import sqlite3
from adminkit.trace.forgotten import NAME, OWN_STEPS, TELLING, UID, Marks, key_path, marks_of
from adminkit.trace.months import archived
from adminkit.trace.months.duck import literal
from adminkit.trace.months.manifest import Month
from adminkit.trace.months.reading import read_files
from adminkit.trace.person import PREFIX
from adminkit.trace.run_batches import IN_BATCH, run_batches
from adminkit.trace.transaction import transaction

#: Rows of the user: by name; where a row has none, by uid, which may be somebody else's by now.
_OF: Final = "(user = :name OR user IS NULL AND uid IN (SELECT uid FROM temp.whom))"
_UIDS: Final = """
SELECT DISTINCT uid FROM job WHERE user = :name UNION SELECT DISTINCT uid FROM job_aside WHERE user = :name
UNION SELECT uid FROM person WHERE user = :name UNION SELECT uid FROM outbox WHERE user = :name
UNION SELECT uid FROM node_event WHERE user = :name
"""
#: A user's run without name: what it counts stays.
_NAMELESS: Final = ", ".join(
    [
        "user = :person",
        "account = CASE account WHEN :name THEN :person ELSE account END",
        "cancelled_by = CASE WHEN cancelled_by NOT IN (SELECT uid FROM temp.whom) THEN cancelled_by END",
        *(f"{column} = NULL" for column in ('"group"', *TELLING)),
    ]
)
_STEP: Final = f"step_name = CASE WHEN step_name IN {OWN_STEPS} THEN step_name END, fingerprint = NULL"
_RUNS: Final = "(cluster, job_id_raw, submit_time) IN (SELECT cluster, job_id_raw, submit_time FROM {of})"
#: Table -> rows of it that are the user's, or name the user. `names(text)`: the name is a word of it.
_ROWS: Final = {
    "job": _OF,
    "step": _RUNS.format(of=f"job WHERE {_OF}"),
    "job_aside": _OF,
    "step_aside": _RUNS.format(of=f"job_aside WHERE {_OF}"),
    "outbox": "user = :name OR names(notes)",
    "rejected": "names(raw) OR names(source)",
    "node_event": _OF,
    "action": "names(line)",
    "load": "names(source)",
    "person": "user = :name",
}
#: Other people's runs that mention the user.
_OTHERS: Final = (
    "UPDATE {table} SET account = :person, fingerprint = NULL WHERE account = :name",
    'UPDATE {table} SET "group" = NULL, fingerprint = NULL WHERE "group" = :name',
    "UPDATE {table} SET cancelled_by = NULL, fingerprint = NULL WHERE cancelled_by IN (SELECT uid FROM temp.whom)",
)
_REST: Final = (
    # A step that came before its run may be the user's; sync brings its name again.
    f"UPDATE step SET {_STEP} WHERE NOT EXISTS (SELECT 1 FROM job WHERE (job.cluster, job.job_id_raw, job.submit_time)"
    " = (step.cluster, step.job_id_raw, step.submit_time))",
    f"UPDATE step_aside SET {_STEP} WHERE {_ROWS['step_aside']}",
    f"UPDATE job_aside SET {_NAMELESS} WHERE {_OF}",
    *(sql.format(table=table) for table in ("job", "job_aside") for sql in _OTHERS),
    "DELETE FROM outbox WHERE user = :name",
    "UPDATE outbox SET notes = NULL WHERE names(notes)",
    f"DELETE FROM rejected WHERE {_ROWS['rejected']}",
    f"UPDATE node_event SET user = NULL, uid = NULL, reason = NULL WHERE {_ROWS['node_event']}",
    "UPDATE load SET source = 'a source that named who was forgotten' WHERE names(source)",
    "DELETE FROM person WHERE user = :name",
)


@dataclass(frozen=True, slots=True)
class Whom:
    """A user: the name, and every uid but root's that the trace knows of it."""

    name: str
    uids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """How many rows of a table are the user's or name the user."""

    table: str
    rows: int


def find(db: sqlite3.Connection, name: str, more: tuple[int, ...] = ()) -> Whom:
    """The user of that name, also under these uids."""
    found = {uid for (uid,) in db.execute(_UIDS, {"name": name})}
    return Whom(name, tuple(sorted(uid for uid in found | set(more) if uid)))


def held(db: sqlite3.Connection, whom: Whom) -> list[Held]:
    """What the trace has of the user, table by table."""
    with _looking_for(db, whom) as values:
        return [
            Held(table, int(db.execute(f"SELECT count(*) FROM {table} WHERE {rows}", values).fetchone()[0]))
            for table, rows in _ROWS.items()
        ]


def forget(db: sqlite3.Connection, trace: Path, whom: Whom, now: int, tick: Callable[[int], None]) -> str:
    """Take the name out and keep an id in its place, which is returned. `tick` gets the runs that are done.

    The tombstone comes first, so that a forgetting that was cut short keeps the same id when it is repeated.
    """
    marks = Marks(read_key(key_path(trace)), {})
    with _looking_for(db, whom) as values:
        person = _bury(db, marks, whom, now)
        values |= {"person": person}
        for done in run_batches(db, _OF, values):
            with transaction(db):
                db.execute(f"UPDATE step SET {_STEP} WHERE {_RUNS.format(of=f'job WHERE rowid IN {IN_BATCH}')}")
                db.execute(f"UPDATE job SET {_NAMELESS} WHERE rowid IN {IN_BATCH}", values)
            tick(done)
        with transaction(db):
            for sql in _REST:
                db.execute(sql, values)
            _rewrite_actions(db)
    return person


def archived_months(db: sqlite3.Connection, trace: Path, whom: Whom) -> list[Month]:
    """The archived months whose rows name the user: their names are taken out in SQLite."""
    files = archived.files(db)
    uids = ", ".join(map(str, whom.uids)) or "NULL"
    name = literal(whom.name)
    where = f"""WHERE "user" = {name} OR "user" IS NULL AND uid IN ({uids}) OR account = {name} OR "group" = {name}
        OR cancelled_by IN ({uids})"""
    if not files:
        return []
    with read_files(trace, files) as read:
        found = [one for one in files if read(one, f"SELECT 1 FROM {{}} {where} LIMIT 1").fetchone()]
    return [Month(one.cluster, one.month) for one in found]


def mentions(db: sqlite3.Connection, whom: Whom) -> list[Held]:
    """Where the name is still a word of a text: "job.job_name", and in how many rows."""
    found = []
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    with _looking_for(db, whom) as values:
        for table in tables:
            for column, kind in db.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall():
                if kind in ("TEXT", "BLOB"):
                    sql = f'SELECT count(*) FROM "{table}" WHERE instr("{column}", :name) AND names("{column}")'
                    (rows,) = db.execute(sql, values).fetchone()
                    if rows:
                        found.append(Held(f"{table}.{column}", rows))
    return found


def _bury(db: sqlite3.Connection, marks: Marks, whom: Whom, now: int) -> str:
    """Write the tombstones; the id is that of an earlier try, else the one that charges have, else a new one."""
    of_name = marks.mark(NAME, whom.name)
    row = (
        db.execute("SELECT person FROM forgotten WHERE mark = ?", (of_name,)).fetchone()
        or db.execute("SELECT person FROM person WHERE user = ? ORDER BY since, person", (whom.name,)).fetchone()
    )
    person = str(row[0]) if row else f"{PREFIX}{secrets.token_hex(8)}"
    buried = [of_name, *(marks.mark(UID, uid) for uid in whom.uids)]
    with transaction(db):
        db.executemany(
            "INSERT INTO forgotten VALUES (?, ?, ?) ON CONFLICT DO NOTHING", [(one, person, now) for one in buried]
        )
    return person


@contextmanager
def _looking_for(db: sqlite3.Connection, whom: Whom) -> Iterator[dict[str, object]]:
    """Makes temp.whom, with the uids, and names(); yields what the statements are bound to."""
    word = re.compile(rf"(?<![\w.-]){re.escape(whom.name)}(?!\.*[\w-])")  # a full stop may end its sentence

    def names(text: object) -> bool:
        said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return isinstance(said, str) and word.search(said) is not None

    (query_only,) = db.execute("PRAGMA query_only").fetchone()
    db.execute("PRAGMA query_only = 0")
    db.create_function("names", 1, names, deterministic=True)
    db.execute("CREATE TEMP TABLE whom (uid INTEGER PRIMARY KEY)")
    db.executemany("INSERT INTO temp.whom VALUES (?)", [(uid,) for uid in whom.uids])
    try:
        db.execute(f"PRAGMA query_only = {query_only}")
        yield {"name": whom.name}
    finally:
        db.execute("PRAGMA query_only = 0")
        db.execute("DROP TABLE temp.whom")
        db.execute(f"PRAGMA query_only = {query_only}")


def _rewrite_actions(db: sqlite3.Connection) -> None:
    """The acts that name the user, with the id instead. JSON's escapes (\\n) may hide in a line where a name begins."""
    marks = marks_of(db)
    assert marks
    for row, line in db.execute("SELECT rowid, line FROM action").fetchall():
        before = json.loads(line)
        act = marks.without_names(before)
        if act == before:
            continue
        said = json.dumps(act, ensure_ascii=False, sort_keys=True)
        db.execute("UPDATE OR REPLACE action SET who = ?, line = ? WHERE rowid = ?", (act.get("who"), said, row))
