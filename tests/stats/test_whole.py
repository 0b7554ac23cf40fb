"""Whole numbers of SQL: those of Python, from SQLite and from DuckDB."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.stats.whole import GPU_PARTS, MOST, RATIO, in_seconds, month, months, ratios, seconds, unknown
from adminkit.trace.months.sql import for_duckdb
from adminkit.trace.run_view import TOO_LONG

FIRST, LAST = -62_167_219_200, 253_402_300_799  # the years 0 to 9999


@cache
def engines() -> tuple[sqlite3.Connection, Any]:
    """SQLite and DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    other = duckdb.connect(":memory:")
    other.execute("SET integer_division = true")
    return sqlite3.connect(":memory:"), other


def answers(sql: str, **columns: float | None) -> list[Any]:
    """What SQLite and DuckDB say of one row."""
    ours, theirs = engines()
    kinds = {name: "DOUBLE" if name == "size_gpus" else "BIGINT" for name in columns}
    values = list(columns.values())
    row = ", ".join(f"? AS {name}" for name in columns)
    typed = ", ".join(f"CAST(? AS {kind}) AS {name}" for name, kind in kinds.items())
    return [
        ours.execute(f"SELECT {sql} FROM (SELECT {row})", values).fetchone()[0],
        theirs.execute(f"SELECT {for_duckdb(sql)} FROM (SELECT {typed})", values).fetchone()[0],
    ]


@given(st.integers(0, LAST) | st.sampled_from([0, 951_782_400, 951_868_799, 951_868_800, 4_107_542_399, 4_107_542_400]))
def test_a_month_is_that_of_the_calendar(end: int) -> None:
    wanted = datetime.fromtimestamp(end, UTC).strftime("%Y-%m")
    for found in answers(month("end_time"), end_time=end):
        assert months(np.array([found])).names == [wanted]


@pytest.mark.parametrize(
    ("end", "name"),
    [(None, None), (FIRST - 1, None), (LAST + 1, None), (FIRST, "0000-01"), (-1, "1969-12"), (LAST, "9999-12")],
)
def test_a_month_without_a_year_of_four_digits_is_unknown(end: int | None, name: str | None) -> None:
    for found in answers(month("end_time"), end_time=end):
        texts = months(np.array([np.nan if found is None else found]))
        assert [texts.names[code] for code in texts.codes] == [name]


@given(st.integers(0, TOO_LONG), st.integers(1, TOO_LONG))
def test_a_ratio_is_whole_ones_and_parts(elapsed: int, limit: int) -> None:
    both = [answers(sql, elapsed=elapsed, req_limit=limit) for sql in RATIO]
    for whole, parts in zip(*both, strict=True):
        (found,) = ratios(np.array([whole]), np.array([parts]))
        assert abs(Fraction(found) - Fraction(elapsed, limit)) <= Fraction(1, 10**12) + Fraction(found) / 2**52


@pytest.mark.parametrize(
    ("size", "elapsed", "wanted", "missing", "why"),
    [
        (2, 60, 120, 0, "two for a minute"),
        (0.5, 61, 30.5, 0, "half a GPU"),
        (3 / 7, 3600, 3600 * 3 / 7, 0, "three slices of seven"),
        (0, 60, 0, 0, "none"),
        (None, 60, 0, 1, "unknown"),
        (MOST // GPU_PARTS, TOO_LONG - 1, MOST // GPU_PARTS * (TOO_LONG - 1), 0, "the most GPUs, within 63 bits"),
        (75_264, 86_400, 75_264 * 86_400, 0, "all GPUs of a machine of 9,408 nodes"),
        (5 / 32, 60, 60 * 5 / 32, 0, "five shards of 32"),
        (0.29, 60, 60 * 0.29, 0, "MPS of a GPU"),
        (MOST + 1, 60, 0, 1, "nonsense"),
        (-1, 60, 0, 1, "nonsense"),
        (2, None, 0, 0, "an unknown time"),
        (2, -1, 0, 0, "a time that cannot be"),
        (2, TOO_LONG, 0, 0, "a time that is too long"),
    ],
)
def test_seconds_are_times_a_size(
    size: float | None, elapsed: int | None, wanted: float, missing: int, why: str
) -> None:
    for name in ("size_gpus", "size_cpus"):
        if size is None or size % 1 == 0 or name == "size_gpus":
            for found in answers(seconds(name), elapsed=elapsed, **{name: size}):
                told = in_seconds(name, np.array([found], np.int64))[0]
                assert told == pytest.approx(wanted, rel=1e-15, abs=0), why
            assert answers(unknown(name), **{name: size}) == [missing, missing], why
