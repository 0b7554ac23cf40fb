"""adminkit-ingest sums up runs: what rolled() is given, in any type and size. tests/trace has what the sums are."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.trace import rollup
from adminkit.trace.rollup_load import RUN, loading, rolled
from adminkit.trace.rollup_row import EDGES, FROM, MONTH
from adminkit.trace.rollup_waits import STARTS
from adminkit.trace.run_view import TOO_LONG
from adminkit.trace.wait_sql import CAUSES, LIMITS, SIZES
from tests.native import helper
from tests.support.builders import make_trace

LOAD = loading()
#: A run that ended.
ENDED = {"cluster": "'c'", "source": "'text'", "start_time": "0", "end_time": "60", "elapsed": "60"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_trace(tmp_path / "trace.db")


def of(*runs: Mapping[str, str]) -> str:
    return f"SELECT {rolled('7', *({**ENDED, **run} for run in runs))}"


def summed(path: Path, rows: str, changed: Mapping[str, str] | None = None) -> helper.Ran:
    """`rows` summed up; `changed`: the statements of some names instead of those of a load."""
    statements = {**dict(one.split("=", 1) for one in LOAD.statements), "rows": rows, **(changed or {})}
    words = [word for name, sql in statements.items() if sql for word in ("--rollup", f"{name}={sql}")]
    spec = ("--columns", "int", "--sql", "INSERT INTO fact VALUES ('c', ?1, '', 0)")
    return helper.run(b"1\n", "--db", path, *spec, *words)


def stored(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def test_a_key_tells_null_text_and_hostile_names_apart(path: Path) -> None:
    names = ("NULL", "''", "'1'", "'a' || x'1f' || 'b'", "'x''; DROP TABLE job; --'", "'é'", f"'{'n' * 200}'")
    assert not summed(path, " UNION ALL ".join(of({"user": one, "queue": two}) for one in names for two in names)).error
    assert stored(path, "SELECT count(*), count(DISTINCT user), sum(user IS NULL) FROM rollup_key") == [(49, 6, 7)]


def test_a_run_that_changes_is_taken_away_and_put_in(path: Path) -> None:
    rows = (of({}), of({}, {"state": "'FAILED'"}), of({"end_time": "NULL"}))
    assert not summed(path, " UNION ALL ".join(rows)).error
    assert stored(path, "SELECT state, jobs FROM ended_month JOIN rollup_key ON id = key") == [("FAILED", 1)]


def test_more_groups_than_are_held_at_once_are_put_away_in_between(path: Path) -> None:
    count = "WITH c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 139999) "
    run = of({"user": "'u' || (i % 135000)", "queue": "'q' || (i % 3)"})
    assert not summed(path, f"{count}{run} FROM c").error
    assert stored(path, "SELECT count(DISTINCT key), sum(jobs) FROM ended_month_user") == [(135_000, 140_000)]
    assert stored(path, "SELECT count(*), sum(jobs) FROM ended_month") == [(3, 140_000)]


@pytest.mark.parametrize("value", ["9223372036854775807", "-9223372036854775807 - 1", "0", "-1", "4e18", "NULL"])
@pytest.mark.parametrize("column", RUN[10:])
def test_no_number_of_a_run_is_too_large(path: Path, column: str, value: str) -> None:
    assert not summed(path, of({column: value})).error
    assert stored(path, "SELECT sum(jobs) FROM ended_month") == [
        (None if (column, value) == ("end_time", "NULL") else 1,)
    ]


def test_every_time_has_the_month_that_sqlite_says_and_its_day(path: Path) -> None:
    end = f"(i * 25_340_230 + i * i % 86400 - {10**9})".replace("_", "")  # 1938 to 9999
    count = "WITH c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 10038) "
    assert not summed(path, f"{count}{of({'end_time': end, 'user': f'CAST({end} AS TEXT)'})} FROM c").error
    days = " + ".join(f"day_{day} * {day - 1}" for day in range(1, 32))
    rows = (
        f"SELECT month, CAST(user AS INTEGER) AS end_time, month + 86400 * ({days}) AS day"
        " FROM ended_month_user JOIN rollup_key ON id = key"
    )
    right = f"sum(month = {MONTH}), sum(day <= end_time AND end_time < day + 86400)"
    assert stored(path, f"SELECT count(*), {right} FROM ({rows})") == [(10039, 10039, 10039)]


@pytest.mark.parametrize(
    ("rows", "changed", "why"),
    [
        (of({"nodes": "'x'"}), {}, "rolled(): a column has another type"),
        (of({"nodes": "0.5"}), {}, "rolled(): a column has another type"),
        (of({"user": "x'00'"}), {}, "rolled(): a column has another type"),
        ("SELECT rolled(1, 2)", {}, "rolled() takes a value and one run or two"),
        ("SELECT absent", {}, "no such column: absent"),
        (of({}), {"find": ""}, "--rollup: every statement but rows="),
        (of({}), {"other": "SELECT 1"}, "--rollup: no such statement"),
        (of({}), {"month": "INSERT INTO fact VALUES (?1, 0, 0, 0)"}, "one parameter for each column"),
        (of({}), {"user": "INSERT INTO nowhere VALUES (?1, ?2)"}, "no such table: nowhere"),
        (of({}), {"make": "INSERT INTO rollup_key (id) VALUES (?1)"}, "column index out of range"),
        (
            of({"user": "'u'"}),
            {"make": "INSERT INTO fact SELECT ?1, ?14, 0, 0 WHERE FALSE"},
            "find= does not find the row that make= inserted",
        ),
        (of({}), {"everybody": "SELECT 1 FROM job WHERE job_id_raw = ?1"}, "--rollup everybody="),
    ],
)
def test_what_cannot_be_added_up_ends_the_load_with_nothing_written(
    path: Path, rows: str, changed: Mapping[str, str], why: str
) -> None:
    ran = summed(path, rows, changed)
    assert ran.code == 1 and why in ran.error
    tables = ("fact", *rollup.NAMES)
    assert stored(path, f"SELECT {' + '.join(f'(SELECT count(*) FROM {name})' for name in tables)}") == [(0,)]


def test_waits_are_counted_as_sql_says_at_every_edge(path: Path) -> None:
    reasons = (
        *("NULL", "''", "'None'", "'Priority'", "'Resources'", "'priority'", "'None' || x'00'", "'Licenses'", "'Max'"),
        *("'JobArrayTaskLimit'", "'Dependency'", "'DependencyNeverSatisfied'", "'QOS'", "'QOSGrpCpuLimit'"),
        *("'MaxJobsPerUser'", "'MaxPerAccount'", "'MaxPerUse'", "'MaxPerUser' || x'00'", "'Max' || x'00' || 'PerUser'"),
        *("'InvalidQOS'", "'AssocGrpCpuLimit'", "'AccountingPolicy'", "'AccountNotAllowed'", "'InvalidAccount'"),
        *("'JobHeldAdmin'", "'JobHoldMaxRequeue'", "'BeginTime'", "'MaxéPerUser'", "'x''; --'"),
    )
    last = 2**63 - 1
    changed = [
        {},
        *({"reason": one, "source": f"'{source}'"} for one in reasons for source in ("slurmdbd", "text")),
        *({"eligible_time": str(-edge - past)} for edge in EDGES for past in (-1, 0, 1)),
        *({"start_time": str(one), "end_time": str(last)} for one in (last, -(2**62), 253402300799, 253402300800)),
        {"eligible_time": str(-last)},
        *({"time_limit": str(edge + past)} for edge in (*LIMITS, TOO_LONG) for past in (-1, 0, 1)),
        *({"limit_kind": f"'{kind}'"} for kind in ("unlimited", "partition", "unknown", "finite")),
        *({unit: str(size + past)} for unit in ("gpus", "nodes", "cpus") for size in SIZES for past in (-1, 0, 1)),
        *({"gpus": one, "cpus": "8", "req_nodes": "3"} for one in ("NULL", "0", "-1")),
        *({"end_time": "0", "elapsed": one, "node_list": nodes} for one in ("0", "60", "NULL") for nodes in _NODES),
        *({name: "NULL"} for name in ("start_time", "eligible_time", "queue")),
    ]
    whole = dict.fromkeys(FROM, "NULL") | {
        **ENDED,
        "eligible_time": "0",
        "limit_kind": "'finite'",
        "limit_source": "''",
    }
    runs = [{**whole, **one} for one in changed]
    assert not summed(path, " UNION ALL ".join(map(of, runs))).error
    rows = " UNION ALL ".join(f"SELECT {', '.join(f'{run[name]} AS {name}' for name in FROM)}" for run in runs)
    names = ", ".join(("month", *STARTS.keys))
    right = f"SELECT {names}, {', '.join(f'sum({one})' for one in STARTS.sums)} FROM ({STARTS.image(f'({rows})')})"
    kept = stored(path, f"{STARTS.kept} ORDER BY {names}")
    assert kept == stored(path, f"{right} GROUP BY {names} ORDER BY {names}")
    assert sum(row[11] for row in kept) == len(runs)
    assert {row[8] for row in kept} == set(range(len(CAUSES) + 1)) and {row[10] for row in kept} == {0, 1, 2}


_NODES = ("NULL", "''", "'n1'")
