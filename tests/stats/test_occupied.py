"""Hours in use from the rollup by hour: after whatever happened to a trace they are those of its runs."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from adminkit.stats import occupied
from adminkit.stats.select import Filter
from adminkit.stats.utilization import PARTS, Utilization, utilization
from adminkit.trace import rollup
from adminkit.trace.rollup_hours import HOURS, ODD
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.rollups import act, some_key

DAY = 24 * HOUR
NOW = MONDAY + 90 * DAY
UTC = ZoneInfo("UTC")
ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = make_trace(tmp_path / "trace.db", [job(1), job(2, state="FAILED")])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        yield db


def alike(found: Utilization, exact: Utilization) -> None:
    """The same but for the millisecond to which the hours of runs are added up."""
    for one, other in zip((*found.parts, found.overall), (*exact.parts, exact.overall), strict=True):
        if one is None or other is None:
            assert one is other
            continue
        assert (one.name, one.begin, one.end, one.jobs) == (other.name, other.begin, other.end, other.jobs)
        for name, hours in one.hours.items():
            used = other.hours[name].used
            assert hours.used == used or abs(hours.used - used) <= 0.01
            assert (hours.capacity, hours.down) == (other.hours[name].capacity, other.hours[name].down)
    told = ("jobs", "open", "partial", "until", "unknown", "zone", "excluded", "clusters", "span")
    assert {name: getattr(found, name) for name in told} == {name: getattr(exact, name) for name in told}


def some_filter(pick: random.Random) -> Filter:
    spans = ((None, None), (-2 * HOUR, 3 * HOUR), (0, None), (-40 * DAY, DAY), (None, 4 * HOUR), (None, 60 * DAY + 7))
    since, until = (None if at is None else MONDAY + at for at in pick.choice(spans))
    return replace(ALL, since=since, until=until, **some_key(pick))


@pytest.mark.parametrize("seed", (0, 2, 3, 5, 9))
def test_after_any_sequence_of_acts_hours_are_those_of_the_runs(db: sqlite3.Connection, seed: int) -> None:
    pick = random.Random(seed)
    told = 0
    if seed % 2:
        db.execute("INSERT INTO node (cluster, node, since, present, cpus, gpus) VALUES ('aaic', 'n1', 0, 1, 16, 4)")
    for _ in range(20):
        act(db, pick)
        db.execute("UPDATE job SET cpus = 1 << 25 WHERE cpus > 1 << 25")  # sums stay exact
        chosen = some_filter(pick)
        part = pick.choice(("week", "month") if chosen.since is None or chosen.until is None else PARTS)
        found = occupied.utilization(db, chosen, part, NOW, UTC)
        if found is not None:
            alike(found, utilization(db, chosen, part, NOW, UTC))
            told += 1
    assert told >= 5


def ran(start: float, end: float, number: int = 3, **changes: Any) -> Any:
    begin, over = MONDAY + int(start * HOUR), MONDAY + int(end * HOUR)
    return job(number, **{"start_time": begin, "end_time": over, "elapsed": over - begin, **changes})


@pytest.mark.parametrize(
    ("changes", "rows", "odd", "why"),
    [
        ({}, 2, 0, "where it starts, and where it ends"),
        ({"elapsed": 60}, 0, 1, "suspended: nobody knows when"),
        ({"elapsed": None}, 0, 1, "of unknown length"),
        ({"start_time": None}, 0, 0, "never started"),
        ({"start_time": 0}, 0, 1, "nonsense"),
        ({"end_time": None, "elapsed": None, "state": "RUNNING"}, 0, 0, "open"),
        ({"gpus": 1 << 25}, 0, 1, "more than there can be"),
        ({"gpus": -1}, 0, 1, "less than nothing"),
        ({"gpus": None, "req_gpus": None, "cpus": None, "req_cpus": None}, 2, 0, "of unknown sizes"),
    ],
)
def test_a_run_is_in_the_rollup_or_odd(tmp_path: Path, changes: dict[str, Any], rows: int, odd: int, why: str) -> None:
    trace = make_trace(tmp_path / "trace.db", [ran(1.5, 3.25, **changes)])
    with closing(sqlite3.connect(trace, isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        found = (
            f"SELECT count(*) FROM {HOURS.table}",
            f"SELECT count(*) FROM run WHERE {ODD}",
        )
        assert [db.execute(sql).fetchone()[0] for sql in found] == [rows, odd], why
        plan = db.execute(f"EXPLAIN QUERY PLAN {found[1]}").fetchall()
        assert "rollup_odd" in plan[0][3]
        rolled = occupied.utilization(db, ALL, "hour", NOW, UTC)
        assert rolled is not None
        alike(rolled, utilization(db, ALL, "hour", NOW, UTC))


@pytest.mark.parametrize(
    ("changes", "part", "tz", "answers", "why"),
    [
        ({}, "hour", "UTC", True, "hours of UTC"),
        ({}, "day", "Asia/Tokyo", True, "midnight is an hour of UTC"),
        ({}, "hour", "Asia/Kolkata", False, "an hour there begins half past one of UTC"),
        ({"since": MONDAY + 60}, "day", "UTC", False, "begins within an hour"),
        ({"until": MONDAY + 2 * HOUR + 60}, "day", "UTC", False, "ends within an hour, and a run goes on"),
        ({"until": MONDAY + 50 * HOUR + 60}, "day", "UTC", True, "ends within an hour in which nothing happens"),
        ({"users": ("ada",)}, "day", "UTC", False, "no user is in the key"),
        ({"queues": ("gq",), "classes": ("single-gpu",)}, "day", "UTC", True, "these are"),
    ],
)
def test_what_the_rollup_answers(
    db: sqlite3.Connection, changes: dict[str, Any], part: str, tz: str, answers: bool, why: str
) -> None:
    db.execute("UPDATE job SET start_time = ?, end_time = ?, elapsed = ?", (MONDAY, MONDAY + 4 * HOUR, 4 * HOUR))
    db.execute("INSERT OR REPLACE INTO window VALUES ('aaic', 'job', 0, ?, 0, 0, 0, 0, 0, 0, 0, 0)", (NOW,))
    chosen, zone = replace(ALL, **changes), ZoneInfo(tz)
    found = occupied.utilization(db, chosen, part, NOW, zone)
    assert (found is not None) is answers, why
    if found is not None:
        alike(found, utilization(db, chosen, part, NOW, zone))
