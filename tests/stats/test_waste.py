"""What nobody could use: limits, shapes, and the gap of the study's Figure 4."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from adminkit.job import Job
from adminkit.stats import waste as waste_module
from adminkit.stats.select import Filter
from adminkit.stats.waste import Wasted, waste
from adminkit.stats.waste_runs import BLOCK
from adminkit.trace.connect import reader
from tests.stats import regrouped
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.gaps import MINUTE, NODES, figure_4, ran, some_waste
from tests.support.hours import add_nodes

DAY = 24 * HOUR


def measured(path: Path, rows: int = BLOCK, **chosen: Any) -> Wasted:
    with reader(path) as db:
        asked = Filter(("aaic",), states=(), min_elapsed=-1, checkpoint_code=85, **chosen)
        return waste(db, asked, MONDAY + 100 * DAY, rows)


def totals(found: Wasted) -> dict[str, tuple[Any, ...]]:
    return {one.kind: (one.jobs, one.gpu, one.cpu, one.node) for one in found.totals}


def of(path: Path, jobs: list[Job]) -> dict[str, tuple[Any, ...]]:
    return totals(measured(add_nodes(make_trace(path / "t.db", jobs), NODES)))


FILLED = (1, 8 * 20 * MINUTE, 40 * 20 * MINUTE, None)
NONE = (0, 0, 0, None)


@pytest.mark.parametrize(
    ("jobs", "expected", "why"),
    [
        (figure_4(), FILLED, "the study's: H fits by its 20 minutes, not by its 60"),
        (figure_4(time_limit=28 * MINUTE), NONE, "by its limit it fitted too: something else kept it"),
        (figure_4(time_limit=28 * MINUTE + 1), FILLED, "a second too long"),
        (figure_4(elapsed=28 * MINUTE), (1, 8 * 28 * MINUTE, 40 * 28 * MINUTE, None), "it just fits"),
        (figure_4(elapsed=28 * MINUTE + 1), NONE, "it would not have been over"),
        (figure_4(reason="QOSMaxJobsPerUserLimit"), NONE, "it waited for its QOS"),
        (figure_4(eligible_time=MONDAY + 29 * MINUTE), NONE, "too late"),
        (figure_4(queue="debug"), NONE, "none of its queue's nodes"),
        (figure_4(nodes=2), NONE, "only jobs of one node are looked at"),
        ([*figure_4()[:1], *figure_4()[2:]], NONE, "nobody waits for the nodes"),
        (
            [*figure_4(), *(ran(n, "n2", 3, 120, 20) for n in range(4, 9))],
            (3, 3 * 8 * 20 * MINUTE, 3 * 40 * 20 * MINUTE, None),
            "three nodes are idle, so three of six fit",
        ),
    ],
)
def test_a_gap_counts_what_a_shorter_limit_would_have_let_in(
    tmp_path: Path, jobs: list[Job], expected: tuple[Any, ...], why: str
) -> None:
    assert of(tmp_path, jobs)["gaps"] == expected, why


def test_shapes_that_nobody_can_use_are_told_apart(tmp_path: Path) -> None:
    found = totals(measured(some_waste(tmp_path / "t.db")))
    assert found["gpus_without_cpus"] == (None, 6 * 30 * MINUTE, None, 30 * MINUTE)
    assert found["gpus_without_memory"] == (None, 5 * 40 * MINUTE, None, 40 * MINUTE)
    assert found["cpus_without_gpus"] == (None, None, 30 * 60 * MINUTE, 60 * MINUTE)


@pytest.mark.parametrize(
    ("changes", "expected", "why"),
    [
        ({}, (1, 6 * 1800, None), "six GPUs for half an hour"),
        ({"gpus": None}, (0, None, None), "nobody knows what was free while it ran, nor what it reserved"),
        ({"cpus": 39}, (1, 0, None), "a CPU is free"),
        ({"node_list": None}, (1, None, None), "on no node that is known"),
    ],
)
def test_what_is_not_known_is_not_nothing(
    tmp_path: Path, changes: dict[str, Any], expected: tuple[Any, ...], why: str
) -> None:
    jobs = [ran(1, "n1", 0, 0, 30, **{"gpus": 2, **changes})]
    found = totals(measured(add_nodes(make_trace(tmp_path / "t.db", jobs), NODES[:1])))
    shape = found.get("gpus_without_cpus", (None, None, None, None))
    if changes.get("gpus", 2) is None:
        assert (found["limits"][1], shape[1]) == (None, None), why
    else:
        assert (found["limits"][0], shape[1]) == expected[:2], why


def test_limits_count_runs_that_were_shorter_and_name_the_others(tmp_path: Path) -> None:
    jobs = [
        job(1),
        job(2, elapsed=4 * HOUR),
        job(3, state="CANCELLED", start_time=None, elapsed=0),
        job(4, time_limit=None, limit_kind="unlimited"),
        job(5, gpus=None, cpus=None, nodes=None, queue=None),
    ]
    found = measured(make_trace(tmp_path / "t.db", jobs))
    assert [(one.queue, one.jobs, one.gpu, one.cpu, one.node) for one in found.rows] == [
        ("gq", 1, 3 * HOUR, 8 * 3 * HOUR, 3 * HOUR),
        (None, 1, None, None, None),
    ]
    assert {name: many for name, many in found.excluded.items() if many} == {
        "not_started": 1, "limit_unlimited": 1, "limit_reached": 1,
    }  # fmt: skip
    assert found.unknown == {"gpu": 1, "cpu": 1, "node": 1}


def test_the_window_ends_where_the_trace_does(tmp_path: Path) -> None:
    path = add_nodes(make_trace(tmp_path / "t.db", figure_4()), NODES)
    found = measured(path, since=MONDAY, until=MONDAY + 9 * HOUR)
    assert (found.until, found.up) == (MONDAY + 110 * MINUTE, len(NODES) * 110 * MINUTE)


@pytest.mark.parametrize("rows", [1, 7, 40])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_of_time_add_up_to_the_whole(tmp_path: Path, seed: int, rows: int) -> None:
    path = crowded(tmp_path / "t.db", random.Random(seed))
    whole = measured(path)
    assert whole.totals[-1].jobs and whole.homeless
    assert measured(path, rows=rows) == whole
    part = {"since": MONDAY + 20 * DAY, "until": MONDAY + 60 * DAY + 7}
    assert measured(path, rows=rows, **part) == measured(path, **part)


def crowded(path: Path, rng: random.Random) -> Path:
    """Three months of four nodes on which runs wait and run for minutes or weeks; some have no end, some no node."""
    found = []
    for number in range(1, 301):
        start = rng.randrange(0, 90 * 24 * 6) * 10
        minutes = rng.choice((10, 60, 600, 6000, 20_000))
        hosts = rng.choice(("n1", "n1", "n2", "n3", "n4", "n[1-3]", "n9", ""))
        many = 3 if "[" in hosts else 1
        size = rng.choice((1, 2, 4))
        found.append(
            ran(
                number, hosts, start - rng.choice((0, 30, 3000, 15_000)), start, minutes, nodes=many, gpus=many * size,
                cpus=many * size * rng.choice((1, 5)), time_limit=minutes * MINUTE + rng.choice((0, HOUR, 30 * DAY)),
                **({"end_time": None, "elapsed": None, "state": "RUNNING"} if number % 50 == 0 else {}),
                seen_open=MONDAY + 90 * DAY if number % 50 == 0 else None,
            )
        )  # fmt: skip
    return add_nodes(make_trace(path, found), NODES, [("n2", MONDAY + 9 * DAY, MONDAY + 11 * DAY, "DOWN")])


def test_an_empty_trace_has_nothing(tmp_path: Path) -> None:
    found = measured(make_trace(tmp_path / "t.db"))
    assert (found.rows, found.jobs, found.ran) == ([], 0, 0)


def test_neither_the_order_nor_the_grouping_of_rows_changes_a_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Filter(("aaic",), states=(), min_elapsed=None, checkpoint_code=85)
    regrouped.check(monkeypatch, tmp_path, waste_module, lambda db: waste(db, chosen, MONDAY + 200 * DAY))
