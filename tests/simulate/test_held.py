"""Soft limits are held back while a wide job waits."""

from __future__ import annotations

import numpy as np
import pytest

from adminkit.simulate.case import Case, Column, with_columns
from adminkit.simulate.core import NONE, Request, Schedule, simulate
from adminkit.simulate.held import MOST_RUNS, held, wide_jobs
from tests.simulate.cases import case, many

H = 3600


def pool() -> Case:
    """Four processors. The first job has half of them for ten hours; the second wants all; then come short ones."""
    return case(
        [0, 60, 120, 180, 20 * H],
        [10 * H, H, 600, 600, 600],
        [10 * H, H, 20 * H, 20 * H, 20 * H],
        [2, 4, 1, 1, 1],
        model="easy",
        settings={"procs": 4},
    )


def plans(one: Case, seconds: int = 900) -> Column:
    return np.where(one.column("limit") > 10 * H, seconds, NONE)


def test_who_waits_beside_a_wide_job_keeps_the_limit() -> None:
    one = pool()

    def with_plan(plan: Column) -> Case:
        return with_columns(one, plan=plan)

    free = simulate(with_plan(plans(one)).request)
    assert free.start.tolist()[2:4] == [120, 180], "planned with 15 minutes, they start before the wide job"
    kept = held(with_plan, plans(one), wide_jobs(one, 100))
    assert kept.tolist() == [NONE, NONE, NONE, NONE, 900], "the last came when nobody waited"
    assert simulate(with_plan(kept).request).start.tolist()[2:4] == [11 * H, 11 * H]


def test_or_has_another_plan() -> None:
    """A higher quantile, say: long enough, they start behind the wide job all the same."""
    one, other = pool(), plans(pool(), 10 * H)
    for beside, starts in ((other, [11 * H, 11 * H]), (plans(one, 1800), [120, 180])):
        kept = held(lambda plan: with_columns(one, plan=plan), plans(one), wide_jobs(one, 100), beside=beside)
        assert kept.tolist() == [NONE, NONE, beside[2], beside[3], 900]
        assert simulate(with_columns(one, plan=kept).request).start.tolist()[2:4] == starts


@pytest.mark.parametrize(
    ("percent", "wide", "why"),
    [(0, [0] * 5, "it is off"), (100, [0, 1, 0, 0, 0], "the whole pool"), (50, [1, 1, 0, 0, 0], "half of it")],
)
def test_which_jobs_of_a_pool_are_wide(percent: int, wide: list[int], why: str) -> None:
    assert wide_jobs(pool(), percent).tolist() == [bool(one) for one in wide], why


def site() -> Case:
    """Two queues on four nodes, a third on two others."""
    nodes = [{"count": 4, "cpus": 1, "queues": 0b011}, {"count": 2, "cpus": 1, "queues": 0b100}]
    return case(
        [0, 60, 120, 120],
        [10 * H, H, 600, 600],
        [10 * H, H, 20 * H, 20 * H],
        [1] * 4,
        model="slurm",
        queues=[1, 1, 2, 4],
        columns={"nodes": [2, 4, 1, 1], "cpus": [2, 4, 1, 1]},
        site=([{"max_limit": 100 * H}] * 3, nodes),
        settings={"bf_window": 100 * H},
    )


def test_other_nodes_are_none_of_its_business() -> None:
    one = site()
    kept = held(lambda plan: with_columns(one, plan=plan), plans(one), wide_jobs(one, 100))
    assert kept.tolist() == [NONE, NONE, NONE, 900], "the third queue shares no node with the first"


def test_a_job_that_never_runs_holds_nobody() -> None:
    one = case([0, 60], [600, 600], [10 * H, 20 * H], [9, 1], model="easy", settings={"procs": 4})
    kept = held(lambda plan: with_columns(one, plan=plan), plans(one), wide_jobs(one, 100))
    assert kept.tolist() == [NONE, 900]


def test_it_ends_whatever_the_schedules_do() -> None:
    one, runs = many(), 0

    def run(request: Request) -> Schedule:
        nonlocal runs
        runs += 1
        jobs = {**request.jobs, "limit": request.jobs["limit"] + runs % 2 * 50 * H}
        return simulate(Request(request.model, jobs, request.settings))

    held(lambda plan: with_columns(one, plan=plan), np.full(one.count, 900), wide_jobs(one, 20), run)
    assert 1 <= runs <= MOST_RUNS
