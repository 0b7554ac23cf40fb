"""The days that ran on a real Slurm with extending and without, and the measures of their runs."""

from __future__ import annotations

from itertools import groupby
from statistics import fmean

import pytest

from tests.extend_real.workloads import LOADS, MENU, RISKS, SEEDS, SHAPE, Day, day

#: As they were committed before the first run; who changes a day has to run it again.
DIGESTS = {
    (1, 10): "a01926a7d9416135",
    (2, 10): "0986fa7e5ed884c0",
    (3, 10): "bab11ac06d539e3f",
    (4, 10): "30224b9b29715f75",
    (5, 10): "d1ac1ccaca3cd787",
    (6, 10): "fa98370aac5b160b",
    (1, 30): "4c5cabcab9fd1d69",
    (2, 30): "48a4837854dc92a0",
    (3, 30): "f9c80015d503fcde",
    (4, 30): "a89d0147b14d4c22",
    (5, 30): "0dfa2b48e23d8c74",
    (6, 30): "cec4cef49aa4301a",
}
DAYS = [day(seed, risk) for seed in SEEDS for risk in RISKS]


def test_a_seed_makes_the_day_that_was_committed() -> None:
    assert {(one.seed, one.risk): one.digest for one in DAYS} == DIGESTS


@pytest.mark.parametrize("one", DAYS, ids=lambda one: f"{one.seed}-{one.risk}")
def test_a_day_is_what_the_order_asks_for(one: Day) -> None:
    jobs = one.workload.jobs
    assert len(SHAPE.node_names) == 16 and one.load == pytest.approx(LOADS[one.seed], abs=0.01)
    assert all(job.limit in MENU and job.limit <= SHAPE.queue(job.queues[0]).max_limit for job in jobs)
    assert [job.offset for job in jobs] == sorted(job.offset for job in jobs)
    assert 0 < sum(one.saves) < len(jobs) / 4


def test_every_risk_has_the_same_jobs() -> None:
    for _, of_seed in groupby(DAYS, lambda one: one.seed):
        assert len({tuple((job.offset, job.sleep, job.nodes) for job in one.workload.jobs) for one in of_seed}) == 1


@pytest.mark.parametrize(("risk", "least", "most"), [(10, 0.03, 0.1), (30, 0.1, 0.3)])
def test_as_many_jobs_need_more_than_they_ask_for_as_the_risk_allows(risk: int, least: float, most: float) -> None:
    """Fewer than the risk: limits are rounded up to whole minutes."""
    jobs = [job for one in DAYS if one.risk == risk for job in one.workload.jobs]
    assert least < fmean(job.sleep > job.limit for job in jobs) < most
    assert fmean(job.nodes > 1 for job in jobs) == pytest.approx(0.3, abs=0.02)
