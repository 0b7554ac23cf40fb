"""The saved queries of `adminkit serve` against the reports that each of them names, through the connection that runs
them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.reports.catalogue import spec_named
from adminkit.stats.accuracy import Wanted, accuracy
from adminkit.stats.parallelism import parallelism
from adminkit.stats.programs import programs
from adminkit.stats.saved import PARAMETERS, Saved, saved_queries
from adminkit.stats.select import Filter
from adminkit.stats.states import states
from adminkit.stats.users import users
from adminkit.stats.wait import wait
from adminkit.trace.connect import reader
from adminkit.trace.exposed import exposed

USUAL = Config().report
CODE = Config().checkpoint.code
SAVED = {one.name: one for one in saved_queries(USUAL.states, USUAL.min_elapsed, CODE)}
NOBODY = dict.fromkeys(PARAMETERS, "")
HOUR = 3600

Rows = dict[Any, dict[str, Any]]
#: What a report says of one row, under the names of the query's columns.
Expected = Mapping[Any, Mapping[str, Any]]


def _accuracy(db: sqlite3.Connection, chosen: Filter) -> Expected:
    return {
        (one.cluster, one.queue): {
            "jobs": one.jobs, "mean": one.spread.mean, "used_fraction": one.used_fraction,
            "over_limit": one.over_limit, "gpu_hours_unused": (one.gpu_seconds_unused or 0) / HOUR,
            "cpu_hours_unused": (one.cpu_seconds_unused or 0) / HOUR,
        }
        for one in accuracy(db, chosen, 2**31).queues
    }  # fmt: skip


def _limits(db: sqlite3.Connection, chosen: Filter) -> Expected:
    points = (60, 600, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 259200, 604800)
    found = accuracy(db, chosen, 2**31, Wanted(points=points)).overall
    return {
        (at,): {"ran_within": ran, "asked_within": asked, "jobs": found.jobs}
        for at, ran, asked in zip(points, found.ran_within, found.asked_within, strict=True)
    }


def _states(db: sqlite3.Connection, chosen: Filter) -> Expected:
    every = states(db, Filter(states=(), min_elapsed=None, since=chosen.since, until=chosen.until,
                              queues=chosen.queues, checkpoint_code=CODE), "queue", 60).overall  # fmt: skip
    return {(end,): {"jobs": jobs, "share": jobs / every.jobs} for end, jobs in every.ends.items() if jobs}


def _waits(db: sqlite3.Connection, chosen: Filter) -> Expected:
    return {
        (one.cluster, one.value): {
            name: getattr(one.waits, name) for name in ("jobs", "median", "p75", "p90", "p95", "mean")
        }
        for one in wait(db, chosen, 2**31).groups
        if one.waits.jobs
    }


def _causes(db: sqlite3.Connection, chosen: Filter) -> Expected:
    found = wait(db, chosen, 2**31)
    every = {"queue": found.overall.waits, **found.causes}
    return {(name,): {"jobs": one.jobs, "mean": one.mean} for name, one in every.items() if one.jobs}


def _users(db: sqlite3.Connection, chosen: Filter) -> Expected:
    return {
        (one.cluster, one.user): {
            "jobs": one.jobs, "gpu_hours": one.gpu_seconds / HOUR, "cpu_hours": one.cpu_seconds / HOUR,
            "accuracy": one.accuracy, "used_fraction": one.used_fraction,
        }
        for one in users(db, chosen).users
    }  # fmt: skip


def _months(db: sqlite3.Connection, chosen: Filter) -> Expected:
    months = users(db, chosen).overall.months
    return {(name,): {"jobs": one.jobs, "accuracy": one.accuracy} for name, one in months.items() if one.jobs}


def _frameworks(db: sqlite3.Connection, chosen: Filter) -> Expected:
    return {
        (one.cluster, one.value): {
            "jobs": one.jobs, "users": len(one.users), "gpu_hours": one.gpu_seconds / HOUR,
            "accuracy": one.spread().accuracy,
        }
        for one in programs(db, chosen, "framework").groups
    }  # fmt: skip


def _parallelism(db: sqlite3.Connection, chosen: Filter) -> Expected:
    found = parallelism(db, chosen)
    return {(name,): {"jobs": jobs, "share": jobs / found.jobs} for name, jobs in found.classes.items() if jobs}


REPORTED: dict[str, Callable[[sqlite3.Connection, Filter], Expected]] = {
    "accuracy": _accuracy, "limits": _limits, "months": _months, "wait": _waits, "causes": _causes, "states": _states,
    "users": _users, "frameworks": _frameworks, "parallelism": _parallelism,
}  # fmt: skip


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
    names = [one for one in rows[0] if one in ("cluster", "queue", "user", "framework", "seconds", "way", "cause",
                                               "month", "class")]  # fmt: skip
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
