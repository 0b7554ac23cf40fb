"""`report arrivals`, computed once more from its page."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.job import Job
from adminkit.reports import arrivals
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

COLUMNS = "cluster, job_id_raw, submit_time, array_job, het_job, queue, state, end_time"
NOW = 4_000_000_000
#: A clock that is always half past five before UTC's; its hours begin at half past UTC's.
CLOCK = 19_800
#: Seconds of that clock -> the value of the part.
PARTS = {
    "hour": "lpad(CAST({0} // 3600 % 24 AS VARCHAR), 2, '0')",
    "weekday": "(['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed'])[{0} // 86400 % 7 + 1]",
    "month": "strftime(make_timestamp({0} * 1000000), '%Y-%m')",
    "day": "strftime(make_timestamp({0} * 1000000), '%Y-%m-%d')",
}
SENT = """CREATE TABLE sent AS
SELECT "at", jobs, queue, "at" - lag("at") OVER (ORDER BY "at") AS gap,
    "at" - lag("at") OVER (PARTITION BY queue ORDER BY "at") AS own_gap
FROM (SELECT submit_time AS "at", count(*) AS jobs, min(queue) AS queue
    FROM (SELECT *, lag(state) OVER runs IN ('REQUEUED', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'RESIZING')
            AND submit_time <= lag(end_time) OVER runs + 2 * 86400 AS continues
        FROM job WINDOW runs AS (PARTITION BY cluster, job_id_raw ORDER BY submit_time))
    WHERE NOT coalesce(continues, false)
    GROUP BY cluster, submit_time, coalesce(array_job, het_job),
        CASE WHEN coalesce(array_job, het_job) IS NULL THEN job_id_raw END)"""
#: Every hour of the clock from the first submission to one second after the last.
HOURS = f"""CREATE TABLE hours AS
SELECT begun, least(begun + 3600, last + 1) - greatest(begun, first) AS seconds FROM (
    SELECT unnest(generate_series((first + {CLOCK}) // 3600 * 3600 - {CLOCK}, last, 3600)) AS begun, first, last
    FROM (SELECT min("at") AS first, max("at") AS last FROM sent))"""
GAPS = """count(*) AS submissions, sum(jobs) AS jobs, avg({gap}) AS gap_mean, median({gap}) AS gap_median,
    quantile_cont({gap}, 0.95) AS gap_p95, stddev_samp({gap}) AS std"""
COUNTS = """SELECT {value} AS value, sum(seconds) AS seconds,
    CASE WHEN count(*) FILTER (seconds = 3600) > 1 AND sum(came) FILTER (seconds = 3600) > 0
        THEN var_samp(came) FILTER (seconds = 3600) / avg(came) FILTER (seconds = 3600) END AS dispersion
FROM (SELECT begun, seconds, coalesce(many, 0) AS came FROM hours LEFT JOIN (
    SELECT ("at" + {clock}) // 3600 * 3600 - {clock} AS begun, count(*) AS many FROM sent WHERE {also} GROUP BY 1
) USING (begun))
GROUP BY 1"""


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def records(path: Path, part: str) -> list[dict[str, Any]]:
    query = Query(Filter(states=(), min_elapsed=-1, checkpoint_code=85), NOW, str(path), Config(), part)
    with reader(path) as db:
        return arrivals.SPEC.view(arrivals.SPEC.measure(db, query), query).records()


def rows_of(other: Any, sql: str) -> dict[Any, dict[str, Any]]:
    found = other.execute(sql)
    names = [one[0] for one in found.description][1:]
    return {value: dict(zip(names, rest, strict=True)) for value, *rest in found.fetchall()}


def counts(value: str, also: str = "true") -> str:
    return COUNTS.format(value=value, also=also, clock=CLOCK)


def assert_alike(row: dict[str, Any], sent: dict[str, Any] | None, hours: dict[str, Any], whole: int) -> None:
    sent = sent or dict.fromkeys(("gap_mean", "gap_median", "gap_p95", "std")) | {"submissions": 0, "jobs": 0}
    std, mean = sent["std"], sent["gap_mean"]
    wanted = {
        "share": sent["submissions"] / whole,
        "per_hour": sent["submissions"] * 3600 / hours["seconds"],
        "gap_cv": std / mean if std is not None and mean else None,
        "burstiness": (std - mean) / (std + mean) if std is not None and std + mean else None,
        "dispersion": hours["dispersion"],
    }
    assert (row["submissions"], row["jobs"]) == (sent["submissions"], sent["jobs"])
    for name, value in wanted.items():
        assert row[name] == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)), (row, name)
    for name in ("gap_mean", "gap_median", "gap_p95"):
        assert (row[name] is None) == (sent[name] is None), (row, name)
        assert sent[name] is None or abs(row[name] - sent[name]) <= 0.5 + 1e-6, (row, name)


def assert_agree(path: Path, other: Any) -> None:
    other.execute(SENT)
    other.execute(HOURS)
    whole = rows_of(other, f"SELECT 0, {GAPS.format(gap='gap')} FROM sent")[0]
    everything = rows_of(other, counts("0"))[0]
    for part, value in PARTS.items():
        *rows, total = records(path, part)
        assert_alike(total, whole, everything, whole["submissions"])
        at = value.format(f'("at" + {CLOCK})')
        sent = rows_of(other, f"SELECT {at}, {GAPS.format(gap='gap')} FROM sent GROUP BY 1")
        hours = rows_of(other, counts(value.format(f"(begun + {CLOCK})")))
        for row in rows:
            if row[part] in hours:
                assert_alike(row, sent.pop(row[part], None), hours.pop(row[part]), whole["submissions"])
            else:
                assert (row["submissions"], row["per_hour"]) == (0, None)
        assert (sent, hours) == ({}, {})
    rows = {row["queue"]: row for row in records(path, "queue")[:-1]}
    sent = rows_of(other, f"SELECT queue, {GAPS.format(gap='own_gap')} FROM sent GROUP BY 1")
    assert set(rows) == set(sent)
    for queue, row in rows.items():
        name = "NULL" if queue is None else "'" + queue.replace("'", "''") + "'"
        also = f"queue IS NOT DISTINCT FROM {name}"
        assert_alike(row, sent[queue], rows_of(other, counts("0", also))[0], whole["submissions"])


@pytest.mark.parametrize("name", ["lookalike", "pozidriv", "kth", pytest.param("ricc", marks=pytest.mark.soak)])
def test_the_page_alone_gives_the_same_numbers(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str
) -> None:
    path = traces(name)
    assert_agree(path, jobs_in(path, COLUMNS))


def any_job(number: int, rng: random.Random) -> Job:
    """A job of a few arrays, het jobs and clusters; some were put back."""
    return job(
        rng.randint(1, 1500), cluster=rng.choice(("aaic", "aaic", "other")),
        submit_time=MONDAY + rng.randint(0, 200) * rng.choice((1, 600)) * 10 + number % 2,
        array_job=rng.choice((None, None, 3, 4)), het_job=rng.choice((None, None, 4)),
        queue=rng.choice(("gq", "debug", "o'queue", None)), start_time=None, end_time=MONDAY + rng.randint(0, HOUR),
        state=rng.choice(("COMPLETED", "FAILED", "REQUEUED", "PREEMPTED", "NODE_FAIL")),
    )  # fmt: skip


def test_so_it_does_where_anything_is_unknown(tmp_path: Path, jobs_in: Callable[[Path, str], Any]) -> None:
    rng = random.Random(18)
    jobs = {(one.cluster, one.job_id_raw, one.submit_time): one for one in (any_job(n, rng) for n in range(3000))}
    path = make_trace(tmp_path / "t.db", jobs.values())
    assert_agree(path, jobs_in(path, COLUMNS))
