"""A trace as it happened: nothing is known before it ended."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.recommend.predict import MENU, Settings
from adminkit.recommend.replay import backtest, run_of, told
from adminkit.stats.select import Filter
from adminkit.stats.similar import Ended
from adminkit.stats.similar import ended as runs_of
from tests.recommend.histories import HOUR, ended

RUNS = st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 2000), st.integers(0, 500)), max_size=60)


def told_for(runs: list[Ended]) -> list[object]:
    return [found for _, found, _ in told(runs, Settings(), MENU)]


def history(rows: list[tuple[int, int, int]]) -> list[Ended]:
    return [ended(submit, elapsed, wait) for submit, elapsed, wait in sorted(rows)]


def longer(one: Ended, end: int) -> Ended:
    """The same run with the same start, ending later."""
    start = one.end_time - one.elapsed
    end = max(end, start + 1)
    return one._replace(elapsed=end - start, end_time=end)


@given(RUNS, st.integers(0, 2500), st.integers(1, 5000))
def test_what_ends_later_changes_nothing_before(rows: list[tuple[int, int, int]], now: int, other: int) -> None:
    """Every run that had not ended by `now` goes on for another time: nothing recommended up to then is otherwise."""
    before = history(rows)
    after = [one if one.end_time <= now else longer(one, now + other) for one in before]
    known = sum(one.submit_time <= now for one in before)
    assert told_for(before)[:known] == told_for(after)[:known]


def test_an_array_submitted_at_once_learns_nothing_from_itself() -> None:
    assert told_for([ended(0, HOUR) for _ in range(1000)]) == [None] * 1000


def test_the_next_run_after_the_array_has_it_all() -> None:
    found = told_for([*(ended(0, HOUR) for _ in range(1000)), ended(2 * HOUR, HOUR)])[-1]
    assert found is not None
    assert (found.limit, found.runs) == (90 * 60, 40)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "censored", "why"),
    [
        ({}, False, "it ended by itself"),
        ({"state": "TIMEOUT"}, True, "Slurm ended it"),
        ({"state": "FAILED", "time_limit": HOUR}, True, "an old trace says only that it failed"),
        ({"time_limit": None}, False, "it had no limit"),
    ],
)
def test_a_run_at_its_limit_needed_more(changes: dict[str, object], censored: bool, why: str) -> None:
    assert run_of(ended(0, HOUR)._replace(**changes)).censored == censored, why  # type: ignore[arg-type]


def test_the_table_of_a_small_trace() -> None:
    """Two users: ada steady, bob with a long run now and then. Each way to set limits, in full."""
    ada = [ended(n * 2 * HOUR, HOUR + 60 * (n % 5)) for n in range(30)]
    bob = [ended(n * 9 * HOUR, 8 * HOUR if n % 7 == 6 else HOUR, user="bob", uid=1002) for n in range(30)]
    found = backtest([*ada, *bob])
    table = {name: (one.runs, round(one.accuracy / one.runs, 4), one.over) for name, one in found.measures.items()}
    assert (found.runs, found.recommended) == (60, 54)
    assert table == {}


def test_nothing_can_be_measured_without_requests() -> None:
    found = backtest([ended(n * HOUR, 60, request=None) for n in range(10)])
    assert {one.runs for one in found.measures.values()} == {0}
    assert found.recommended > 0


@pytest.mark.skipif("ADMINKIT_TRACES" not in os.environ, reason="not run: ADMINKIT_TRACES names no folder of traces")
@pytest.mark.parametrize(("name", "accuracy", "over"), [("KTH-SP2-1996-2", 0.50, 0.10), ("RICC-2010-2", 0.43, 0.12)])
def test_real_traces_are_predicted_as_well_as_promised(tmp_path: Path, name: str, accuracy: float, over: float) -> None:
    from adminkit.cli.main import main

    source = Path(os.environ["ADMINKIT_TRACES"]) / f"{name}.swf.gz"
    assert main(["import", str(source), "--cluster", "swf", "--db", str(tmp_path / "t.db")]) == 0
    with closing(sqlite3.connect(tmp_path / "t.db")) as db:
        one = backtest(runs_of(db, Filter(states=(), min_elapsed=0))).measures["safe"]
    assert one.accuracy / one.runs >= accuracy
    assert one.over / one.runs <= over
