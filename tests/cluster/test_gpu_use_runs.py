"""What becomes of a measurement over the life of a job: requeue, a killed sampler, the limit, Prometheus."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness.gpu_use import Measured, measured
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.operator import accounted
from tests.cluster.harness.processes import until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def site(outside: Listing) -> Iterator[Measured]:
    with measured(nodes=2) as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def limited(site: Measured) -> int:
    """A job that reaches its limit, the shortest that Slurm has, on the other node while the other tests run."""
    site.configure("report=10")
    site.gpus("0 100 0 81920 ok")
    job = site.cluster.submit("sleep 300", "-t", "1", "--gres=gpu:1", "-w", "n2", user="games")
    until("its sampler to run", lambda: site.samplers(job), 60)
    site.configure()
    return job


def test_a_run_that_is_put_back_has_its_own_sums(site: Measured) -> None:
    site.gpus("0 100 0 81920 ok")
    cluster = site.cluster
    job = cluster.submit("[ -e again ] || sleep 60; sleep 6", "-t", "5", "--gres=gpu:1", "-w", "n1", user="games")
    until("the first run to be measured", lambda: site.sums(job).exists(), 60)
    site.gpus("0 0 0 81920 ok")
    (cluster.work / "again").touch()
    cluster.ask("scontrol", "requeue", str(job))
    cluster.wait(job, "PENDING")
    time.sleep(2)  # slurmd takes no credential of the second in which the first run's was revoked
    cluster.ask("scontrol", "update", f"JobId={job}", "StartTime=now")
    cluster.wait(job, "COMPLETED")
    accounted(cluster, job, "COMPLETED")
    (word,) = site.words(job)
    assert word["busy"] == 0


def test_a_sampler_that_is_killed_starts_again(site: Measured) -> None:
    site.gpus("0 100 0 81920 ok")
    job = site.cluster.submit("sleep 9", "-t", "5", "--gres=gpu:1", "-w", "n1", user="games")
    until("the sampler to run", lambda: site.samplers(job), 60)
    os.kill(site.samplers(job)[0], signal.SIGKILL)
    site.cluster.wait(job, "COMPLETED")
    accounted(site.cluster, job, "COMPLETED")
    (word,) = site.words(job)
    assert word["s"] == word["busy"] > 3
    assert site.samplers(job) == []


def test_prometheus_gets_a_line_for_each_gpu_while_the_job_runs(site: Measured, tmp_path: Path) -> None:
    site.configure(f"textfile={tmp_path}")
    left = tmp_path / "adminkit_gpu_use_99999.prom"
    left.write_text("of a job whose slurmstepd was killed")
    os.utime(left, (1, 1))
    site.gpus("0 25 0 81920 ok", "1 0 0 81920 lost")
    job = site.cluster.submit("sleep 6", "-t", "5", "--gres=gpu:2", "-w", "n1", user="games")
    path = tmp_path / f"adminkit_gpu_use_{job}.prom"
    until("the file", path.exists, 60)
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert lines == [
        f'adminkit_gpu_use_ratio{{job="{job}",gpu="0",uuid="GPU-00000000-0000-0000-0000-000000000000"}} 0.2500'
    ]
    site.cluster.wait(job, "COMPLETED")
    until("the file to go", lambda: not path.exists(), 60)
    assert not left.exists()
    site.configure()


def test_a_job_that_reaches_its_limit_has_the_last_word_before_it(site: Measured, limited: int) -> None:
    """When its batch step ends, slurmctld takes no word any more."""
    site.cluster.wait(limited, "TIMEOUT")
    accounted(site.cluster, limited, "TIMEOUT")
    (word,) = site.words(limited)
    assert word["s"] > 30
