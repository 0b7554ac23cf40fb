"""The bench of soft limits: its page, its candidates, its trace of bursts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from adminkit.simulate.core import NONE, Schedule
from tests.bench.soft_limits import (
    CANDIDATES,
    DEFAULT,
    GAP,
    LEAST,
    RESULTS,
    figures,
    measure,
    merged,
    planned,
    quantile,
    was_head,
)
from tests.bench.soft_page import GUIDE, PAGE, _trace, guide, page
from tests.bench.soft_traces import HOUR, Known, Trace, bursts
from tests.simulate.cases import many


def trace(need: int = 1200) -> Trace:
    one = many(model="easy", settings={"procs": 4})
    rows = np.full((one.count, 3), need, np.int64)
    rows[::5] = NONE
    outlived = np.tile([0.5, 0.25, 0.1], (one.count, 1))
    return Trace("it", "some jobs", one, Known(rows, rows, outlived, rows[:, 0]), 2, (1, 2))


def test_the_page_is_made_of_the_results() -> None:
    results = json.loads(RESULTS.read_text())
    assert PAGE.read_text() == page(results), "python -m tests.bench.soft_limits page"
    assert GUIDE.read_text() == guide(GUIDE.read_text(), results), "python -m tests.bench.soft_limits page"


@pytest.mark.parametrize("name", CANDIDATES)
def test_no_candidate_plans_beyond_the_limit(name: str) -> None:
    one = trace()
    plan, limit = planned(CANDIDATES[name], one), one.case.column("limit")
    soft = plan != NONE
    assert (plan[soft] < limit[soft]).all()
    if CANDIDATES[name].floor:
        assert (plan[soft] >= LEAST).all() and (limit[soft] - plan[soft] >= GAP).all()


def test_what_is_measured_is_a_change_with_its_interval() -> None:
    found = measure(trace(), ["q75", DEFAULT], 2)
    for candidate in found["candidates"].values():
        assert {"wait", "slowdown", "p95", "head", "wait 1", "p95 1"} <= candidate["figures"].keys()
        for name, (today, change, low, high) in candidate["figures"].items():
            assert (today >= 0 or name == "slip") and low <= change <= high


def test_a_head_that_started_after_its_promise_was_late() -> None:
    """Of three heads one came an hour late; the others never were the first of the queue."""
    one, none = trace(), np.full(trace().case.count, NONE, np.int64)
    promised, start = none.copy(), one.case.column("submit") + 7200
    promised[:3] = start[:3] - np.array([3600, 0, -1800])
    schedule = Schedule(start, start + 1, none, none, {}, promised)
    found = figures(one, one.case, schedule, promised != NONE)
    assert (found["promised"], found["late"], found["slip"]) == (3, pytest.approx(1 / 3), pytest.approx(1 / 6))
    assert "late" not in figures(one, one.case, replace(schedule, promised=None), promised != NONE)


def test_by_limits_every_promise_of_a_head_is_kept() -> None:
    found = measure(trace(), ["q75"], 2)["candidates"]["q75"]["figures"]
    assert found["promised"][0] > 0 and found["late"][0] == 0 and found["slip"][0] <= 0
    text = "\n".join(_trace("it", {**measure(trace(), ["q75"], 2), "commit": "a"}))
    assert "| promised |" in text and "0.0 % late" in text


def test_a_row_that_is_measured_later_stands_beside_the_others_and_says_so() -> None:
    old = {"jobs": 9, "replicates": 3, "commit": "a", "candidates": {"q90": {"soft": 1}, "q50": {"soft": 2}}}
    new = {"jobs": 9, "replicates": 6, "commit": "b", "candidates": {"q75": {"soft": 3}, "q50": {"soft": 4}}}
    both = merged(old, new)
    assert [*both["candidates"]] == ["q50", "q75", "q90"] and both["replicates"] == 3
    assert both["candidates"]["q50"] == {"soft": 4, "replicates": 6, "commit": "b"}
    assert both["candidates"]["q90"] == {"soft": 1}
    assert merged(old, {**new, "jobs": 8}) == {**new, "jobs": 8}, "of other jobs"
    assert merged(None, new) == new


def test_what_only_slurmctld_has_is_measured_there_alone() -> None:
    assert [*measure(trace(), ["q75", "q75, bf_window 1 day"], 2)["candidates"]] == ["q75"]


def test_what_nobody_knows_and_what_is_too_long_is_not_planned() -> None:
    assert (quantile(75)(trace())[::5] == NONE).all()
    assert (quantile(75, longest=HOUR)(trace(4000)) == NONE).all()


def test_the_first_of_the_queue_is_the_one_that_nobody_passed() -> None:
    from adminkit.simulate.core import simulate

    one = trace().case
    made = simulate(one.request)
    head = was_head(made, one, one.column("submit"))
    for job in np.flatnonzero(head).tolist():
        assert (made.start[:job] <= made.start[job]).all()


def test_bursts_are_the_same_on_every_machine_and_fit_their_limits() -> None:
    (first, who), (again, _) = bursts(jobs=500), bursts(jobs=500)
    assert all((first.jobs[name] == again.jobs[name]).all() for name in first.jobs)
    assert (first.jobs["run"] <= first.jobs["limit"]).all() and len(who) == 500
