"""`report states --by node`, computed once more from its page, and the nodes of a public trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from adminkit.config import Config
from adminkit.reports import states
from adminkit.reports.spec import Query
from adminkit.slurm.hostlist import hosts
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader

ALL = Filter(states=(), min_elapsed=-1, checkpoint_code=85)
OPEN = ("PENDING", "RUNNING", "SUSPENDED", "RESIZING", None)


@pytest.mark.parametrize("name", ["lookalike", "pozidriv"])
def test_each_node_has_the_runs_that_ran_on_it_and_none_of_these_traces_has_a_bad_one(
    traces: Callable[[str], Path], name: str
) -> None:
    query = Query(ALL, 0, "t.db", Config(), "node")
    with reader(traces(name)) as db:
        report = states.SPEC.view(states.SPEC.measure(db, query), query)
        rows = db.execute("SELECT node_list, state, elapsed, cpus FROM job WHERE end_time IS NOT NULL").fetchall()
    jobs, failed, hours = Counter[str | None](), Counter[str | None](), Counter[str | None]()
    for listed, state, elapsed, cpus in rows:
        where = hosts(listed or "") or [None]
        for node in where:
            jobs[node] += 1
            failed[node] += state == "FAILED"
            hours[node] += max(elapsed or 0, 0) * (cpus or 0) / len(where) / 3600  # type: ignore[assignment]
    *shown, _ = report.records()
    assert {row["node"]: row["jobs"] for row in shown} == jobs
    assert {row["node"]: row["failed"] for row in shown} == failed
    for row in shown:
        assert row["cpu_hours"] == (None if row["cpu_hours"] is None else pytest.approx(hours[row["node"]]))
        assert row["verdict"] is None, "no node of these traces was planted, and the look-alike's are all good"
