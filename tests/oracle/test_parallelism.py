"""`report parallelism`, computed once more from its page; Figure 1 of the study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.reports import parallelism
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader

COLUMNS = "cluster, state, elapsed, gpus, req_gpus, cpus, req_cpus, nodes, req_nodes"
#: Without het jobs, which these traces do not have.
RUN = """CREATE VIEW run AS
SELECT *, CASE WHEN n > 1 THEN 'multi-node' WHEN g > 1 THEN 'multi-gpu' WHEN g = 1 THEN 'single-gpu'
    WHEN g = 0 THEN 'cpu'
    WHEN max(g) OVER (PARTITION BY cluster) IS NULL AND c = 1 THEN 'single-core'
    WHEN max(g) OVER (PARTITION BY cluster) IS NULL AND c > 1 THEN 'multi-core' ELSE 'unknown' END AS class
FROM (SELECT cluster, coalesce(nodes, req_nodes) AS n, coalesce(gpus, req_gpus) AS g, coalesce(cpus, req_cpus) AS c
    FROM job WHERE state IN ('COMPLETED', 'TIMEOUT') AND elapsed > 60)"""
PARTS = {
    "class": "SELECT class, count(*) FROM run GROUP BY 1",
    "gpus": "SELECT g, count(*) FROM run WHERE class = 'multi-gpu' GROUP BY 1",
    "nodes": "SELECT n, count(*) FROM run WHERE class = 'multi-node' GROUP BY 1",
    "cores": """SELECT CASE WHEN top <= 2 THEN top::INT::VARCHAR ELSE (top / 2 + 1)::INT || '-' || top::INT END,
        count(*)
        FROM (SELECT 2 ** ceil(log2(c)) AS top FROM run WHERE class IN ('cpu', 'single-core', 'multi-core') AND c > 0)
        GROUP BY 1""",
}
#: The study's: multi-GPU jobs by GPUs, multi-node jobs by nodes.
FIGURE_1 = {
    "class": {"single-gpu": 52_637, "multi-gpu": 2_147, "multi-node": 343},
    "gpus": {"2": 246, "3": 8, "4": 407, "5": 6, "6": 5, "7": 2, "8": 1_473},
    "nodes": {"2": 273, "4": 28, "7": 1, "8": 22, "10": 5, "16": 9, "32": 5},
    "cores": {},
}


@pytest.mark.parametrize("name", ["lookalike", "pozidriv", "kth", pytest.param("ricc", marks=pytest.mark.soak)])
def test_the_page_alone_gives_the_same_numbers(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str
) -> None:
    path = traces(name)
    query = Query(Filter(checkpoint_code=85), 0, str(path), Config(), "class")
    with reader(path) as db:
        report = parallelism.SPEC.view(parallelism.SPEC.measure(db, query), query)
    other = jobs_in(path, COLUMNS)
    other.execute(RUN)
    for part, sql in PARTS.items():
        wanted = {str(value): jobs for value, jobs in other.execute(sql).fetchall()}
        told = {row[1]: row for row in report.rows if row[0] == part}
        assert {value: row[2] for value, row in told.items() if row[2]} == wanted
        for row in told.values():
            share = None if row[2] is None else pytest.approx(int(row[2]) / sum(wanted.values()))
            assert row[3] == share
        if name == "lookalike":
            assert wanted == FIGURE_1[part]


def test_philly_of_the_same_months_has_one_gpu_in_93_jobs_of_a_hundred(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any]
) -> None:
    """The study's second cluster. Its states are unknown and no job is left out; of nodes nothing is known."""
    path = traces("philly")
    query = Query(Filter(states=(), min_elapsed=-1, checkpoint_code=85), 0, str(path), Config(), "class")
    with reader(path) as db:
        report = parallelism.SPEC.view(parallelism.SPEC.measure(db, query), query)
    other = jobs_in(path, COLUMNS)
    told = {(row[0], row[1]): row[2:4] for row in report.rows if row[2]}
    for gpus, jobs in other.execute("SELECT gpus, count(*) FROM job WHERE gpus > 1 GROUP BY 1").fetchall():
        assert told["gpus", str(gpus)][0] == jobs
    ((single, every),) = other.execute("SELECT count(*) FILTER (gpus = 1), count(*) FROM job").fetchall()
    assert (single, every) == (76_627, 82_247)
    assert told["class", "single-gpu"] == [76_627, pytest.approx(0.9317, abs=5e-5)]
