"""Traces with files of months to which anything may happen: for tests that compare answers with those of SQLite."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from adminkit.sections import Months
from adminkit.trace import connect, gpu_words
from adminkit.trace.load import JobLoad
from adminkit.trace.months import door, write
from adminkit.trace.transaction import transaction
from tests.support import changes
from tests.support.builders import HOUR, MONDAY
from tests.support.changes import COLUMNS, some_job, values
from tests.support.reports import HOSTILE

DAY = 24 * HOUR
#: All months of these tests are over by then; epoch seconds.
LATER = MONDAY + 400 * DAY
SETTINGS = Months(threads=1)
#: Names of clusters, some of which are no names of folders.
CLUSTERS = ("aaic", HOSTILE, "../..", "a%2Fb", "a/b", ".", "クラスタ")
_WORDS = ("1g.5gb:1", "shard:2", HOSTILE)


def keep(path: Path, now: int = LATER) -> list[write.Written]:
    """Write every month that is due."""
    with connect.writer(path) as db:
        return write.write_due(db, path, SETTINGS, now)


def rows_of(path: Path, *, files: bool) -> list[tuple[str, ...]]:
    """All columns of all runs, sorted: as measures read them, or as SQLite has them."""
    with connect.reader(path) as db:
        names = [name for (name,) in db.execute("SELECT name FROM pragma_table_info('run')")]
        kinds = door.duck.kinds_of(db)
        texts = [f'"{name}"' for name in names if kinds[name] == "VARCHAR"]
        numbers = [f'"{name}"' for name in names if kinds[name] != "VARCHAR"]
        if not files:
            rows = db.execute(f"SELECT {', '.join((*texts, *numbers))} FROM run").fetchall()
            return sorted(tuple(_shown(value) for value in row) for row in rows)
        found, columns = door.columns(db, texts, numbers, "FROM run")
        its = [[one.names[code] for code in one.codes.tolist()] for one in found]
        return sorted(
            tuple(_shown(value) for value in row) for row in zip(*its, *(c.tolist() for c in columns), strict=True)
        )


def _shown(value: Any) -> str:
    if value is None or value != value:
        return ""
    return value if isinstance(value, str) else repr(float(value))


def files_read(path: Path) -> int:
    """How many files of runs a reader opens."""
    with connect.reader(path) as db, door._asked(db, [], "FROM run", {}) as found:
        return len(found._answer.months) if found and found._answer else 0


def act(db: sqlite3.Connection, pick: random.Random) -> None:
    """One thing that happens to a trace."""
    what = pick.choice(("one", "one", "step", "no step", "words", "untracked", "number", "gone", "cluster"))
    if what == "one":
        changes.act(db, pick)
    elif what in ("cluster", "number"):
        one = replace(some_job(pick), cluster=pick.choice(CLUSTERS), gpu_parts=pick.choice((None, *_WORDS)))
        if what == "number":  # a run more of a job, soon after or long after
            apart = pick.choice((60, HOUR, 3 * DAY, 40 * DAY))
            one = replace(one, submit_time=one.submit_time + apart, start_time=None, elapsed=None)
            one = replace(one, end_time=pick.choice((None, one.submit_time + HOUR)))
        with transaction(db):
            JobLoad(db, COLUMNS, "slurmdbd").put([values(one)])
    elif what == "step":
        some = db.execute("SELECT cluster, job_id_raw, submit_time, source FROM job ORDER BY 1, 2, 3").fetchall()
        if some:
            cluster, number, submit, source = pick.choice(some)
            db.execute(
                "INSERT INTO step (cluster, job_id_raw, submit_time, step, source, cpu_time) VALUES (?, ?, ?, ?, ?, 1)"
                " ON CONFLICT DO UPDATE SET source = excluded.source",
                (cluster, number, submit, pick.choice(("batch", "interactive", "0")), pick.choice((source, "swf"))),
            )
    elif what == "no step":
        db.execute("DELETE FROM step WHERE job_id_raw = ?", (pick.randrange(12),))
    elif what == "gone":
        db.execute("DELETE FROM job WHERE job_id_raw = ?", (pick.randrange(12),))
    else:
        words = [
            gpu_words.Words(cluster, text, "slice", 1, 0, 0, pick.choice((0.5, 0.25, None)))
            for cluster in CLUSTERS[:3]
            for text in _WORDS
            if pick.random() < 0.5
        ]
        spans = [
            gpu_words.Untracked(cluster, "gq", MONDAY + pick.choice((-60, -20, 0)) * DAY, 1 << 62)
            for cluster in CLUSTERS[:3]
            if what == "untracked" and pick.random() < 0.5
        ]
        with transaction(db):
            gpu_words.put(db, words, spans, spans[:1])
