"""Whose jobs this process may be shown, and as of when: the one home of these rules.

Root, the trace's owner and its group see everybody's jobs; others, who read a trace only where its mode was opened to
all, see their own. Sums over users are for operators, except counts. This rule binds commands: whoever can read the
file can read it without adminkit.

Both rules are TEMP views that stand before the trace's own tables: a SELECT names `job` and gets what it may have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adminkit.errors import UsageError
from adminkit.owner import is_root_as_owner
from adminkit.quote import quote
from adminkit.sqlite import sqlite3
from adminkit.trace import gpu_words
from adminkit.trace.as_of import select_of
from adminkit.trace.months import archived
from adminkit.trace.schema import VIEWS
from adminkit.units import show_time
from adminkit.users import in_slurmdbd, name_of, uid_of

_OWN: Final = "(uid = {uid} OR uid IS NULL AND user = {name})"
#: Every table, and SQL for the rows that are one user's own; TRUE: the table is about the site, not about jobs. Each
#: table has a second view with everybody's rows, for counts: `all_job` for `job`.
_OWN_ROWS: Final = {
    "job": "{own}",
    "step": """EXISTS (SELECT 1 FROM all_job AS j WHERE j.cluster = all_step.cluster
        AND j.job_id_raw = all_step.job_id_raw AND j.submit_time = all_step.submit_time AND {own})""",
    "job_aside": "{own}",
    "person": "{own}",
    "forgotten": "FALSE",
    "ledger": "person IN (SELECT p.person FROM main.person AS p WHERE {own})",
    "ledger_scheme": "TRUE",
    "power_curve": "TRUE",
    "step_aside": "FALSE",
    "outbox": "{own}",
    "rejected": "FALSE",
    "window": "TRUE",
    "queue": "TRUE",
    "node": "TRUE",
    "node_event": "TRUE",
    "fact": "TRUE",
    "action": "TRUE",
    "load": "TRUE",
    **dict.fromkeys(gpu_words.NAMES, "TRUE"),
    # Its files have everybody's jobs.
    "month_file": "FALSE",
    **dict.fromkeys(archived.TABLES, "FALSE"),
}
#: The tables of which archived months have rows: shown.py has both.
_TWO_SIDED: Final = re.compile(r"\bmain\.(job|step)\b")
#: Put before a SELECT it makes job and step everybody's.
_OF_ALL: Final = "WITH " + ", ".join(
    f"{table} AS NOT MATERIALIZED (SELECT * FROM all_{table})" for table in ("job", "step")
)


def sees_others(path: Path) -> bool:
    """Whether this process may be shown the jobs of others."""
    facts = path.stat()
    if is_root_as_owner():
        return True
    return os.geteuid() in (0, facts.st_uid) or facts.st_gid in (os.getegid(), *os.getgroups())


def shadow(
    db: sqlite3.Connection, *, own: bool, as_of: int | None, of: str | None = None, copied: bool = False
) -> None:
    """Make this connection show the trace as it was at `as_of` (epoch seconds; None: as it is), with `own` the
    jobs of this process's user only, and with `of` those of that user only, whatever is asked of it. `copied`: it has
    no others than this user's.

    UsageError where no job that it would show was submitted by `as_of`.
    """
    name = name_of(os.geteuid()) if own or copied else None
    # Trap: a user without a name is not the one whose name is that number.
    mine = _jobs_of(os.geteuid(), name) if own else "TRUE"
    if of is not None:
        mine = f"{mine} AND {_jobs_of(uid_of(of), of)}"
    whole = bool(db.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = 'whole_job'").fetchone())
    db.execute("PRAGMA query_only = 0")
    for table, rows in _OWN_ROWS.items():
        everybodys = f"SELECT * FROM main.{table}" if as_of is None else select_of(table, as_of)
        if whole:
            everybodys = _TWO_SIDED.sub(r"temp.whole_\1", everybodys)
        db.execute(f"CREATE TEMP VIEW all_{table} AS {everybodys}")
        which = rows.format(own=mine) if own or of is not None else "TRUE"
        db.execute(f"CREATE TEMP VIEW {table} AS SELECT {_spelt(db, table, name)} FROM all_{table} WHERE {which}")
    # Trap: the schema's own views never see temporary ones: each is made once more over what stands before tables.
    for view, select in VIEWS.items():
        db.execute(f"CREATE TEMP VIEW all_{view} AS {_OF_ALL} {select}")
        db.execute(f"CREATE TEMP VIEW {view} AS {select}")
    db.execute("PRAGMA query_only = 1")
    if as_of is not None and db.execute("SELECT 1 FROM job LIMIT 1").fetchone() is None:
        jobs = "temp.whole_job" if whole else "main.job"
        (first,) = db.execute(f"SELECT min(submit_time) FROM {jobs} WHERE {mine}").fetchone()
        if first is not None:
            raise UsageError(
                f"no job of the trace was submitted by {show_time(as_of)}", f"the first one was at {show_time(first)}"
            )


def _spelt(db: sqlite3.Connection, table: str, name: str | None) -> str:
    """The columns of a table, with the name of this user as the host spells it."""
    if name is None or len(names := in_slurmdbd(name)) == 1:
        return "*"
    host, lower = map(_literal, names)
    columns = [row[0] for row in db.execute("SELECT name FROM pragma_table_info(?, 'main')", (table,))]
    spelt = f"CASE WHEN user = {lower} THEN {host} ELSE user END AS user"
    return ", ".join(spelt if column == "user" else f'"{column}"' for column in columns)


def _jobs_of(uid: int | None, name: str | None) -> str:
    if "\0" in (name or ""):
        return "FALSE"  # no text of SQL, and nobody's name
    return _OWN.format(uid="NULL" if uid is None else uid, name="NULL" if name is None else _literal(name))


def _literal(name: str) -> str:
    """SQL: a name as text."""
    return "'{}'".format(name.replace("'", "''"))


def everybodys(db: sqlite3.Connection, table: str) -> str:
    """The SQL name of that table with everybody's rows, as of the moment that this connection shows. For counts."""
    view = f"all_{table}"
    there = {name for (name,) in db.execute("SELECT name FROM temp.sqlite_schema WHERE name IN (?, ?)", (view, table))}
    return f"temp.{view}" if view in there else f"temp.{table}" if table in there else f"main.{table}"


def of_all(db: sqlite3.Connection) -> str:
    """SQL to put before a SELECT from `run` and `step`, which makes them everybody's. For counts."""
    tables = ", ".join(f"{name} AS NOT MATERIALIZED (SELECT * FROM {everybodys(db, name)})" for name in ("run", "step"))
    return f"WITH {tables} "


def whose(users: Sequence[str] | None, path: Path) -> list[str]:
    """The users whose jobs to show: `users`, [] (everybody) for none; for whoever sees no others, this user.

    UsageError for a user whose jobs this process may not see.
    """
    named = list(users or ())
    if sees_others(path):
        return named
    own = own_name()
    for user in named:
        if user != own:
            raise UsageError(
                f"only {quote(user)} and the operators may see the jobs of {quote(user)}",
                f"for yours: --user {own}, or no --user",
            )
    return [own]


def operators_only(path: Path, message: str, hint: str) -> None:
    """UsageError with these words for whoever may not be shown the jobs of others."""
    if not sees_others(path):
        raise UsageError(message, hint)


def own_name() -> str:
    """This process's user; its number where it has no name. NamesAway."""
    uid = os.geteuid()
    return name_of(uid) or str(uid)
