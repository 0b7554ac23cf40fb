"""The saved queries of `adminkit serve` against the reports that each of them names, through the connection that runs
them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.reports.catalogue import spec_named
from adminkit.stats.saved import PARAMETERS, Saved, saved_queries
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from adminkit.trace.exposed import exposed
from tests.oracle.reported import CODE, NAMES, REPORTED

USUAL = Config().report
SAVED = {one.name: one for one in saved_queries(USUAL.states, USUAL.min_elapsed, CODE)}
NOBODY = dict.fromkeys(PARAMETERS, "")


@pytest.fixture(scope="module")
def trace(traces: Callable[[str], Path]) -> Path:
    return traces("lookalike")


@pytest.fixture(scope="module")
def shown(trace: Path) -> Iterator[sqlite3.Connection]:
    with closing(exposed(trace)) as db:
        db.row_factory = sqlite3.Row
        yield db


def answered(db: sqlite3.Connection, query: Saved, **given: str) -> list[dict[str, Any]]:
    return [dict(row) for row in db.execute(query.sql, {**NOBODY, **given})]


def test_every_query_is_compared_and_names_a_report() -> None:
    assert set(REPORTED) == set(SAVED)
    assert all(spec_named(one.report) for one in SAVED.values())


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({}, {}),
        (
            {"queue": "gq", "since": "2017-09-01", "until": "2017-11-15"},
            {"queues": ("gq",), "since": 1504224000, "until": 1510704000},
        ),
    ],
    ids=["all", "one queue and a window"],
)
def test_a_saved_query_answers_as_its_report(
    shown: sqlite3.Connection, trace: Path, name: str, given: dict[str, str], chosen: dict[str, Any]
) -> None:
    with reader(trace) as db:
        expected = REPORTED[name](
            db, Filter(states=USUAL.states, min_elapsed=USUAL.min_elapsed, checkpoint_code=CODE, **chosen)
        )
    query = SAVED[name]
    rows = answered(shown, query, **given)
    assert {*query.chart.names, *query.chart.values, query.chart.count} <= rows[0].keys(), "what is drawn is there"
    names = [one for one in rows[0] if one in NAMES]
    found = {tuple(row[one] for one in names): row for row in rows}
    assert found.keys() == expected.keys() and found
    for key, values in expected.items():
        assert {one: found[key][one] for one in values} == pytest.approx(values), key


def test_what_no_day_can_be_finds_nothing_and_quotes_are_text(shown: sqlite3.Connection) -> None:
    assert answered(shown, SAVED["users"], since="soon") == []
    assert answered(shown, SAVED["users"], queue="gq' OR '1' = '1") == []


def test_a_window_is_found_in_the_index(shown: sqlite3.Connection) -> None:
    plan = shown.execute(f"EXPLAIN QUERY PLAN {SAVED['accuracy'].sql}", NOBODY)
    assert any("job_end" in row["detail"] for row in plan)


def test_states_of_the_settings_are_text_whatever_they_are(trace: Path) -> None:
    (first, *_) = saved_queries(("CO'MPLETED", "TIMEOUT"), None, 7)
    assert "'CO''MPLETED'" in first.sql and "exit_code IS 7" in first.sql
    with closing(exposed(trace)) as db:
        assert db.execute(first.sql, NOBODY).fetchall(), "TIMEOUT is there"
