"""Published schedules of KTH-SP2, to the second: pyss and the metrics of predictsim (Gaussier and others, SC'15)."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from adminkit.simulate.core import Model, Request, simulate
from tests.support.swf import Columns, average_bounded_slowdown, public, read_jobs

KTH = "KTH-SP2-1996-2.swf.gz"
ORACLE = "KTH-SP2.pyss-EASY-fcfs-reqtime.swf.gz"


def kth() -> tuple[int, Columns]:
    path = public(KTH)
    if path is None:
        pytest.skip(f"not run: no {KTH} under $ADMINKIT_TRACES")
    return read_jobs(path)


@pytest.mark.parametrize(
    ("model", "plan", "published"),
    [
        ("easy", "limit", 92.5765397336295),
        ("easy", "run", 71.7223851124418),
        ("easy", "double", 79.9302510862489),
        ("easy-sjbf", "limit", 69.4054005803035),
        ("easy-sjbf", "run", 49.8477189313406),
        ("easy-sjbf", "double", 58.9125322399729),
    ],
)
def test_the_mean_bounded_slowdown_is_the_published_one(model: Model, plan: str, published: float) -> None:
    procs, jobs = kth()
    run = np.minimum(jobs["run"], jobs["limit"])
    plans = {"limit": jobs["limit"], "run": run.clip(0), "double": 2 * jobs["limit"]}
    said = simulate(Request(model, jobs | {"plan": plans[plan]}, {"procs": procs}))
    assert average_bounded_slowdown(jobs, said.start, said.end) == pytest.approx(published, rel=1e-12)


@pytest.mark.parametrize(("model", "depth"), [("easy", -1), ("conservative", 1)])
def test_each_start_is_the_published_one(model: Model, depth: int) -> None:
    """With one reservation conservative is EASY."""
    procs, jobs = kth()
    oracle = public(ORACLE)
    if oracle is None:
        pytest.skip(f"not run: no {ORACLE} under $ADMINKIT_TRACES")
    with gzip.open(oracle, "rt") as lines:
        table = np.array([line.split()[:3] for line in lines if line[0] != ";"], np.int64)
    published = dict(zip(table[:, 0].tolist(), (table[:, 1] + table[:, 2]).tolist(), strict=True))
    said = simulate(Request(model, jobs, {"procs": procs, "depth": depth}))
    ran = said.start >= 0
    assert dict(zip(jobs["id"][ran].tolist(), said.start[ran].tolist(), strict=True)) == published
