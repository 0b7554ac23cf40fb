"""The queries of docs/scale.md, as they stand there, on other engines over Parquet files: the reports' figures.

`make test` asks DuckDB; `make soak` a Spark with two workers and ClickHouse's engine too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.stats.saved import saved_queries
from adminkit.stats.select import Filter
from adminkit.stats.whole import UNIT
from adminkit.trace.connect import reader
from tests.oracle import engines
from tests.oracle.months import write_months
from tests.oracle.reported import CODE, NAMES, REPORTED

duckdb = pytest.importorskip("duckdb", reason="not run: no duckdb (pip install -e '.[dev]')")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scale.md").read_text()
_BLOCK = re.compile(r"^### (\w+)\n(?:(?!#|```)[^\n]*\n)*```sql\n(.*?)^```", re.DOTALL | re.MULTILINE)
SQL = {name: block.strip() for name, block in _BLOCK.findall(PAGE)}
ENGINES = ("DuckDB", "Spark", "ClickHouse")
QUERIES = {name: sql for name, sql in SQL.items() if name not in ENGINES}
USUAL = Config().report

Answers = Mapping[str, list[dict[str, Any]]]


def _views(engine: str, folder: Path) -> list[str]:
    """The statements that the page gives for the engine."""
    return [one.strip() for one in SQL[engine].replace("FOLDER", str(folder)).split(";")]


@pytest.fixture(scope="module")
def trace(traces: Callable[[str], Path]) -> Path:
    return traces("lookalike")


@pytest.fixture(scope="module")
def months(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_months(trace, tmp_path_factory.mktemp("scale") / "trace.db")


@pytest.fixture(scope="module")
def of_duckdb(months: Path) -> Answers:
    db = duckdb.connect()
    for statement in _views("DuckDB", months):
        db.execute(statement)
    answers = {}
    for name, query in QUERIES.items():
        rows = db.execute(query)
        columns = [one[0] for one in rows.description]
        answers[name] = [dict(zip(columns, row, strict=True)) for row in rows.fetchall()]
    return answers


def _compare(answers: Answers, trace: Path, name: str) -> None:
    chosen = Filter(states=USUAL.states, min_elapsed=USUAL.min_elapsed, checkpoint_code=CODE)
    with reader(trace) as db:
        expected = REPORTED[name](db, chosen)
    rows = answers[name]
    keys = [one for one in rows[0] if one in NAMES]
    found = {tuple(row[one] for one in keys): row for row in rows}
    assert len(found) == len(rows) and found.keys() == expected.keys()
    for key, values in expected.items():
        for column, value in values.items():
            # A report adds accuracies that are rounded to parts of UNIT; the engines add what is not rounded.
            close = pytest.approx(value, rel=1e-12, abs=0.5 / UNIT if column == "accuracy" else 0)
            assert found[key][column] == close, (name, key, column)


def test_the_page_has_every_saved_query_and_a_view_for_each_engine() -> None:
    saved = {one.name for one in saved_queries(USUAL.states, USUAL.min_elapsed, CODE)}
    assert set(QUERIES) == saved == set(REPORTED)
    assert set(SQL) - saved == set(ENGINES)


@pytest.mark.parametrize("name", QUERIES)
def test_duckdb_answers_as_the_report(of_duckdb: Answers, trace: Path, name: str) -> None:
    _compare(of_duckdb, trace, name)


@pytest.mark.soak
def test_clickhouse_answers_as_the_reports(months: Path, trace: Path) -> None:
    answers = engines.clickhouse(_views("ClickHouse", months), QUERIES)
    for name in QUERIES:
        _compare(answers, trace, name)


@pytest.mark.soak
def test_spark_with_two_workers_answers_as_the_reports(months: Path, trace: Path, tmp_path: Path) -> None:
    answers = engines.spark(_views("Spark", months), QUERIES, tmp_path / "spark")
    assert answers.pop("workers") == engines.WORKERS
    for name in QUERIES:
        _compare(answers, trace, name)
