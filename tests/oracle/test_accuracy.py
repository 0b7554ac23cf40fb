"""`report accuracy`, computed once more from its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.reports import accuracy
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader

COLUMNS = (
    "queue, state, elapsed, limit_original, time_limit, exit_code, restarts, gpus, req_gpus, cpus, req_cpus, nodes, "
    "req_nodes"
)
LIMIT = "nullif(greatest(coalesce(limit_original, 0), coalesce(time_limit, 0)), 0)"
RATIO = "(elapsed / lim)"
MEASURES = {
    "jobs": "count(*)",
    "min": f"min({RATIO})",
    "max": f"max({RATIO})",
    "mean": f"avg({RATIO})",
    "std": f"stddev_samp({RATIO})",
    "median": f"quantile_cont({RATIO}, 0.5)",
    "p10": f"quantile_cont({RATIO}, 0.1)",
    "p25": f"quantile_cont({RATIO}, 0.25)",
    "p75": f"quantile_cont({RATIO}, 0.75)",
    "p90": f"quantile_cont({RATIO}, 0.9)",
    "used_fraction": "sum(elapsed)::DOUBLE / sum(lim)",
    "over_limit": "count(*) FILTER (elapsed > lim)",
    "gpu_hours_unused": "sum(greatest(lim - elapsed, 0) * coalesce(gpus, req_gpus)) / 3600.0",
    "cpu_hours_unused": "sum(greatest(lim - elapsed, 0) * coalesce(cpus, req_cpus)) / 3600.0",
    **{f"{line}_{name}": f"avg(({value} <= {at})::INT)" for line, value in (("ran", "elapsed"), ("asked", "lim"))
       for name, at in (("90s", 90), ("1h", 3600), ("70h", 252_000))},
}  # fmt: skip
#: The yardsticks that the report names, and Table 3 of the study, over single-GPU jobs, to three digits.
YARDSTICKS = {"kth": 0.516, "ricc": 0.141}
TABLE_3 = {"gq": (0.103, 0.194), "gq-short": (0.147, 0.180), "gq-middle": (0.354, 0.362), "gq-long": (0.472, 0.407)}


def recomputed(other: Any, which: str) -> dict[str, dict[str, Any]]:
    """Queue, and (all) -> measure -> value."""
    other.execute(f"""CREATE VIEW run AS SELECT *, {LIMIT} AS lim FROM job WHERE state IN ('COMPLETED', 'TIMEOUT')
        AND elapsed > 60 AND NOT coalesce(exit_code = 85 OR restarts > 0, false) AND {LIMIT} > 0 AND {which}""")
    chosen = ", ".join(f"{sql} AS {name}" for name, sql in MEASURES.items())
    rows = other.execute(f"SELECT queue, {chosen} FROM run GROUP BY queue").fetchall()
    rows += other.execute(f"SELECT '(all)', {chosen} FROM run").fetchall()
    return {queue: dict(zip(MEASURES, row, strict=True)) for queue, *row in rows}


@pytest.mark.parametrize("name", ["lookalike", "pozidriv", "kth", pytest.param("ricc", marks=pytest.mark.soak)])
def test_the_page_alone_gives_the_same_numbers(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str
) -> None:
    path = traces(name)
    single = name == "lookalike"
    filter = Filter(classes=("single-gpu",) if single else (), checkpoint_code=85)
    query = Query(filter, 0, str(path), Config(), "queue", {"points": "90s,1h,70h"}, pictures=True)
    with reader(path) as db:
        report = accuracy.SPEC.view(accuracy.SPEC.measure(db, query), query)
    other = jobs_in(path, COLUMNS)
    alone = "coalesce(nodes, req_nodes) <= 1 AND coalesce(gpus, req_gpus) = 1"
    wanted = recomputed(other, alone if single else "true")
    rows = {row["queue"]: row for row in report.records() if row["queue"] != accuracy.MEAN_OF_QUEUES}
    assert set(rows) == set(wanted)
    for queue, measures in wanted.items():
        for column, one in measures.items():
            told = rows[queue][column]
            assert told == (None if one is None else pytest.approx(one, rel=1e-9, abs=1e-12)), (queue, column)
    means = [one["mean"] for queue, one in wanted.items() if queue != "(all)"]
    assert report.totals[1][4] == pytest.approx(sum(means) / len(means))
    for curve in report.extra["curves"]:
        for line, value in (("ran", "elapsed"), ("asked", "lim")):
            points = curve[line]
            assert len(points["seconds"]) <= 500
            assert points["share"][-1] == 1.0
            for place in {0, len(points["seconds"]) // 3, len(points["seconds"]) - 1}:
                (share,) = other.execute(
                    f"SELECT avg(({value} <= ?)::INT) FROM run WHERE queue IS NOT DISTINCT FROM ?",
                    [points["seconds"][place], curve["queue"]],
                ).fetchone()
                assert points["share"][place] == pytest.approx(share)
    if name in YARDSTICKS:
        assert f"{rows['(all)']['mean']:.3f}" == f"{YARDSTICKS[name]:.3f}"
        assert f"{YARDSTICKS[name]:.3f}" in accuracy.YARDSTICKS
    if single:
        assert {q: (round(rows[q]["mean"], 3), round(rows[q]["std"], 3)) for q in TABLE_3} == TABLE_3
