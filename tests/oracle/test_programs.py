"""`report frameworks` and `report names`, computed once more from their pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.reports import frameworks, names
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader

COLUMNS = (
    "user, state, elapsed, limit_original, time_limit, exit_code, restarts, gpus, req_gpus, cpus, req_cpus, job_name, "
    "framework, container, program"
)
LIMIT = "nullif(greatest(coalesce(limit_original, 0), coalesce(time_limit, 0)), 0)"
PLAIN = "NOT coalesce(exit_code = 85 OR restarts > 0, false)"
SUMS = ", ".join(
    f"CASE WHEN count({size}) > 0 THEN sum(elapsed * {size}) / 3600.0 END AS {name}"
    for name, size in (("gpu_hours", "coalesce(gpus, req_gpus)"), ("cpu_hours", "coalesce(cpus, req_cpus)"))
)
ROWS = f"""SELECT {{part}}, count(*) AS jobs, count(DISTINCT "user") AS users, {SUMS},
    avg(elapsed / {LIMIT}) FILTER ({PLAIN}) AS accuracy,
    stddev_samp(elapsed / {LIMIT}) FILTER ({PLAIN}) AS accuracy_std,
    (sum(elapsed) FILTER ({PLAIN} AND {LIMIT} > 0))::DOUBLE / sum({LIMIT}) FILTER ({PLAIN}) AS used_fraction,
    quantile_cont(elapsed, 0.1) AS elapsed_p10, quantile_cont(elapsed, 0.5) AS elapsed_median,
    quantile_cont(elapsed, 0.9) AS elapsed_p90
FROM job WHERE state IN ('COMPLETED', 'TIMEOUT') AND elapsed > 60 GROUP BY 1"""


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *((name, "job_name") for name in ("lookalike", "pozidriv", "kth")),
        pytest.param("ricc", "job_name", marks=pytest.mark.soak),
        *(("lookalike", part) for part in ("framework", "container", "program")),
    ],
)
def test_the_page_alone_gives_the_same_numbers(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str, part: str
) -> None:
    path = traces(name)
    spec = names.SPEC if part == "job_name" else frameworks.SPEC
    query = Query(Filter(checkpoint_code=85), 0, str(path), Config(), part, {"most": 0})
    with reader(path) as db:
        report = spec.view(spec.measure(db, query), query)
    found = jobs_in(path, COLUMNS).execute(ROWS.format(part=part))
    columns = [one[0] for one in found.description][1:]
    wanted = {value: dict(zip(columns, row, strict=True)) for value, *row in found.fetchall()}
    rows = {row[part]: row for row in report.records()[:-1]}
    assert set(rows) == set(wanted)
    for value, told in wanted.items():
        for column in set(told) & {field.name for field in spec.fields}:
            one = round(told[column]) if column.startswith("elapsed_") else told[column]
            assert rows[value][column] == (None if one is None else pytest.approx(one, rel=1e-9, abs=1e-9)), column
