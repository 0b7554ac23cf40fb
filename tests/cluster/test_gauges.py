"""The gauges of `adminkit metrics` about this moment, on a real slurmctld."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import adminkit
from tests.cluster.harness.processes import until
from tests.support.builders import job, make_trace

pytestmark = pytest.mark.cluster
Samples = dict[tuple[str, ...], float]


@pytest.fixture(scope="module")
def cluster(outside: Listing) -> Iterator[Cluster]:
    with private_slurm(nodes=2) as booted:
        yield booted


def asked(cluster: Cluster, trace: Path) -> dict[str, Samples]:
    """Metric -> labels, by their names, without the cluster -> value."""
    text = adminkit(cluster, trace, "metrics").stdout
    found: dict[str, Samples] = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            key = tuple(value for name, value in sorted(one.labels.items()) if name != "cluster")
            found.setdefault(one.name.removeprefix("adminkit_"), {})[key] = one.value
    return found


def test_what_waits_and_what_runs_is_counted(cluster: Cluster, tmp_path: Path) -> None:
    """800 tasks that wait are 800; a drained node is away, with its GPUs."""
    trace = make_trace(tmp_path / "t.db", [job(1)])
    cluster.ask("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    running = cluster.submit("sleep 300", "-p", "gq", "--gres=gpu:2", "-t", "10", user="games")
    cluster.wait(running, "RUNNING")
    array = cluster.submit("sleep 1", "-p", "gq", "--gres=gpu:8", "-t", "10", "-a", "0-799", user="games")
    held = cluster.submit("sleep 1", "-p", "gq", "-H", user="games")
    until(
        "the array to wait", lambda: "gq" in cluster.ask("squeue", "-h", "-j", str(array), "-t", "PD", "-o", "%P"), 60
    )
    try:
        found = asked(cluster, trace)
    finally:
        cluster.ask("scancel", str(running), str(array), str(held))
        cluster.resume_node("n2")
    labels = ("physics", "gq")
    assert found["jobs"][(*labels, "running")] == 1
    assert found["jobs"][(*labels, "waiting")] == 800
    assert found["jobs"][(*labels, "held")] == 1
    assert found["jobs_gpus"][(*labels, "waiting")] == 6400
    assert found["jobs_gpus"][(*labels, "running")] == 2
    assert found["nodes"] == {("mixed",): 1, ("drained",): 1}
    gpus = {state: sum(many for key, many in found["cluster_gpus"].items() if key[0] == state)
            for state in ("in_use", "free", "away")}  # fmt: skip
    assert gpus == {"in_use": 2, "free": 6, "away": 8}
    assert set(found["account_shares_ratio"]) >= {("physics",), ("root",)}


def test_a_slurmctld_that_is_away_is_one_line_and_a_gap(cluster: Cluster, tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "t.db", [job(1)])
    cluster.stop_ctld()
    try:
        done = adminkit(cluster, trace, "metrics")
    finally:
        cluster.start_ctld()
    assert "adminkit_runs_total" in done.stdout
    assert "adminkit_jobs{" not in done.stdout
    assert done.stderr.count("the gauges of the cluster are left out") == 1
