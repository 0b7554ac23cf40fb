"""The spawner of JupyterHub on each release of Slurm; tests/web has the rest of it, in a browser.

In `make soak`, and in the matrix on every row.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import private_slurm
from tests.setup.guard import CONTAINER
from tests.web import hub as harness
from tests.web.hub import Hub, hub_on
from tests.web.stopped import comes_and_is_cancelled

pytestmark = [pytest.mark.soak, pytest.mark.cluster]


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """On one node of eight GPUs.

    Trap: from 26.05 on slurmd cancels a job with --export=NAMES whose user has no login shell.
    """
    if lacking := harness.missing():
        pytest.skip(f"not run: no {lacking[0]} (tests/setup/install.sh web)")
    pytest.importorskip("jupyterhub", reason="not run: no jupyterhub (pip install -e '.[jupyter]')")
    if CONTAINER in os.environ:
        for user in harness.USERS:
            subprocess.run(["usermod", "-s", "/bin/bash", user], check=True, timeout=60)
    fast = "sched_interval=1,batch_sched_delay=0,bf_interval=2"
    with private_slurm(nodes=1, SchedulerParameters=fast) as cluster, hub_on(cluster, patience=30.0) as running:
        yield running


def test_a_server_starts_and_ends(hub: Hub) -> None:
    assert hub.spawn("games", "one").status in (201, 202)
    hub.until("the server to be ready", lambda: hub.ready("games"))
    job = hub.job("games")
    words = hub.cluster.ask("scontrol", "show", "job", "-o", str(job)).split()
    assert len([word for word in words if word.startswith(("UserId=games(", "Comment=jupyterhub:"))]) == 2
    hub.end("games")
    assert hub.cluster.wait(job)[0].startswith("CANCELLED")


def why_not(hub: Hub, user: str, profile: str) -> str:
    """What the hub says of a start that fails. One that is slow answers 202 before it is known."""
    before = len(hub.said())
    assert hub.spawn(user, profile).status in (202, 409)
    hub.until("the start to be given up", lambda: not hub.server(user).get("pending"))
    return hub.said()[before:]


def test_what_cannot_start_is_refused(hub: Hub) -> None:
    assert "no node has that much" in why_not(hub, "games", "nine")
    job = hub.cluster.submit("sleep 600", "-p", "gq", "--gpus=8", "-t", "10", user="backup")
    hub.cluster.wait(job, "RUNNING")
    assert "busy" in why_not(hub, "games", "one")
    hub.cluster.run("scancel", str(job))
    hub.cluster.wait(job)
    assert hub.cluster.ask("squeue", "-h", "-u", "games") == "", "nothing was submitted"


def test_a_job_that_dies_is_told_with_its_log(hub: Hub) -> None:
    home = hub.homes / "www-data"
    home.joinpath("runtime").write_text("in the way of a folder")
    said = why_not(hub, "www-data", "one")
    home.joinpath("runtime").unlink()
    assert "ended before the server responded: it ended with an error" in said
    assert "exists but is not a directory" in said


def test_a_job_that_comes_after_sbatch_was_given_up_is_cancelled(hub: Hub) -> None:
    comes_and_is_cancelled(hub, "news")
