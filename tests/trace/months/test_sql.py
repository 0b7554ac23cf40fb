"""What of the SQL of measures DuckDB is given, and in which spelling."""

from __future__ import annotations

import pytest

from adminkit.trace.months.sql import for_duckdb, is_for_both, parameters_of, words_of

RUN = "FROM run WHERE TRUE"


@pytest.mark.parametrize(
    ("expression", "rest", "why"),
    [
        ("max(wait, 0)", RUN, "DuckDB answers with a list"),
        ("min(coalesce(a, b), 0)", RUN, "the same, around a function"),
        ("CAST(size_gpus AS INTEGER)", RUN, "DuckDB rounds, and it has 32 bits"),
        ("reason LIKE 'a%'", RUN, "of SQLite it takes every case"),
        ("admin_comment GLOB 'ak[0-9]:*'", RUN, "classes differ"),
        ("elapsed", "FROM run, queue", "another table"),
        ("elapsed", "FROM run AS r", "another name"),
        ("elapsed", "FROM run JOIN step USING (cluster)", "another table"),
        ("(SELECT 1 FROM step)", RUN, "another table"),
        ("elapsed", "FROM job", "no view"),
        ("left_out(1)", RUN, "a function of this process"),
    ],
)
def test_what_duckdb_would_answer_otherwise_is_left_to_sqlite(expression: str, rest: str, why: str) -> None:
    assert not is_for_both([expression], rest), why


@pytest.mark.parametrize(
    "expression",
    [
        "max(elapsed)",
        "CAST(round(a * b) AS BIGINT)",
        "reason GLOB '*Max*PerJob*'",
        "CASE WHEN a IS :b THEN 1 END",
        "a / b",
    ],
)
def test_the_rest_is_given_to_it(expression: str) -> None:
    assert is_for_both([expression], "FROM run WHERE end_time < :v1")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a = :x AND b IS :y_2", "a = $x AND b IS NOT DISTINCT FROM $y_2"),
        ("b IS NOT :y OR c IS NOT NULL", "b IS DISTINCT FROM $y OR c IS NOT NULL"),
        ("1.5 * a + 10 - a.b", "1.5e0 * a + 10 - a.b"),
        ("'it''s :x 1.5 IS :y' <> \"d:e\"", "'it''s :x 1.5 IS :y' <> \"d:e\""),
        ("WHERE +queue = 1 AND (+b) AND a + b", "WHERE queue = 1 AND (b) AND a + b"),
        ("a::BIGINT", "a::BIGINT"),
    ],
)
def test_it_is_spelt_for_duckdb(sql: str, expected: str) -> None:
    assert for_duckdb(sql) == expected


def test_names_and_parameters_are_found_outside_of_texts() -> None:
    sql = ["CASE WHEN \"group\" = :who THEN 'user' ELSE queue END"]
    assert {"group", "queue"} <= words_of(sql) and "user" not in words_of(sql)
    assert parameters_of(sql) == {"who"}
