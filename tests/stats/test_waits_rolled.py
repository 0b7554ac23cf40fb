"""Waits from the rollup by the month of the start: after whatever happened to a trace they are those of its runs."""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats import rollup as rollups
from adminkit.stats import waits_rolled
from adminkit.stats.select import Filter
from adminkit.stats.wait import PARTS, Group, Wait, Waits, wait
from adminkit.trace import connect, rollup
from adminkit.trace.rollup_row import DAY, LAST
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.rollups import act, some_key

NOW = MONDAY + 90 * DAY
JANUARY, FEBRUARY = MONDAY - 4 * DAY, MONDAY + 27 * DAY
ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = make_trace(tmp_path / "trace.db", [job(1, eligible_time=MONDAY), job(2, state="FAILED")])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        yield db


def alike(found: Wait, exact: Wait) -> None:
    """The same, but for quantiles: of these the bin."""
    for one, other in zip((*found.groups, found.overall), (*exact.groups, exact.overall), strict=True):
        same_group(one, other)
    assert list(found.causes) == list(exact.causes)
    for name in exact.causes:
        same_waits(found.causes[name], exact.causes[name])
    assert list(found.cells) == list(exact.cells)
    for unit, cells in exact.cells.items():
        for one, other in zip(found.cells[unit], cells, strict=True):
            same_group(one, other)
    told = ("unplaced", "below_zero", "untold", "waiting", "longest", "excluded", "clusters", "span")
    assert {name: getattr(found, name) for name in told} == {name: getattr(exact, name) for name in told}
    assert list(found.excluded) == list(exact.excluded)


def same_group(found: Group, exact: Group) -> None:
    assert (found.value, found.cluster, found.apart, found.limit) == (
        exact.value,
        exact.cluster,
        exact.apart,
        exact.limit,
    )
    same_waits(found.waits, exact.waits)


def same_waits(found: Waits, exact: Waits) -> None:
    assert (found.jobs, found.mean) == (exact.jobs, exact.mean)
    for name in ("median", "p75", "p90", "p95", "max"):
        value, one = getattr(exact, name), getattr(found, name)
        if value is None:
            assert one is None
            continue
        error = found.error[name]
        assert (one if math.isinf(error) else one - error) <= value <= one + error, name


def some_filter(pick: random.Random) -> Filter:
    since, until = pick.choice(
        (
            *((None, None), (JANUARY, None), (None, JANUARY), (JANUARY - 31 * DAY, FEBRUARY), (JANUARY, NOW + 7)),
            *((JANUARY, MONDAY + HOUR), (None, MONDAY - 2 * HOUR)),
        )
    )
    return replace(ALL, since=since, until=until, **some_key(pick))


@pytest.mark.parametrize("seed", range(4))
def test_after_any_sequence_of_acts_waits_are_those_of_the_runs(db: sqlite3.Connection, seed: int) -> None:
    pick = random.Random(seed)
    for _ in range(20):
        act(db, pick)
        assert rollup.check(db) == (0, 0)
        chosen, part = some_filter(pick), pick.choice([part for part in PARTS if part not in ("user", "hour")])
        found = waits_rolled.wait(db, chosen, NOW, part)
        assert found is not None
        alike(found, wait(db, chosen, NOW, part))


