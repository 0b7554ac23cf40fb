"""The days that run on a real Slurm, and the keys of [extend] that they run with: all committed before the runs."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from statistics import fmean

import pytest

from adminkit.policy.extend_settings import Extend
from adminkit.policy.load import load_policy
from tests.cluster.harness.ruled import HEAD
from tests.extend_real.arms import ARMS, LEAST_LEAD, Rule
from tests.extend_real.cluster import RECORD
from tests.extend_real.workloads import LOADS, MENU, NEW, NEW_RISK, RISKS, SEEDS, SHAPE, Day, day
from tests.soft_real.history import QUIET

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
    (7, 30): "72e486a9425dcb53",
    (8, 30): "4c2cc1f803e7d1bb",
    (9, 30): "592a5608bfd72dfc",
    (10, 30): "0b47b92bdfceead1",
    (11, 30): "12dde5d6e3b32cbd",
    (12, 30): "9ab1d710d5f61fa3",
}
DAYS = [day(seed, risk) for seed in SEEDS for risk in RISKS] + [day(seed, NEW_RISK) for seed in NEW]


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


@pytest.mark.parametrize(
    ("seeds", "risk", "least", "most", "wide"),
    [(SEEDS, 10, 0.03, 0.1, 0.3), (SEEDS, 30, 0.1, 0.3, 0.3), (NEW, 30, 0.1, 0.3, 0.33)],
)
def test_as_many_jobs_need_more_than_they_ask_for_as_the_risk_allows(
    seeds: tuple[int, ...], risk: int, least: float, most: float, wide: float
) -> None:
    """Fewer than the risk: limits are rounded up to whole minutes. The new days have more jobs of several nodes."""
    jobs = [job for seed in seeds for job in day(seed, risk).workload.jobs]
    assert least < fmean(job.sleep > job.limit for job in jobs) < most
    assert fmean(job.nodes > 1 for job in jobs) == pytest.approx(wide, abs=0.02)


@pytest.mark.parametrize(("arm", "keys"), [("on", {}), ("most3", {"most": 3.0}), ("most3lead40", {"most": 3.0})])
def test_the_settings_are_what_the_page_says(tmp_path: Path, arm: str, keys: dict[str, float]) -> None:
    """The defaults, but for the arm's keys, the lead, which is changed further in the compiled policy, and the
    budget.
    """
    rule = ARMS[arm]
    assert rule
    (tmp_path / "policy.toml").write_text(HEAD + RECORD + QUIET + rule.toml)
    found = load_policy(tmp_path / "policy.toml").extend
    assert found == Extend().model_copy(update={"enabled": True, "lead": LEAST_LEAD, "budget": None, **keys})


def test_the_keys_of_each_arm_are_what_was_committed() -> None:
    """Before its first run."""
    assert {
        "off": None,
        "on": Rule(share=0.25, most=2, lead=20, times=8),
        "again": None,
        "most3": Rule(share=0.25, most=3, lead=20, times=8),
        "most3lead40": Rule(share=0.25, most=3, lead=40, times=8),
    } == ARMS
