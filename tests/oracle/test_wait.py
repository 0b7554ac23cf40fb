"""`report wait`, computed once more from its page."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adminkit.config import Config
from adminkit.job import Job
from adminkit.reports import wait
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

COLUMNS = (
    "cluster, source, queue, user, reason, start_time, end_time, elapsed, eligible_time, node_list, time_limit, "
    "limit_original, limit_kind, nodes, req_nodes, cpus, req_cpus, gpus, req_gpus"
)
NOW = 4_000_000_000
STEPS = (900, 3600, 14_400, 43_200, 86_400, 259_200, 604_800)
NAMES = ("up to 15 min", "up to 1 h", "up to 4 h", "up to 12 h", "up to 24 h", "up to 72 h", "up to 168 h")
#: The first that matches counts.
ROWS = {
    "queue": "reason IS NULL OR reason IN ('None', 'Priority', 'Resources')",
    "(array limit)": "reason = 'JobArrayTaskLimit'",
    "(dependency)": "starts_with(reason, 'Dependency')",
    "(QOS limit)": "starts_with(reason, 'QOS') OR reason = 'InvalidQOS'"
    " OR regexp_matches(reason, '^Max.*Per(Account|User)$')",
    "(association limit)": "starts_with(reason, 'Assoc')"
    " OR reason IN ('AccountingPolicy', 'AccountNotAllowed', 'InvalidAccount')",
    "(held)": "starts_with(reason, 'JobHeld') OR reason = 'JobHoldMaxRequeue'",
    "(begin time)": "reason = 'BeginTime'",
    "(other reasons)": "true",
}


def power(size: str) -> str:
    """SQL: a size as the page names it."""
    steps = " ".join(f"WHEN {size} <= {2**n} THEN '{2 ** (n - 1) + 1}-{2**n}'" for n in range(2, 11))
    few = f"CASE WHEN {size} IN (1, 2) THEN CAST({size} AS VARCHAR)"
    return f"{few} WHEN {size} > 2 THEN CASE {steps} ELSE 'over 1024' END END"


LIMIT = (
    "CASE "
    + " ".join(f"WHEN asked <= {most} THEN '{name}'" for most, name in zip(STEPS, NAMES, strict=True))
    + " WHEN asked > 604800 THEN 'over 168 h' WHEN limit_kind = 'unlimited' THEN 'unlimited'"
    " WHEN limit_kind = 'partition' THEN 'the queue''s' END"
)
WAITS = f"""CREATE VIEW waits AS
SELECT *, greatest(start_time - eligible_time, 0) AS waited, {LIMIT} AS step,
    CASE {" ".join(f"WHEN {sql} THEN '{name}'" for name, sql in ROWS.items())} END AS cause,
    (eligible_time + 19800) // 3600 % 24 AS hour, {power("n")} AS many,
    CASE WHEN n > 1 THEN 'multi-node' WHEN g > 1 THEN 'multi-gpu' WHEN g = 1 THEN 'single-gpu' WHEN g = 0 THEN 'cpu' END
        AS class,
    CASE WHEN g > 0 THEN {power("g")} || CASE g WHEN 1 THEN ' GPU' ELSE ' GPUs' END
        WHEN (SELECT count(*) FROM started WHERE n > 1 AND NOT coalesce(g > 0, false)) > 0
            THEN {power("n")} || CASE n WHEN 1 THEN ' node' ELSE ' nodes' END
        ELSE {power("c")} || CASE c WHEN 1 THEN ' CPU' ELSE ' CPUs' END END AS size
FROM started WHERE eligible_time IS NOT NULL"""
STARTED = """CREATE VIEW started AS
SELECT *, coalesce(nodes, req_nodes) AS n, coalesce(cpus, req_cpus) AS c, coalesce(gpus, req_gpus) AS g,
    CASE WHEN limit_original > coalesce(time_limit, 0)
            THEN CASE WHEN limit_original < 2147483647 THEN limit_original END
        WHEN time_limit BETWEEN 1 AND 2147483646 THEN time_limit END AS asked
