"""`adminkit data probe --nodes` on a real slurmctld: each node measures, and reads from another one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.training_data.trees import make, some

pytestmark = pytest.mark.cluster

ADMINKIT = (sys.executable, "-m", "adminkit")


@pytest.fixture(scope="module")
def cluster(outside: Listing) -> Iterator[Cluster]:
    with private_slurm(nodes=2) as booted:
        yield booted


def test_two_nodes_measure_at_a_time_and_read_from_each_other(cluster: Cluster, tmp_path: Path) -> None:
    source = make(tmp_path / "in", some())
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    words = [*ADMINKIT, "data", "probe", str(source), "--nodes", "2", "--seconds", "20", "--sbatch=--mem=200"]
    shown = cluster.run(*words, env=env)
    assert shown.code == 0, shown.err
    assert b"would submit: sbatch --nodes=2" in shown.out
    assert cluster.ask("squeue", "-h", "-t", "all", "-n", "adminkit-probe") == ""
    done = cluster.run(*words, "--apply", env=env)
    assert done.code == 0, done.err
    job = int(done.out.decode().split()[-1])
    assert cluster.wait(job) == ["COMPLETED"]
    output = (tmp_path / f"state/adminkit/slurm-{job}.out").read_text()
    assert output.count("from another node") == 2, output
    assert {line[:2] for line in output.splitlines() if "from another node" in line} == {"0:", "1:"}
    lines = (tmp_path / "state/adminkit/probes.jsonl").read_text().splitlines()
    assert all(json.loads(line)["measured"]["network"] > 1e6 for line in lines)
    assert not list((tmp_path / "state/adminkit").glob("meet-*"))
