"""A sweep of scenarios as a job array on a real slurmctld: the answer of one process, whatever is requeued."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.test_simulate_scenarios import KEYS, NODES, jobs
from tests.cluster.conftest import private_slurm
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.listing import Listing
from tests.cluster.harness.processes import until
from tests.support.builders import HOUR, make_trace
from tools.docs import DOCS

pytestmark = pytest.mark.cluster

TASKS = 4


@dataclass(frozen=True)
class Site:
    cluster: Cluster
    folder: Path

    def words(self, keep: str) -> list[str]:
        return [str(self.folder / "scenarios.toml"), *KEYS, "--keep", str(self.folder / keep), "--cores", "1"]

    @property
    def env(self) -> dict[str, str]:
        return {
            "ADMINKIT_DB": str(self.folder / "trace.db"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        }

    def answer(self, keep: str) -> bytes:
        words = ("simulate", "scenarios", *self.words(keep), "-f", "json")
        done = self.cluster.run(sys.executable, "-m", "adminkit", *words, env=self.env)
        assert done.code == 0, done.err
        return done.out

    def states(self, job: str) -> dict[str, str]:
        """The state of each task, by its id as squeue has it."""
        text = self.cluster.ask("squeue", "-h", "-r", "-j", job, "-t", "all", "-o", "%i %T")
        return dict(line.split() for line in text.splitlines())


@pytest.fixture(scope="module")
def site(outside: Listing, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("sweep")
    make_trace(folder / "trace.db", jobs(2000), [("aaic", "gq", 0, HOUR, 72 * HOUR)])
    (folder / "scenarios.toml").write_text(NODES)
    (script,) = re.findall(r"```sh\n(#!/bin/sh\n.*?)```", (DOCS / "scale.md").read_text(), re.DOTALL)
    (folder / "sweep.sh").write_text(script)
    with private_slurm(nodes=2, SchedulerParameters="sched_interval=1,batch_sched_delay=0,bf_interval=2") as booted:
        yield Site(booted, folder)


def test_the_script_of_the_docs_gives_the_answer_of_one_process_though_a_task_is_requeued(site: Site) -> None:
    alone = site.answer("alone")
    options = ("--parsable", f"--array=1-{TASKS}", "--mem=100", "--requeue", "--export=ALL", f"--chdir={site.folder}")
    log = f"--output={site.folder}/%a.out"
    words = (*options, log, "--open-mode=append", str(site.folder / "sweep.sh"), *site.words("shared"))
    submitted = site.cluster.run("sbatch", *words, env=site.env)
    assert submitted.code == 0, submitted.err
    job = submitted.text.strip()

    def running() -> list[str]:
        return [task for task, state in site.states(job).items() if state == "RUNNING"]

    until("a task to run", running, 60)
    site.cluster.ask("scontrol", "requeue", running()[0])
    ended = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
    until("the tasks to end", lambda: all(state in ended for state in site.states(job).values()), 240)
    logs = {one.name: one.read_text() for one in site.folder.glob("*.out")}
    assert set(site.states(job).values()) == {"COMPLETED"}, logs
    kept = {one.name: one.stat().st_size for one in (site.folder / "shared").glob("*.json")}
    assert len(kept) == 20, logs
    assert site.answer("shared") == alone
    assert {one.name: one.stat().st_size for one in (site.folder / "shared").glob("*.json")} == kept
