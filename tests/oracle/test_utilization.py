"""`report utilization`, computed once more from its page."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.job import Job
from adminkit.reports import utilization
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.hours import add_nodes

COLUMNS = "state, start_time, end_time, elapsed, suspended, seen_open, gpus, req_gpus, cpus, req_cpus, nodes, req_nodes"
#: A clock that is always half past five before UTC's.
CLOCK = 19_800
DAY = 86_400
NAMES = ("gpu", "cpu", "node")
#: Every run: from when to when, its run time, its sizes; and whether it counts.
RUNS = """CREATE TABLE runs AS
SELECT *, start_time > 0 AND stop IS NOT NULL AND coalesce(ran BETWEEN 0 AND 2147483646, false) AS counts FROM (
    SELECT start_time, coalesce(gpus, req_gpus) AS gpu, coalesce(cpus, req_cpus) AS cpu,
        coalesce(nodes, req_nodes) AS node, coalesce(end_time, seen) AS stop,
        CASE WHEN end_time IS NOT NULL THEN elapsed
            WHEN coalesce(elapsed, -1) < 0 THEN greatest(seen - start_time - coalesce(suspended, 0), 0)
            WHEN state = 'SUSPENDED' THEN elapsed ELSE elapsed + greatest(seen - seen_open, 0) END AS ran
    FROM (SELECT *, CASE WHEN seen_open >= {now} - 35 * 86400 THEN {now} ELSE seen_open END AS seen FROM job))"""
#: Seconds of each part, [since, until), and how many runs ran in it.
SUMS = """SELECT since, count(start_time), {sums}
FROM parts LEFT JOIN (SELECT * FROM runs WHERE counts) ON start_time < until AND (stop > since OR start_time >= since)
GROUP BY since ORDER BY since"""
SHARE = """CASE WHEN stop > start_time
    THEN ran * CAST(least(stop, until) - greatest(start_time, since) AS DOUBLE) / (stop - start_time) ELSE ran END"""


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def cut(begin: int, end: int, part: str) -> list[int]:
    """The window, cut where a part of the calendar begins."""
    if part == "hour":
        inside = list(range((begin + CLOCK) // HOUR * HOUR - CLOCK, end, HOUR))
    else:
        first = (begin + CLOCK) // DAY
        days = [date(1970, 1, 1) + timedelta(days=n) for n in range(first, (end + CLOCK) // DAY + 1)]
        kept = {"day": lambda _: True, "week": lambda one: one.weekday() == 0, "month": lambda one: one.day == 1}[part]
        inside = [(one - date(1970, 1, 1)).days * DAY - CLOCK for one in days if kept(one)]
    return [begin, *(at for at in inside if begin < at < end), end]


def machine(path: Path, edges: list[int], queue: str | None) -> list[dict[str, tuple[Any, Any]]]:
    """Capacity and down time of each part, in seconds, for each resource."""
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT node, since, present, gpus, cpus, queues FROM node").fetchall()
        events = db.execute("SELECT node, start_time, end_time FROM node_event").fetchall()
        stated = db.execute("SELECT value FROM fact WHERE key = 'max_procs'").fetchone()
    known = min((row[1] for row in rows), default=None)
    found = []
    for since, until in pairwise(edges):
        part: dict[str, tuple[Any, Any]] = dict.fromkeys(NAMES, (None, None))
        if known is None and stated and queue is None:
            part["cpu"] = (int(stated[0]) * (until - since), None)
        elif known is not None and since >= known:
            part = summed(rows, events, edges, since, until, queue)
        found.append(part)
    return found


def summed(
    rows: list[Any], events: list[Any], edges: list[int], since: int, until: int, queue: str | None
) -> dict[str, tuple[Any, Any]]:
    sums = {name: [0, 0] for name in NAMES}
    unknown: dict[str, list[bool]] = {name: [False, False] for name in NAMES}
    for node, begin, present, gpus, cpus, queues in rows:
        end = min((row[1] for row in rows if row[0] == node and row[1] > begin), default=2**60)
        if not present or (queue is not None and queue not in (queues or "").split(",")):
            continue
        down = []
        for _, start, stop in [event for event in events if event[0] == node]:
            after = min((one[1] for one in events if one[0] == node and one[1] > start), default=2**60)
            down.append((max(start, begin), min(2**60 if stop is None else stop, after, end)))
        for name, size in zip(NAMES, (gpus, cpus, 1), strict=True):
            for place, times in enumerate(([(begin, end)], down)):
                if size is None:
                    unknown[name][place] |= any(min(b, edges[-1]) > max(a, edges[0]) for a, b in times)
                sums[name][place] += sum(max(min(b, until) - max(a, since), 0) * (size or 0) for a, b in times)
    return {
        name: (None if unknown[name][0] else both[0], None if unknown[name][1] else both[1])
        for name, both in sums.items()
    }


def near(value: float | None, seconds: float | None) -> bool:
    """To the millisecond."""
    if value is None or seconds is None:
        return value is seconds
    return abs(value * 3600 - seconds) <= 0.0011 + 1e-9 * abs(seconds)


def assert_agree(
    path: Path, other: Any, part: str, now: int, since: int | None = None, until: int | None = None
) -> None:
    chosen = Filter(states=(), min_elapsed=-1, checkpoint_code=85, since=since, until=until)
    query = Query(chosen, now, str(path), Config(), part)
    with reader(path) as db:
        report = utilization.SPEC.view(utilization.SPEC.measure(db, query), query)
    other.execute("DROP TABLE IF EXISTS runs")
    other.execute(RUNS.format(now=now))
    first, last = other.execute(
        "SELECT min(start_time) FILTER (start_time > 0), max(stop) FILTER (start_time > 0) FROM runs"
    ).fetchone()
    edges = cut(
        first // 3600 * 3600 if since is None else since, last if until is None else min(until, now, last), part
    )
    other.execute("CREATE OR REPLACE TABLE parts (since BIGINT, until BIGINT)")
    other.executemany("INSERT INTO parts VALUES (?, ?)", list(pairwise(edges)))
    sums = ", ".join(f"coalesce(sum({SHARE} * {name}), 0)" for name in NAMES)
    wanted = other.execute(SUMS.format(sums=sums)).fetchall()
    inside = "counts AND start_time < ? AND (stop > ? OR start_time >= ?)"
    ends = [edges[-1], edges[0], edges[0]]
    jobs, *known = other.execute(
        f"SELECT count(*), count(gpu), count(cpu), count(node) FROM runs WHERE {inside}", ends
    ).fetchone()
    *rows, total = report.records()
    capacities = machine(path, edges, None)
    assert [row["begin"] for row in rows] == edges[:-1] == [one[0] for one in wanted]
    assert [row["jobs"] for row in rows] == [one[1] for one in wanted]
    assert (total["jobs"], report.meta.jobs) == (jobs, jobs)
    with closing(sqlite3.connect(path)) as trace:
        (least,) = trace.execute("SELECT min(cpus) FROM node WHERE cpus > 0").fetchone()
    ran = f"SELECT count(*) FROM runs WHERE {inside} AND cpu < node * CAST(? AS BIGINT)"
    (partial,) = other.execute(ran, [*ends, least]).fetchone()
    shared = partial > 0 or any(
        capacity["node"][0] and known[2] and one[4] > capacity["node"][0]
        for one, capacity in zip(wanted, capacities, strict=True)
    )
    for row, (_, _, *seconds), capacity in zip(rows, wanted, capacities, strict=True):
        for name, used, many in zip(NAMES, seconds, known, strict=True):
            if jobs and not many:
                used = None
            whole, down = capacity[name]
            assert near(row[f"{name}_hours"], used), (row, name, used)
            assert near(row[f"{name}_capacity"], whole), (row, name, whole)
            assert near(row[f"{name}_down"], down), (row, name, down)
            share = None if used is None or not whole or (name == "node" and shared) else used / whole
            assert row[f"{name}_utilization"] == (None if share is None else pytest.approx(share, abs=1e-6))
    for name in NAMES:
        for kind in ("hours", "capacity", "down"):
            column = [row[f"{name}_{kind}"] for row in rows]
            assert total[f"{name}_{kind}"] == (None if None in column else pytest.approx(sum(column)))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("lookalike", "month"),
        ("lookalike", "day"),
        ("pozidriv", "hour"),
        ("kth", "week"),
        pytest.param("ricc", "month", marks=pytest.mark.soak),
        pytest.param("ricc", "day", marks=pytest.mark.soak),
    ],
)
def test_the_page_alone_gives_the_same_numbers(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str, part: str
) -> None:
    path = traces(name)
    assert_agree(path, jobs_in(path, COLUMNS), part, 4_000_000_000)


def any_job(number: int, rng: random.Random) -> Job:
    """A run that is over or open, of which anything may be unknown."""
    start = rng.choice((None, 0, *[MONDAY + rng.randint(0, 40 * DAY)] * 8))
    over = start is not None and rng.random() < 0.8
    return job(
        number, state=rng.choice(("COMPLETED", "RUNNING", "SUSPENDED", None)), start_time=start,
        end_time=(start or 0) + rng.choice((-60, 0, 1, 7200, 10 * DAY)) if over else None,
        elapsed=rng.choice((None, -1, 0, 59, 5000, 2**31 - 1, 2**31)), suspended=rng.choice((None, 0, 300)),
        seen_open=rng.choice((None, MONDAY + rng.randint(0, 45 * DAY))),
        gpus=rng.choice((None, 0, 1, 8)), req_gpus=rng.choice((None, 2)), cpus=rng.choice((None, 4)), nodes=None,
        req_nodes=rng.choice((None, 1, 3)),
    )  # fmt: skip


@pytest.mark.parametrize("part", ["week", "hour"])
def test_so_it_does_where_anything_is_unknown(tmp_path: Path, jobs_in: Callable[[Path, str], Any], part: str) -> None:
    rng = random.Random(18)
    path = make_trace(tmp_path / "t.db", [any_job(number, rng) for number in range(1, 1201)])
    nodes = {
        (f"n{rng.randint(1, 9)}", MONDAY + rng.randint(-5, 60) * HOUR): (rng.randint(0, 3), rng.choice((0, 8)))
        for _ in range(30)
    }
    events = {
        (f"n{rng.randint(1, 10)}", MONDAY + rng.randint(0, 40 * DAY)): rng.choice((None, 3 * DAY, HOUR))
        for _ in range(60)
    }
    add_nodes(
        path,
        [
            (name, at, min(up, 1), 64 if up else None, gpus if up else None, "gq")
            for (name, at), (up, gpus) in nodes.items()
        ],
        [(name, at, None if long is None else at + long, "DOWN") for (name, at), long in events.items()],
    )
    other = jobs_in(path, COLUMNS)
    now = MONDAY + 46 * DAY
    if part == "week":
        assert_agree(path, other, part, now, MONDAY - 3 * DAY, now)
    assert_agree(path, other, part, now, MONDAY + 5 * DAY + 1000, MONDAY + 12 * DAY)
