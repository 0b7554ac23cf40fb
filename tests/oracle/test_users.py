"""`report users`, computed once more from its page."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.reports import users
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader

COLUMNS = (
    "user, state, end_time, elapsed, limit_original, time_limit, exit_code, restarts, gpus, req_gpus, cpus, req_cpus, "
    "job_id_raw, submit_time"
)
#: Student's t, 0.975, by degrees of freedom: of a table (NIST/SEMATECH e-Handbook, 1.3.6.7.2).
T = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201}
LIMIT = "nullif(greatest(coalesce(limit_original, 0), coalesce(time_limit, 0)), 0)"
MONTH = "strftime(make_timestamp(end_time * 1000000), '%Y-%m')"
ROWS = f"""CREATE VIEW run AS SELECT *, {LIMIT} AS lim, {MONTH} AS month,
    NOT coalesce(exit_code = 85 OR restarts > 0, false) AS plain
FROM job WHERE state IN ('COMPLETED', 'TIMEOUT') AND elapsed > 60"""


def recomputed(other: Any) -> dict[str | None, dict[str, Any]]:
    other.execute(ROWS)
    (first, last, month), *_ = other.execute(
        f"SELECT min(end_time), max(end_time), max({MONTH}) FROM job WHERE end_time IS NOT NULL"
    ).fetchall()
    months = max((last - first) / (365.25 / 12 * 86_400), 1)
    found: dict[str | None, dict[str, Any]] = {}
    for user, *row in other.execute("""SELECT user, count(*), sum(elapsed * coalesce(gpus, req_gpus)) / 3600.0,
            sum(elapsed * coalesce(cpus, req_cpus)) / 3600.0, avg(elapsed / lim) FILTER (plain),
            (sum(elapsed) FILTER (plain AND lim > 0))::DOUBLE / sum(lim) FILTER (plain), max(end_time)
            FROM run GROUP BY user""").fetchall():
        found[user] = dict(
            zip(("jobs", "gpu_hours", "cpu_hours", "accuracy", "used_fraction", "last_end"), row, strict=True)
        )
        found[user] |= {"jobs_a_month": row[0] / months, "active": "yes" if row[0] >= 10 * months else "no"}
    by_month: dict[str | None, dict[str, tuple[int, float]]] = defaultdict(dict)
    for user, name, jobs, mean in other.execute(
        "SELECT user, month, count(*), avg(elapsed / lim) FROM run WHERE lim > 0 AND plain GROUP BY 1, 2"
    ).fetchall():
        by_month[user][name] = (jobs, mean)
    for user, row in found.items():
        jobs, now = by_month[user].pop(month, (0, None))
        before = [mean for many, mean in by_month[user].values() if many >= 5]
        expected = statistics.fmean(before) if before else None
        change = now - expected if now is not None and expected is not None and jobs >= 5 else None
        row |= {"jobs_now": jobs, "accuracy_now": now, "accuracy_before": expected, "change": change}
        row |= {"low": None, "high": None}
        if change is not None and len(before) >= 3:
            reach = T[len(before) - 1] * statistics.stdev(before) * (1 + 1 / len(before)) ** 0.5
            row |= {"low": change - reach, "high": change + reach}
    return found


@pytest.mark.parametrize("name", ["lookalike", "pozidriv", "kth", pytest.param("ricc", marks=pytest.mark.soak)])
def test_the_page_alone_gives_the_same_numbers(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str
) -> None:
    path = traces(name)
    query = Query(Filter(checkpoint_code=85), 0, str(path), Config())
    with reader(path) as db:
        report = users.SPEC.view(users.SPEC.measure(db, query), query)
    wanted = recomputed(jobs_in(path, COLUMNS))
    rows = {row["user"]: row for row in report.records()[:-1]}
    assert set(rows) == set(wanted)
    for user, columns in wanted.items():
        for column, one in columns.items():
            told = rows[user][column]
            if isinstance(one, float):
                assert told == pytest.approx(one, rel=1e-9, abs=1e-3 if column in ("low", "high") else 1e-12), column
            else:
                assert told == one, (user, column)
    if name == "lookalike":
        assert (len(rows), sum(row["active"] == "yes" for row in rows.values())) == (64, 30), "as in the study"
