"""Whose jobs this process may be shown: the one home of that rule.

Root, the trace's owner and its group see everybody's jobs; others, who read a trace only where its mode was opened to
all, see their own. What adds up over users is for the operators too, but for counts. This keeps commands from telling:
who can read the file can read it without adminkit.
"""

from __future__ import annotations

import os
import pwd
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adminkit.errors import UsageError
from adminkit.owner import is_root_as_owner
from adminkit.quote import quote
from adminkit.trace.run_view import run_view

_OWN: Final = "(uid = {uid} OR uid IS NULL AND user = '{name}')"
#: Views that stand before the trace's own tables; `main.` names these, for counts.
_VIEWS: Final = (
    "CREATE TEMP VIEW job AS SELECT * FROM main.job WHERE {own}",
    """CREATE TEMP VIEW step AS SELECT * FROM main.step AS s WHERE EXISTS (
        SELECT 1 FROM main.job AS j WHERE j.cluster = s.cluster AND j.job_id_raw = s.job_id_raw
            AND j.submit_time = s.submit_time AND {own})""",
    "CREATE TEMP VIEW job_aside AS SELECT * FROM main.job_aside WHERE {own}",
    "CREATE TEMP VIEW step_aside AS SELECT * FROM main.step_aside WHERE FALSE",
    "CREATE TEMP VIEW trace AS SELECT * FROM main.trace WHERE user = '{name}'",
    "CREATE TEMP VIEW outbox AS SELECT * FROM main.outbox WHERE {own}",
    "CREATE TEMP VIEW rejected AS SELECT * FROM main.rejected WHERE FALSE",
)


def sees_others(path: Path) -> bool:
    """Whether this process may be shown the jobs of others."""
    facts = path.stat()
    if is_root_as_owner():
        return True
    return os.geteuid() in (0, facts.st_uid) or facts.st_gid in (os.getegid(), *os.getgroups())


def restrict(db: sqlite3.Connection) -> None:
    """From here on this connection shows the jobs of this process's user only, whatever is asked of it."""
    uid, name = os.geteuid(), _own_name().replace("'", "''")
    own = _OWN.format(uid=uid, name=name)
    db.execute("PRAGMA query_only = 0")
    for view in _VIEWS:
        db.execute(view.format(own=own, name=name))
    db.execute(run_view("temp", temp=True))
    db.execute("PRAGMA query_only = 1")


def whose(users: Sequence[str] | None, path: Path) -> list[str]:
    """Whose jobs are meant: the users named, everybody's for none; this user's own where they see no other's.

    UsageError for somebody else's.
    """
    named = list(users or ())
    if sees_others(path):
        return named
    own = _own_name()
    for user in named:
        if user != own:
            raise UsageError(
                f"the jobs of {quote(user)} are for {quote(user)} and the operators", f"yours: --user {own}, or none"
            )
    return [own]


def operators_only(path: Path, message: str, hint: str) -> None:
    """UsageError with these words for whoever may not be shown the jobs of others."""
    if not sees_others(path):
        raise UsageError(message, hint)


def _own_name() -> str:
    """This process's user; its number where it has no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