FROM job WHERE start_time IS NOT NULL
    AND NOT (coalesce(end_time <= start_time, false) AND coalesce(elapsed, 0) <= 0 AND node_list IS NULL)"""
SHOWN = """count(*) FILTER (cause = 'queue'), count(*) FILTER (cause <> 'queue'),
    quantile_cont(waited, 0.5) FILTER (cause = 'queue'), quantile_cont(waited, 0.75) FILTER (cause = 'queue'),
    quantile_cont(waited, 0.9) FILTER (cause = 'queue'), quantile_cont(waited, 0.95) FILTER (cause = 'queue'),
    max(waited) FILTER (cause = 'queue'), avg(waited) FILTER (cause = 'queue')"""
PARTS = {
    "queue": "queue",
    "class": "class",
    "user": '"user"',
    "limit": "step",
    "nodes": "many",
    "hour": "lpad(CAST(hour AS VARCHAR), 2, '0')",
    "cells": "size, step",
}
TRACES = ["lookalike", "pozidriv", "kth", pytest.param("ricc", marks=pytest.mark.soak)]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Half past five before UTC's."""
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def records(path: Path, by: str = "queue", **own: Any) -> Any:
    query = Query(Filter(states=(), min_elapsed=-1, checkpoint_code=85), NOW, str(path), Config(), by,
                  {"req_limit": None, "gpus": None, **own})  # fmt: skip
    with reader(path) as db:
        return wait.SPEC.view(wait.SPEC.measure(db, query), query)


def assert_alike(row: dict[str, Any], wanted: Any) -> None:
    jobs, apart, *values = wanted
    assert (row["jobs"], row["apart"]) == (jobs, apart)
    for name, value in zip(("median", "p75", "p90", "p95", "max", "mean"), values, strict=True):
        assert (row[name] is None) == (value is None), (row, name)
        assert value is None or abs(row[name] - value) <= 0.5 + 1e-6, (row, name, value)


def loaded(other: Any) -> Any:
    """`other` with the views of the page."""
    other.execute(STARTED)
    other.execute(WAITS)
    return other


def assert_agree(path: Path, other: Any, part: str) -> None:
    report = records(path, part)
    keys = ["size", "limit"] if part == "cells" else [part]
    where = "WHERE size IS NOT NULL AND step IS NOT NULL" if part == "cells" else ""
    wanted = other.execute(
        f"SELECT cluster, {PARTS[part]}, {SHOWN} FROM waits {where} GROUP BY cluster, {PARTS[part]}"
    ).fetchall()
    rows = {(row["cluster"], *(row[key] for key in keys)): row for row in report.records()[: len(report.rows)]}
    if part == "cells":  # of all clusters together; here is one
        rows = {(wanted[0][0] if wanted else None, *key[1:]): row for key, row in rows.items()}
    assert set(rows) == {tuple(one[: 1 + len(keys)]) for one in wanted}
    for one in wanted:
        assert_alike(rows[tuple(one[: 1 + len(keys)])], one[1 + len(keys) :])
    whole, *causes = report.records()[len(report.rows) :]
    assert_alike(whole, other.execute(f"SELECT {SHOWN} FROM waits").fetchone())
    found = dict(other.execute("SELECT cause, median(waited) FROM waits WHERE cause <> 'queue' GROUP BY 1").fetchall())
    assert {row[keys[0]] for row in causes} == set(found)
    assert all(abs(row["median"] - found[row[keys[0]]]) <= 0.5 + 1e-6 for row in causes)
    never, unknown = other.execute(
        "SELECT (SELECT count(*) FROM job) - count(*), count(*) FILTER (eligible_time IS NULL) FROM started"
    ).fetchone()
    assert report.meta.excluded == {"not_started": never, "eligible_unknown": unknown}
    untold, below, unplaced = other.execute(
        "SELECT count(*) FILTER (reason IS NULL AND source <> 'slurmdbd'),"
        " count(*) FILTER (start_time < eligible_time), count(*) FILTER (size IS NULL OR step IS NULL) FROM waits"
    ).fetchone()
    text = " | ".join(report.meta.notes)
    for count, words in ((untold, "reason is recorded"), (below, "being eligible counts"), (unplaced, "heat map")):
        assert (words in text) == bool(count), words
        assert f" {count:,} job" in text or not count, words


@pytest.mark.parametrize("name", TRACES)
def test_the_page_alone_gives_the_same_numbers(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str
) -> None:
    path = traces(name)
    other = loaded(jobs_in(path, COLUMNS))
    for part in PARTS:
        assert_agree(path, other, part)


def any_job(number: int, rng: random.Random) -> Job:
    """A run of which anything may be unknown or odd."""
    reasons = (
        None, None, None, "None", "Priority", "Resources", "JobArrayTaskLimit", "Dependency", "QOSJobLimit",
        "InvalidQOS", "MaxGRESPerAccount", "AssocMaxJobsLimit", "AccountingPolicy", "JobHeldUser", "BeginTime",
        "Licenses", "MaxPer",
    )  # fmt: skip
    start = rng.choice((None, *[MONDAY + rng.randint(0, 90 * 24 * HOUR)] * 6))
    return job(
        number, source=rng.choice(("slurmdbd", "text", "swf")), queue=rng.choice(("gq", "debug", None)),
        user=rng.choice(("ada", None)), reason=rng.choice(reasons), start_time=start,
        eligible_time=None if start is None or rng.random() < 0.1 else start - rng.randint(-500, 10**rng.randint(0, 6)),
        end_time=None if start is None or rng.random() < 0.1 else start + rng.choice((0, 0, 7200)),
        elapsed=rng.choice((None, 0, 7200)), node_list=rng.choice((None, "n1")),
        time_limit=rng.choice((None, 0, 900, 901, 14_400, 604_800, 604_801, 2**31)),
        limit_original=rng.choice((None, 3600)),
        limit_kind=rng.choice(("finite", "unlimited", "partition", "unknown")),
        nodes=rng.choice((None, 1, 1, 2, 3, 5)), req_nodes=rng.choice((None, 2)), cpus=rng.choice((None, 0, 2, 1500)),
        gpus=rng.choice((None, 0, 1, 2, 3, 8, 1025)), req_gpus=rng.choice((None, 4)),
    )  # fmt: skip


