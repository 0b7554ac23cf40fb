"""The days that ran on a real Slurm with extending and without, and the measures of their runs."""

from __future__ import annotations

from itertools import groupby
from statistics import fmean

import pytest

from tests.extend_real.workloads import LOADS, MENU, RISKS, SEEDS, SHAPE, Day, day

#: As they were committed before the first run; who changes a day has to run it again.
DIGESTS = {
    (1, 10): "7433b3b5ff138a57",
    (2, 10): "c3b4ac94ceb8b822",
    (3, 10): "b632d0898ab76656",
    (4, 10): "f1c5797c2ba4306b",
    (5, 10): "20532c7f12c68c17",
    (6, 10): "0d03a5bee315b99b",
    (1, 30): "9bd2bdc1f19b123a",
    (2, 30): "5f14614da4396799",
    (3, 30): "12028582652e96a8",
    (4, 30): "818da4361ace0ebc",
    (5, 30): "493dd9f24c3fe559",
    (6, 30): "2fdf5de33b8619d9",
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
    assert fmean(job.nodes > 1 for job in jobs) == pytest.approx(0.3, abs=0.03)