def test_where_many_runs_ended_later_the_runs_are_read(db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = replace(ALL, until=MONDAY - HOUR)
    assert waits_rolled.wait(db, cut, NOW) is not None
    monkeypatch.setattr(rollups, "FEW", 1)
    assert waits_rolled.wait(db, cut, NOW) is None
    assert waits_rolled.wait(db, replace(ALL, until=JANUARY), NOW) is not None, "whole months have no later part"


def waited(number: int, seconds: int, **changes: Any) -> Job:
    start = MONDAY + number * HOUR
    return job(number, **{"start_time": start, "eligible_time": start - seconds, "end_time": start + HOUR, **changes})


@pytest.mark.parametrize(
    ("seconds", "median", "error", "longest", "why"),
    [
        ((0, 0, 0), 0, 0, 0, "a bin of its own"),
        ((-60,), 0, 0, 0, "below zero counts as none"),
        ((0, 7), 5, 5, 5, "between two runs, from the bin of the one to that of the other"),
        ((301, 400, 600), 450, 150, 450, "the upper edge is in the bin"),
        ((601,), 750, 150, 750, "and not in the next"),
        ((31 * DAY,), 30 * DAY, math.inf, 30 * DAY, "the last bin has no end"),
        ((2**40,), 30 * DAY, math.inf, 30 * DAY, "nonsense is in the last one"),
    ],
)
def test_a_quantile_is_the_middle_of_its_bin(
    tmp_path: Path, seconds: tuple[int, ...], median: int, error: float, longest: int, why: str
) -> None:
    path = make_trace(tmp_path / "trace.db", [waited(n, one) for n, one in enumerate(seconds, 1)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        found = waits_rolled.wait(db, ALL, NOW)
        assert found is not None
        waits = found.overall.waits
        assert (waits.median, waits.error["median"], waits.max) == (median, error, longest), why
        alike(found, wait(db, ALL, NOW))


@pytest.mark.parametrize(
    ("jobs", "why"),
    [
        ([waited(1, 5, gpus=0, cpus=8), waited(2, 5, gpus=0, cpus=40)], "without GPUs by CPUs"),
        ([waited(1, 5, gpus=0), waited(2, 5, gpus=0, nodes=2), waited(3, 5)], "by nodes where one has several"),
        ([waited(1, 5, gpus=None, nodes=2, cluster="other"), waited(2, 5, gpus=4, nodes=2)], "GPUs come first"),
        ([waited(1, 5, time_limit=None, limit_kind="unknown"), waited(2, 5, gpus=0, cpus=None)], "in no cell"),
    ],
)
def test_cells_are_those_of_the_runs(tmp_path: Path, jobs: list[Job], why: str) -> None:
    with closing(sqlite3.connect(make_trace(tmp_path / "trace.db", jobs), isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        found = waits_rolled.wait(db, ALL, NOW, "cells")
        assert found is not None, why
        alike(found, wait(db, ALL, NOW, "cells"))


OPEN: Mapping[str, Any] = {"end_time": None, "elapsed": None, "state": "RUNNING"}


@pytest.mark.parametrize(
    ("changes", "part", "answers", "why"),
    [
        ({}, "queue", True, "all"),
        ({}, "hour", False, "hours are of the rows"),
        ({}, "user", False, "no user is in the key"),
        ({"users": ("ada",)}, "queue", False, "no user is in the key"),
        ({"accounts": ("vision",)}, "queue", False, "nor an account"),
        ({"acting": True}, "queue", False, "nor a source"),
        ({"limit_source": "explicit"}, "queue", False, "nor who chose the limit"),
        ({"queues": ("gq",), "classes": ("single-gpu",)}, "limit", True, "these are"),
        ({"since": JANUARY, "until": FEBRUARY}, "queue", True, "a month of UTC"),
        ({"since": JANUARY + 1}, "queue", False, "begins within a month"),
        ({"since": -1}, "queue", False, "before 1970 a month is a day"),
        ({"since": LAST - DAY + 1}, "queue", False, "the last day that has a month"),
        ({"until": MONDAY + 2 * HOUR}, "queue", True, "few runs start later in the month"),
        ({"until": MONDAY + 4 * HOUR}, "queue", True, "an open run starts later"),
        ({"until": MONDAY + 7 * HOUR}, "queue", True, "one starts after its end"),
        ({"until": MONDAY + 9 * HOUR}, "queue", True, "nothing starts later"),
        ({"until": LAST + 1}, "queue", False, "after all months"),
    ],
)
def test_what_the_rollup_answers(tmp_path: Path, changes: dict[str, Any], part: str, answers: bool, why: str) -> None:
    odd = waited(8, 5, end_time=MONDAY, elapsed=1)
    path = make_trace(tmp_path / "trace.db", [waited(1, 5), waited(3, 5), waited(5, 7, **OPEN), odd])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rollup.rebuild(db, MONDAY)
        chosen = replace(ALL, **changes)
        found = waits_rolled.wait(db, chosen, NOW, part)
        assert (found is not None) is answers, why
        if found is not None:
            alike(found, wait(db, chosen, NOW, part))
        rollup.drop(db)
        assert waits_rolled.wait(db, chosen, NOW, part) is None
    with connect.reader(path, as_of=MONDAY + 3 * HOUR) as then:
        assert waits_rolled.wait(then, chosen, NOW, part) is None
