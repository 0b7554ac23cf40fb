"""The rollups say what the rows say: after any sequence of loads, changes and audits, for any Filter they answer."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import CLASSES, Job
from adminkit.stats import rollup as read
from adminkit.stats.select import Filter, left_out, select
from adminkit.trace import audit, connect, rollup
from adminkit.trace.load import JobLoad
from adminkit.trace.run_view import TOO_LONG
from adminkit.trace.transaction import transaction
from tests.support.builders import HOUR, MONDAY, job, make_trace

#: What a source gives: not its name, nor the fingerprint.
COLUMNS = [f.name for f in fields(Job) if f.name not in ("source", "fingerprint")]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = make_trace(tmp_path / "trace.db", [job(1), job(2, state="FAILED", exit_code=1)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        yield db


def some_job(pick: random.Random) -> Job:
    """A job that may be new, late, longer, open, requeued, strange or without a value."""
    number = pick.randrange(12)
    start = MONDAY + pick.randrange(-5 * HOUR, 5 * HOUR)
    elapsed = pick.choice((0, 10, 60, 61, HOUR, 3 * HOUR + 7, TOO_LONG + 5, -3))
    one = job(
        number,
        submit_time=MONDAY + pick.randrange(3),
        queue=pick.choice(("gq", "x'; DROP", None)),
        user=pick.choice(("ada", "bob", None)),
        account=pick.choice(("vision", None)),
        state=pick.choice(("COMPLETED", "TIMEOUT", "FAILED", "REQUEUED")),
        exit_code=pick.choice((0, 1, 85, -1, None)),
        source=pick.choice(("slurmdbd", "slurmdbd", "text")),
        eligible_time=pick.choice((None, start, start - 40, start + 40)),
        start_time=pick.choice((start, start, None)),
        elapsed=elapsed,
        time_limit=pick.choice((None, 60, HOUR, 4 * HOUR)),
        limit_original=pick.choice((None, 0, 8 * HOUR)),
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
        found = db.execute("SELECT job_id_raw, submit_time FROM job ORDER BY random() LIMIT 1").fetchone()
        if found:
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


def some_filter(pick: random.Random) -> Filter:
    hours = pick.choice(((None, None), (-2, 3), (0, None)))
    since, until = (None if at is None else MONDAY + at * HOUR for at in hours)
    return Filter(
        since=since,
        until=until,
        queues=pick.choice(((), ("gq",))),
        users=pick.choice(((), ("ada", "nobody"))),
        classes=pick.choice(((), CLASSES[:2])),
        states=pick.choice(((), ("COMPLETED", "TIMEOUT"), ("REQUEUED",))),
        min_elapsed=pick.choice((None, 0, 60, HOUR)),
        limit_source=pick.choice((None, "explicit")),
        acting=pick.random() < 0.3,
        checkpoint_code=85,
    )


def from_rows(db: sqlite3.Connection, chosen: Filter, limits: bool) -> tuple[dict[str, int], dict[str, int]]:
    """The same sums, one run at a time; and what each rule left out."""
    selection = select(chosen, limits=limits)
    total = dict.fromkeys(rollup.SUMS, 0)
    rows = db.execute(
        "SELECT elapsed, wait, req_limit, size_nodes, size_cpus, size_gpus FROM run WHERE " + selection.where,
        selection.params,
    ).fetchall()
    for elapsed, wait, limit, nodes, cpus, gpus in rows:
        ran = elapsed is not None and 0 <= elapsed < TOO_LONG
        total["jobs"] += 1
        total["elapsed"] += elapsed if ran else 0
        total["wait"] += wait if wait is not None and 0 <= wait < TOO_LONG else 0
        total["req_limit"] += limit or 0
        if ran and limit:
            total["accuracy"] += min(elapsed * 1_000_000 // limit, 10**9)
        for name, size in (("node", nodes), ("cpu", cpus), ("gpu", gpus)):
            known = size is not None and 0 <= size <= rollup.MOST
            total[f"{name}s_known"] += known
            total[f"{name}_seconds"] += elapsed * size if ran and known else 0
            if name != "node":
                total[f"{name}_seconds_unused"] += max(0, limit - elapsed) * size if ran and limit and known else 0
    return total, left_out(db, selection, len(rows))


def occupied_from_rows(db: sqlite3.Connection, since: int, until: int) -> list[tuple[int, ...]]:
    found = []
    rows = db.execute(
        "SELECT start_time, end_time, size_nodes, size_cpus, size_gpus FROM run WHERE end_time >= start_time"
        " AND end_time - start_time < ?",
        (TOO_LONG,),
    ).fetchall()
    for hour in range(since, until, HOUR):
        seconds = [0, 0, 0]
        for start, end, *sizes in rows:
            share = max(0, min(end, hour + HOUR) - max(start, hour))
            for place, size in enumerate(sizes):
                seconds[place] += share * (size if size is not None and 0 <= size <= rollup.MOST else 0)
        if any(seconds):
            found.append((hour, *seconds))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_after_any_sequence_of_acts_the_rollups_say_what_the_rows_say(db: sqlite3.Connection, seed: int) -> None:
    pick = random.Random(seed)
    for _ in range(25):
        act(db, pick)
        assert rollup.check(db) == (0, 0)
        chosen, limits = some_filter(pick), pick.random() < 0.6
        answer = read.sums(db, chosen, limits=limits)
        assert answer is not None
        total, excluded = from_rows(db, chosen, limits)
        assert answer.groups.get((), dict.fromkeys(rollup.SUMS, 0)) == total
        assert answer.excluded == excluded
        everything = Filter(states=(), min_elapsed=None, checkpoint_code=85)
        since, until = MONDAY - 6 * HOUR, MONDAY + 12 * HOUR
        assert read.occupied(db, everything, since, until) == occupied_from_rows(db, since, until)


@pytest.mark.parametrize("what", ["elapsed", "wait", "accuracy"])
def test_a_quantile_lies_in_the_bin_that_the_rollups_name(db: sqlite3.Connection, what: str) -> None:
    import numpy as np

    pick = random.Random(what)
    rows = [
        job(n, elapsed=pick.randrange(5 * HOUR), eligible_time=MONDAY + n * 60 - pick.randrange(9000))
        for n in range(3, 60)
    ]
    with transaction(db):
        JobLoad(db, COLUMNS, "slurmdbd").put([values(one) for one in rows])
    chosen = Filter(checkpoint_code=85)
    histogram = read.histogram(db, chosen, what, limits=True)
    assert histogram is not None
    value = {"accuracy": "elapsed * 100.0 / req_limit"}.get(what, what)
    selection = select(chosen, limits=True)
    every = [v for (v,) in db.execute(f"SELECT {value} FROM run WHERE {selection.where}", selection.params)]
    known = [v for v in every if v is not None]
    assert (sum(count for _, _, count in histogram.bins), histogram.unknown) == (len(known), len(every) - len(known))
    for share in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1):
        found = histogram.quantile(share)
        assert found is not None
        exact = float(np.quantile(known, share))
        above, upto = found
        assert (above is None or above < exact) and (upto is None or exact <= upto), (share, exact, found)


@pytest.mark.parametrize(
    ("changes", "answered", "why"),
    [
        ({}, True, "the study's selection"),
        ({"states": ()}, True, "the state is a part of the key"),
        ({"min_elapsed": 300}, True, "an edge of a bin"),
        ({"min_elapsed": 45}, False, "no edge of a bin"),
        ({"since": MONDAY}, True, "a full hour"),
        ({"until": MONDAY + 1}, False, "within an hour"),
    ],
)
def test_what_the_rollups_cannot_answer_they_leave_to_the_rows(
    db: sqlite3.Connection, changes: dict[str, Any], answered: bool, why: str
) -> None:
    chosen = Filter(**changes, checkpoint_code=85)
    assert (read.sums(db, chosen, limits=True) is not None) is answered, why


def test_a_trace_that_keeps_none_and_one_as_of_then_have_no_answer(db: sqlite3.Connection, tmp_path: Path) -> None:
    chosen = Filter(checkpoint_code=85)
    with connect.reader(tmp_path / "trace.db", as_of=MONDAY + 3 * HOUR) as then:
        assert read.sums(then, chosen, limits=True) is None
    rollup.drop(db)
    assert read.sums(db, chosen, limits=True) is None
    assert db.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").fetchone() == (0,)


def test_a_check_finds_what_somebody_changed_by_hand(db: sqlite3.Connection) -> None:
    db.execute("UPDATE ended_hour SET jobs = jobs + 1 WHERE rowid = 1")
    assert rollup.check(db) == (1, 1)
    rollup.rebuild(db, MONDAY)
    assert rollup.check(db) == (0, 0)
