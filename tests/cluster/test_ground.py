"""What adminkit asks Slurm about itself, asked of a real one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adminkit.ingest.sources.sacct_fields import JOB_FIELDS, STEP_FIELDS
from adminkit.slurm import cluster as slurm
from adminkit.slurm import partitions, process, release
from tests.cluster.harness.cluster import Cluster


@pytest.fixture
def reached(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The environment of a process that talks to the cluster."""
    for name, value in cluster.env().items():
        monkeypatch.setenv(name, value)
    return cluster


def test_the_release_and_the_fields_are_those_its_sacct_prints(reached: Cluster) -> None:
    found = release.release()
    assert release.show_release(found) in reached.ask("sacct", "-V")
    assert found >= release.OLDEST
    absent = {*JOB_FIELDS, *STEP_FIELDS} - release.sacct_fields()
    assert absent == (set() if found >= (24, 11, 0) else {"Restarts"})


def test_every_field_and_state_of_ours_is_taken_by_it(reached: Cluster) -> None:
    fields = [name for name in dict.fromkeys((*JOB_FIELDS, *STEP_FIELDS)) if name in release.sacct_fields()]
    states = release.finished_states()
    assert set(states) == set(release.FINISHED)
    process.ask(["sacct", "-a", "-n", "-S", "now-1minute", "-E", "now", "-s", ",".join(states), "-o", ",".join(fields)])
    process.ask(["sacct", "-a", "-n", "-S", "now-1minute", "-E", "now", "-s", ",".join(release.OPEN), "-o", "JobID"])
    assert release.finished_states((*states, "NOSUCH")) == states


def test_its_queues_have_the_limits_of_its_slurm_conf(reached: Cluster) -> None:
    found = {queue.name: queue for queue in partitions.queues()}
    assert found == {queue.name: queue for queue in partitions.queues("alpha")}
    gq = found["gq"]
    assert (gq.default_limit, gq.max_limit, gq.total_nodes, gq.is_default) == (3600, 72 * 3600, 4, True)
    assert (found["gq-long"].default_limit, found["gq-long"].max_limit) == (72 * 3600, 336 * 3600)


def test_its_names_its_backlog_and_its_rights(reached: Cluster) -> None:
    assert slurm.local_cluster() == "alpha"
    assert "alpha" in slurm.known_clusters()
    assert slurm.dbd_backlog() is not None
    assert slurm.admin_level("root") == "Administrator"
    assert slurm.admin_level("games") is None
    said = slurm.accounting()
    own = release.release() < (26, 5, 0)  # from there on the client writes its own release and PrivateData
    assert (said.release, said.private) == (
        (release.show_release(release.release()), frozenset()) if own else (None, None)
    )
    assert said.booted_at is not None
    assert time.time() - 86_400 < said.booted_at <= time.time()


def test_doctor_finds_nothing_missing(reached: Cluster, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("adminkit")
    done = subprocess.run(
        [program, "doctor", "--format", "json", "--db", tmp_path / "trace.db"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    found = {row["check"]: row for row in json.loads(done.stdout)["rows"]}
    assert found["slurmctld"]["found"].startswith("alpha, ")
    assert found["sees"]["found"].startswith("every job: AdminLevel Administrator")
