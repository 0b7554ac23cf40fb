"""`report states --by node`, computed once more from its page, and the nodes of a public trace."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.job import Job
from adminkit.reports import states
from adminkit.reports.spec import Query
from adminkit.slurm.hostlist import hosts
from adminkit.stats.bad_nodes import bad_nodes
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.stats.node_proof import PAGE, PUBLIC
from tests.stats.test_bad_nodes import runs
from tests.support.builders import make_trace

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


def test_pozidriv_is_as_its_page_says(traces: Callable[[str], Path]) -> None:
    """Of 17 nodes with many failures none is named, as one user's runs failed wherever they ran."""
    query = Query(ALL, 0, "t.db", Config(), "node")
    with reader(traces("pozidriv")) as db:
        report = states.SPEC.view(states.SPEC.measure(db, query), query)
        by_user = Counter(row[0] for row in db.execute("SELECT user FROM job WHERE state = 'FAILED'"))
        counts = db.execute("SELECT count(*), count(DISTINCT user) FROM job").fetchone()
    nodes = [row for row in report.records()[:-1] if row["node"] is not None]
    failed = [(row["failed"], row["jobs"]) for row in nodes]
    assert (counts, by_user.most_common(1)[0][1], by_user.total(), len(nodes)) == ((11_704, 18), 1000, 1007, 105)
    assert (sum(many >= 30 for many, _ in failed), max(failed)) == (17, (50, 75))
    assert sum(row["compared"] or 0 for row in nodes) == 84  # type: ignore[misc]
    assert "1,000 of the 1,007 failed runs" in PUBLIC and PUBLIC in PAGE.read_text()


def mixed(runs: list[tuple[Any, str, int, bool, str]]) -> list[tuple[Any, str, int, bool, str]]:
    """The runs (group, node, hour, failed, user) in groups that tell nodes apart."""
    groups = defaultdict[Any, list[tuple[str, bool]]](list)
    for group, node, _, failed, _ in runs:
        groups[group].append((node, failed))
    telling = {
        group
        for group, its in groups.items()
        if len({node for node, _ in its}) > 1 and len({failed for _, failed in its}) > 1
    }
    return [one for one in runs if one[0] in telling]


def test_the_evidence_is_what_the_page_says_it_is(tmp_path: Path) -> None:
    """Of runs on one node each: the groups, the events and the numbers of docs/findings/bad_node.md, run by run."""
    luck = random.Random(7)
    jobs = [*runs(lambda user, day, number: luck.random() < (0.7 if number % 8 == 3 else 0.15), users=12)]
    with reader(make_trace(tmp_path / "t.db", jobs)) as db:
        named = [one for one in bad_nodes(db, Filter(checkpoint_code=85), 0.05) if one.among]
    kinds = defaultdict[Any, list[Job]](list)
    for one in sorted(jobs, key=lambda one: one.start_time or 0):
        start = one.start_time or 0
        kinds[one.user, start // (7 * 86_400), start // 21_600 % 4].append(one)
    listed = [
        ((kind, place // 16), one.node_list or "", (one.end_time or 0) // 3600, one.state == "FAILED", one.user or "")
        for kind, its in kinds.items()
        for place, one in enumerate(its)
    ]
    order = {id(row): one.end_time for row, one in zip(listed, (j for its in kinds.values() for j in its), strict=True)}
    seen, kept = set[tuple[str, int]](), []
    for row in sorted(mixed(listed), key=lambda row: order[id(row)] or 0):
        if not row[3] or (row[1], row[2]) not in seen:
            kept.append(row)
            seen |= {(row[1], row[2])} if row[3] else set()
    cells = defaultdict[Any, dict[str, list[bool]]](lambda: defaultdict(list))
    for group, node, _, failed, _ in (rest := mixed(kept)):
        cells[group][node].append(failed)
    score = expected = 0.0
    sums = [0.0] * 2000
    for its in cells.values():
        shares = {node: sum(ends) / len(ends) for node, ends in its.items()}
        if "n3" in shares:
            score += shares["n3"]
            expected += (sum(shares.values()) - shares["n3"]) / (len(shares) - 1)
            sums = [one + luck.choice([*shares.values()]) for one in sums]
    (node,) = named
    mine = [row for row in rest if row[1] == "n3"]
    assert (node.name, node.runs, node.failed) == ("n3", len(mine), sum(row[3] for row in mine))
    assert node.users == len({row[4] for row in mine if row[3]})
    assert (node.score, node.expected) == (pytest.approx(score), pytest.approx(expected))
    assert node.p >= sum(one >= score for one in sums) / len(sums) - 0.01, "a bound of the share of permutations"
