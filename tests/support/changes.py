"""Runs of every kind, and what may happen to a trace."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import fields, replace
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.trace import audit
from adminkit.trace.load import JobLoad
from adminkit.trace.run_view import TOO_LONG
from adminkit.trace.transaction import transaction
from tests.support.builders import HOUR, MONDAY, job
from tests.support.reports import HOSTILE

DAY = 24 * HOUR
#: What a source gives: not its name, nor the fingerprint.
COLUMNS = [f.name for f in fields(Job) if f.name not in ("source", "fingerprint")]


def some_job(pick: random.Random) -> Job:
    """A job that may be new, late, longer, open, requeued, strange or without a value."""
    number = pick.randrange(12)
    start = MONDAY + pick.randrange(-5 * HOUR, 5 * HOUR) + pick.choice((0, 0, -DAY, 20 * DAY, -40 * DAY))
    elapsed = pick.choice((0, 10, 60, 61, HOUR, 3 * HOUR + 7, TOO_LONG + 5, -3))
    one = job(
        number,
        submit_time=MONDAY + pick.randrange(3),
        queue=pick.choice(("gq", HOSTILE, None)),
        user=pick.choice(("ada", HOSTILE, None)),
        account=pick.choice(("vision", None)),
        state=pick.choice(("COMPLETED", "TIMEOUT", "NODE_FAIL" if number % 2 else "FAILED", "REQUEUED")),
        submitted_by="sbatch" if number % 3 else None,
        exit_code=pick.choice((0, 1, 85, -1, None)),
        source=pick.choice(("slurmdbd", "slurmdbd", "text")),
        eligible_time=pick.choice((None, start, start - 40, start + 40, start - 3 * HOUR, start - 40 * DAY)),
        start_time=pick.choice((start, start, None)),
        elapsed=elapsed,
        reason=pick.choice((None, None, "Priority", "JobHeldUser", "MaxJobsPerUser", "MaxJobsPerNode", HOSTILE)),
        node_list=pick.choice((None, "n1")),
        time_limit=pick.choice((None, 60, HOUR, 4 * HOUR)),
        limit_kind=pick.choice(("finite", "finite", "unlimited", "partition", "unknown")),
        limit_original=pick.choice((None, 0, 8 * HOUR)),
        ext_asked=pick.choice((None, 0, HOUR, 2 * HOUR)),
        ext_limit=pick.choice((None, 2 * HOUR, 4 * HOUR, 2**31)),
        ext_times=pick.choice((None, 0, 1, 2)),
        restarts=pick.choice((None, None, 0, 1)),
        nodes=pick.choice((None, 1, 2)),
        gpus=pick.choice((None, 0, 1, 4)),
        cpus=pick.choice((None, 8, 1 << 40)),
    )
    return one if pick.random() < 0.8 else replace(one, end_time=None, elapsed=None, state="RUNNING")


def values(one: Job) -> list[Any]:
    return [getattr(one, name) for name in COLUMNS]


def act(db: sqlite3.Connection, pick: random.Random) -> None:
    """One thing that happens to a trace."""
    what = pick.choice(("load", "load", "load", "aside", "restore", "beyond", "direct", "fails"))
    if what == "load":
        rows = [some_job(pick) for _ in range(pick.randrange(1, 5))]
        for source in ("slurmdbd", "text"):
            with transaction(db):
                JobLoad(db, COLUMNS, source).put([values(one) for one in rows if one.source == source])
    elif what == "aside":
        scope = audit.AuditScope("aaic", True)
        some = db.execute("SELECT job_id_raw, submit_time FROM job ORDER BY 1, 2").fetchall()
        if some:
            found = pick.choice(some)
            stored = audit.StoredRun(found[0], found[1], None, None, None, None, None, None)
            audit.set_aside(db, scope.cluster, [stored], "a test", pick.randrange(1000))
    elif what == "restore":
        audit.restore(db, audit.aside(db, 2))
    elif what == "beyond":
        audit.flag_old(db, audit.AuditScope("aaic", True), MONDAY + pick.randrange(HOUR), 100)
    elif what == "direct":
        db.execute("UPDATE job SET state = 'TIMEOUT', cpu_time = 1 WHERE job_id_raw = ?", (pick.randrange(12),))
    else:
        with pytest.raises(ZeroDivisionError), transaction(db):
            db.execute("DELETE FROM job")
            raise ZeroDivisionError