def test_so_it_does_where_anything_is_unknown(tmp_path: Path, jobs_in: Callable[[Path, str], Any]) -> None:
    rng = random.Random(18)
    path = make_trace(tmp_path / "t.db", [any_job(number, rng) for number in range(1, 3001)])
    other = loaded(jobs_in(path, COLUMNS))
    for part in PARTS:
        assert_agree(path, other, part)


def blocks_of_days(eligible: Any, waited: Any, pairs: int) -> list[float]:
    """Ratios a / b of the medians (+ 1 s) of pairs of draws. The length of the blocks is Politis and White's."""
    from adminkit.stats.bootstrap import block_length

    days = eligible // 86_400
    days -= days.min()
    jobs = [waited[days == day] for day in range(days.max() + 1)]
    median = np.median(waited)
    length = block_length(np.array([(one <= median).sum() - len(one) / 2 for one in jobs]))
    rng = random.Random(5)

    def drawn() -> float:
        order: list[int] = []
        while len(order) < len(jobs):
            first = rng.randrange(len(jobs))
            order += [(first + step) % len(jobs) for step in range(length)]
        return float(np.median(np.concatenate([jobs[day] for day in order[: len(jobs)]]))) + 1

    return [drawn() / drawn() for _ in range(pairs)]


@pytest.mark.parametrize("name", TRACES)
def test_what_a_limit_would_have_waited(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str
) -> None:
    path = traces(name)
    other = loaded(jobs_in(path, COLUMNS))
    for row in records(path, req_limit="4h").records():
        queue = "cause = 'queue' AND queue IS NOT DISTINCT FROM ?"
        rows = other.execute(
            f"SELECT eligible_time, waited, step, CASE WHEN g > 0 THEN 'g' || {power('g')} ELSE 'c' || coalesce("
            f"{power('coalesce(c, n, 0)')}, '0') END, asked IS NOT NULL FROM waits WHERE {queue}",
            [row["queue"]],
        ).fetchall()
        eligible, waited = (np.array([one[place] for one in rows], np.int64) for place in (0, 1))
        mine = np.array([one[2] == "up to 4 h" for one in rows])
        assert (row["jobs"], row["days"]) == (mine.sum(), len(set(eligible[mine] // 86_400)))
        assert abs(row["queue_median"] - np.median(waited)) <= 0.5
        known = row["jobs"] >= 30 and row["days"] >= 10
        assert (row["median"] is not None, row["median_low"] is not None) == (known, known)
        if known:
            assert abs(row["median"] - np.median(waited[mine])) <= 0.5
            assert abs(row["p90"] - np.quantile(waited[mine], 0.9)) <= 0.5 + 1e-6
            ratios = np.log(blocks_of_days(eligible[mine], waited[mine], 200))
            for end, level in (("median_low", 0.025), ("median_high", 0.975)):
                wanted = math.log(np.median(waited[mine]) + 1) + np.quantile(ratios, level)
                assert abs(math.log(row[end] + 1) - wanted) <= 0.25 * np.ptp(ratios) + 0.1, end
        assert (row["tried"], row["error"], row["queue_error"]) == backtest(rows, eligible, waited)


def backtest(rows: list[Any], eligible: Any, waited: Any) -> tuple[int, int | None, int | None]:
    """Cells tried, and the two mean errors in whole seconds."""
    middle = (int(eligible.min()) + int(eligible.max())) // 2
    before = eligible + waited < middle
    errors = []
    for cell in {one[2:4] for one in rows if one[4]}:
        among = np.array([one[2:4] == cell for one in rows])
        first, second = before & among, (eligible >= middle) & among
        if first.sum() >= 30 and len(set(eligible[first] // 86_400)) >= 10 and second.sum() >= 30:
            median = np.median(waited[second])
            errors.append([abs(np.median(waited[first]) - median), abs(np.median(waited[before]) - median)])
    return (len(errors), *(round(float(one)) for one in np.mean(errors, axis=0))) if errors else (0, None, None)
