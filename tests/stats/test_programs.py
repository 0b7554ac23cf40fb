"""Runs by what they ran."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from adminkit.job import Job
from adminkit.stats import programs as programs_module
from adminkit.stats.programs import PARTS, Programs, programs
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.stats import regrouped
from tests.support.builders import HOUR, job, make_trace
from tests.support.reports import HOSTILE

ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)


def measured(path: Path, jobs: list[Job], part: str = "framework") -> Programs:
    with reader(make_trace(path / "t.db", jobs)) as db:
        return programs(db, ALL, part)


@pytest.mark.parametrize("part", PARTS)
def test_names_are_rows_as_they_are_and_the_unknown_is_one(tmp_path: Path, part: str) -> None:
    jobs = [job(1, **{part: HOSTILE}, gpus=1), job(2, **{part: "mpi"}, gpus=4), job(3, gpus=2), job(4, gpus=1)]
    found = measured(tmp_path, jobs, part)
    assert [(one.value, one.jobs, one.gpu_seconds / HOUR) for one in found.groups] == [
        ("mpi", 1, 4),
        (None, 2, 3),
        (HOSTILE, 1, 1),
    ]
    assert (found.overall.jobs, found.overall.users) == (4, {"ada"})


@pytest.mark.parametrize(
    ("jobs", "accuracy", "std", "used", "median", "why"),
    [
        ([], None, None, None, None, "no job"),
        ([job(1)], 0.25, None, 0.25, HOUR, "one has no spread"),
        ([job(1), job(2, elapsed=3 * HOUR)], 0.5, 0.5 / 2**0.5, 0.5, 2 * HOUR, "n - 1"),
        ([job(1), job(2, elapsed=16 * HOUR, time_limit=16 * HOUR)], 0.625, 0.75 / 2**0.5, 0.85, 8.5 * HOUR, "longer"),
        ([job(1), job(2, time_limit=None, limit_kind="unlimited")], 0.25, None, 0.25, HOUR, "no limit, no accuracy"),
        ([job(1), job(2, restarts=1)], 0.25, None, 0.25, HOUR, "nor a run that goes on"),
        ([job(1), job(2, exit_code=85)], 0.25, None, 0.25, HOUR, "nor one that says so"),
        ([job(1, elapsed=None)], None, None, None, None, "nobody knows how long"),
    ],
)
def test_accuracy_is_of_limits_and_spread_of_runs(
    tmp_path: Path, jobs: list[Job], accuracy: float, std: float, used: float, median: float, why: str
) -> None:
    overall = measured(tmp_path, jobs).overall
    spread = overall.spread()
    assert spread.accuracy == pytest.approx(accuracy), why
    assert spread.accuracy_std == pytest.approx(std), why
    assert overall.used_fraction == pytest.approx(used), why
    assert spread.elapsed_median == pytest.approx(median), why


@pytest.mark.parametrize("part", PARTS)
def test_neither_the_order_nor_the_grouping_of_rows_changes_a_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def measure(db: sqlite3.Connection) -> object:
        found = programs(db, Filter(states=(), min_elapsed=None, checkpoint_code=85), part)
        return found, [one.spread() for one in (*found.groups, found.overall)]

    regrouped.check(monkeypatch, tmp_path, programs_module, measure, seeds=2)
