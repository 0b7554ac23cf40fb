"""`adminkit tune --slurm` on a real slurmctld: the same answer as one process, whatever is killed meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.test_tune import KEYS, LEVERS, jobs
from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster, Done
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until
from tests.support.builders import HOUR, make_trace

pytestmark = pytest.mark.cluster

ADMINKIT = (sys.executable, "-m", "adminkit")
TASKS = 4
#: A round begins as soon as the one before has ended: the search has four.
SCHEDULER = "sched_interval=1,batch_sched_delay=0,bf_interval=2"


@dataclass(frozen=True)
class Site:
    cluster: Cluster
    folder: Path

    def tune(self, *more: str, keep: str) -> Done:
        words = ["tune", str(self.folder / "tune.toml"), *KEYS, "-f", "json", "--keep", str(self.folder / keep), *more]
        env = {"ADMINKIT_DB": str(self.folder / "trace.db"), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return self.cluster.run(*ADMINKIT, *words, env=env)

    def jobs(self) -> dict[str, str]:
        """The state of each job of a search, by the id as squeue has it."""
        text = self.cluster.ask("squeue", "-h", "-r", "-n", "adminkit-tune", "-t", "all", "-o", "%i %T")
        return dict(line.split() for line in text.splitlines())


@pytest.fixture(scope="module")
def site(outside: Listing, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("tune")
    make_trace(folder / "trace.db", jobs(), [("aaic", "gq", 0, HOUR, 72 * HOUR)])
    (folder / "tune.toml").write_text(LEVERS)
    with private_slurm(nodes=2, SchedulerParameters=SCHEDULER) as booted:
        yield Site(booted, folder)


def ended(site: Site) -> bool:
    return all(state in ("COMPLETED", "FAILED", "CANCELLED") for state in site.jobs().values())


def test_four_tasks_of_which_one_is_requeued_give_the_answer_of_one_process(site: Site) -> None:
    alone = site.tune("-o", str(site.folder / "alone.json"), keep="alone")
    assert alone.code == 0, alone.err
    together = site.folder / "together.json"
    submitted = site.tune("--slurm", str(TASKS), "--sbatch=--mem=100", "-o", str(together), keep="shared")
    assert submitted.code == 0, submitted.err

    def running() -> list[str]:
        return [job for job, state in site.jobs().items() if state == "RUNNING" and "_" in job]

    until("a task to run", running, 30)
    task = running()[0]
    site.cluster.ask("scontrol", "requeue", task)
    until("the search to end", lambda: ended(site), 120)
    assert set(site.jobs().values()) == {"COMPLETED"}
    assert together.read_bytes() == (site.folder / "alone.json").read_bytes()


def test_what_slurm_refuses_is_said(site: Site) -> None:
    found = site.tune("--slurm", "2", "--sbatch=--partition=nowhere", keep="refused")
    assert found.code == 1
    said = found.err.decode()
    assert "Slurm refuses the job adminkit-tune: " in said and "partition" in said
    assert "--sbatch=" in said, "the hint"
