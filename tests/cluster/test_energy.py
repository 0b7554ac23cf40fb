"""Energy on a real slurmd whose node has a counter: what reaches sacct, the trace and the reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.meter import SETTINGS, Meter
from tests.cluster.harness.operator import accounted, adminkit


@pytest.fixture(scope="module")
def metered(outside: Listing) -> Iterator[tuple[Cluster, Meter]]:
    """One node, so that there is one counter."""
    with private_slurm(nodes=1, **SETTINGS) as booted:
        meter = Meter(booted)
        try:
            yield booted, meter
        finally:
            meter.stop()


def ran(cluster: Cluster, meter: Meter, watts: float, seconds: float, *options: str) -> int:
    """A job during which its node drew so much."""
    meter.watts = watts
    job = cluster.submit(f"sleep {seconds}", "-t", "5", *options, user="games")
    cluster.wait(job, "COMPLETED")
    accounted(cluster, job, "COMPLETED")
    return job


def test_joules_reach_the_trace_and_the_report(metered: tuple[Cluster, Meter], tmp_path: Path) -> None:
    cluster, meter = metered
    db = tmp_path / "trace.db"
    ran(cluster, meter, 2 * 133.5, 12, "-c", "8", "--gres=gpu:2", "-J", "two")
    ran(cluster, meter, 190.2, 12, "-c", "8", "--gres=gpu:1", "-J", "one")
    ran(cluster, meter, 80, 3, "-c", "2", "-J", "part")
    adminkit(cluster, db, "sync", "--since", "1d", "--steps")
    said = json.loads(adminkit(cluster, db, "report", "energy", "--by", "name", "--format", "json").stdout)
    rows = {row["name"]: row for row in said["rows"]}
    assert rows["two"]["gpu_watts"] == pytest.approx(133.5, rel=0.06), rows
    assert rows["one"]["gpu_watts"] == pytest.approx(190.2, rel=0.06), rows
    assert {name: (row["measured"], row["shared"], row["capped"]) for name, row in rows.items()} == {
        "two": (1, 0, 0), "one": (1, 0, 0), "part": (1, 1, 0), "(all)": (3, 1, 0),
    }, rows  # fmt: skip
    assert sum(row["energy_joules"] for row in said["rows"][:3]) == rows["(all)"]["energy_joules"]
    print(adminkit(cluster, db, "report", "energy", "--by", "name").stdout)
