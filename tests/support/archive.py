"""Traces with archived months: what is done to them, and what is read from them."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import replace
from pathlib import Path

import adminkit
from adminkit.errors import AdminkitError
from adminkit.job import Job, Step
from adminkit.reports.catalogue import SPECS
from adminkit.trace import connect, forget, gpu_words, prune
from adminkit.trace.load import JobLoad, StepLoad
from adminkit.trace.months import archived, move
from adminkit.trace.months.manifest import Month
from adminkit.trace.transaction import transaction
from tests.support.builders import HOUR, MONDAY, job
from tests.support.changes import COLUMNS, values
from tests.support.months import DAY, SETTINGS

#: All that is archived in these tests was over by then; epoch seconds.
END = MONDAY + 500 * DAY
#: What readers have of a trace.
TABLES = ("job", "step", "run", "trace")
_STEPS = ("cluster", "job_id_raw", "submit_time", "step", "state", "cpu_time", "max_rss")


def rows(path: Path, tables: tuple[str, ...] = TABLES) -> list[list[str]]:
    """Every row that a reader sees, sorted."""
    with connect.reader(path) as db:
        return [sorted(map(repr, db.execute(f"SELECT * FROM {table}"))) for table in tables]


def reports(path: Path) -> dict[str, str]:
    """Every report as CSV."""
    opened = adminkit.open(path)
    found = {}
    for spec in SPECS:
        try:
            found[spec.name] = opened.report(spec.name).to_csv()
        except AdminkitError as error:
            found[spec.name] = error.message.replace(str(path), "")
    return found


def archive(path: Path, months: int | None = None, before: int = END) -> list[move.Moved]:
    """Archive the first of the months that have runs to move; None: all."""
    with connect.writer(path) as db:
        found = move.movable(db, before)[:months]
        return move.archive(db, path, SETTINGS, [Month(one.cluster, one.month) for one in found])


def restore(path: Path, months: int | None = None) -> list[move.Moved]:
    """Bring back the first of the archived months; None: all."""
    with connect.writer(path) as db:
        return move.restore(db, path, move.overlapping(db, None, None)[:months])


def is_archived(path: Path) -> int:
    """How many months are archived."""
    with connect.reader(path) as db:
        return len(archived.months(db))


def some_run(pick: random.Random) -> Job:
    """A run of five months: most may be archived, some may not, and some are a word more about an old one."""
    number = pick.randrange(1, 40)
    at = MONDAY + (number % 5) * 31 * DAY + number * HOUR + pick.choice((0, 0, 0, 60, 3 * DAY))
    return job(
        number,
        cluster=pick.choice(("aaic", "b/c")),
        submit_time=at,
        eligible_time=pick.choice((at, at + 5, None)),
        start_time=at + pick.choice((0, 30, 90)),
        end_time=pick.choice((at + HOUR, at + HOUR, at + HOUR, at + 2 * DAY, None)),
        elapsed=pick.choice((HOUR, HOUR - 90, 3)),
        user=pick.choice(("ada", "ada", "bob", None)),
        uid=pick.choice((None, 1001)),
        account=pick.choice(("vision", "bob", None)),
        state=pick.choice(("COMPLETED",) * 6 + ("TIMEOUT", "FAILED", "REQUEUED", "NODE_FAIL")),
        restarts=pick.choice((None, None, None, 0, 1)),
        source=pick.choice(("slurmdbd", "slurmdbd", "text")),
        job_name=pick.choice(("train", "bob's", "interactive", "日本\0x", None)),
        gpus=pick.choice((None, 0, 1, 4)),
        gpu_parts=pick.choice((None, None, None, "1g.5gb:1", "what?")),
        cpu_time=pick.choice((None, 0.1, 1234.5)),
        max_rss=pick.choice((None, 1 << 30)),
        cancelled_by=pick.choice((None, None, 1001)),
        admin_comment=pick.choice((None, "JS1:x", "other")),
    )


def act(db: sqlite3.Connection, path: Path, pick: random.Random) -> None:
    """One thing that is done to a trace; path is its file."""
    what = pick.choice(("load", "load", "load", "step", "step", "words", "forget", "prune", "nameless"))
    if what == "load":
        runs = [some_run(pick) for _ in range(pick.randrange(1, 7))]
        for source in ("slurmdbd", "text"):
            with transaction(db):
                JobLoad(db, COLUMNS, source).put([values(one) for one in runs if one.source == source])
    elif what == "step":
        one = some_run(pick)
        step = Step(one.cluster, one.job_id_raw, one.submit_time, pick.choice(("batch", "0", "interactive")))
        step = replace(step, cpu_time=pick.choice((None, 1.5)), state="COMPLETED", max_rss=pick.choice((None, 5)))
        with transaction(db):
            StepLoad(db, _STEPS, pick.choice(("slurmdbd", "text"))).put([[getattr(step, name) for name in _STEPS]])
    elif what == "words":
        with transaction(db):
            gpu_words.put(
                db,
                [gpu_words.Words("aaic", "1g.5gb:1", "slice", 1, 0, 0, pick.choice((0.5, 0.25)))],
                [gpu_words.Untracked("aaic", "gq", MONDAY, MONDAY + pick.choice((0, 40)) * DAY)],
                [],
            )
    elif what == "forget":
        user = pick.choice(("ada", "bob"))
        with connect.reader(path) as reading:
            whom = forget.find(reading, user)
        if pick.random() < 0.3:
            with move.brought_back(db, path, SETTINGS, forget.archived_months(db, path, whom)):
                forget.forget(db, path, whom, END, lambda _: None)
    else:
        before = MONDAY + pick.choice((-1, 10, 40)) * DAY
        with move.brought_back(db, path, SETTINGS, move.overlapping(db, None, before)):
            (prune.prune if what == "prune" else prune.take_names)(db, before)
