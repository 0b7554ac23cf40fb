"""The spawner of JupyterHub on each release of Slurm; tests/web has the rest of it, in a browser.

In `make soak`, and in the matrix on every row.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.conftest import private_slurm
from tests.web import hub as harness
from tests.web.hub import Hub, hub_on
from tests.web.stopped import comes_and_is_cancelled

pytestmark = [pytest.mark.soak, pytest.mark.cluster]


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """On one node of eight GPUs."""
    if lacking := harness.missing():
        pytest.skip(f"not run: no {lacking[0]} (tests/setup/install.sh web)")
    pytest.importorskip("jupyterhub", reason="not run: no jupyterhub (pip install -e '.[jupyter]')")
    fast = "sched_interval=1,batch_sched_delay=0,bf_interval=2"
    with private_slurm(nodes=1, SchedulerParameters=fast) as cluster, hub_on(cluster, patience=30.0) as running:
        yield running


def test_a_server_starts_and_ends(hub: Hub) -> None:
    told = hub.spawn("games", "one")
    assert told.status in (201, 202), told
    hub.until("the server to be ready", lambda: hub.ready("games"))
    job = hub.job("games")
    shown = hub.cluster.ask("scontrol", "show", "job", str(job))
    assert "UserId=games(" in shown
    assert "Comment=jupyterhub:" in shown
    hub.end("games")
    assert hub.cluster.wait(job)[0].startswith("CANCELLED")


def test_what_cannot_start_is_refused(hub: Hub) -> None:
    told = hub.spawn("games", "nine")
    assert (told.status, "no node has as much" in told.message) == (409, True), told
    job = hub.cluster.submit("sleep 600", "-p", "gq", "--gpus=8", "-t", "10", user="backup")
    hub.cluster.wait(job, "RUNNING")
    told = hub.spawn("games", "one")
    assert (told.status, "busy" in told.message) == (409, True), told
    hub.cluster.run("scancel", str(job))
    hub.cluster.wait(job)
    assert hub.cluster.ask("squeue", "-h", "-u", "games") == "", "nothing was submitted"


def test_a_job_that_dies_is_told_with_its_log(hub: Hub) -> None:
    home = hub.homes / "www-data"
    home.joinpath("runtime").write_text("in the way of a folder")
    told = hub.spawn("www-data", "one")
    home.joinpath("runtime").unlink()
    assert told.status == 409, told
    assert "ended before the server answered (FAILED)" in told.message
    assert "exists but is not a directory" in told.message


def test_a_job_that_comes_after_sbatch_was_given_up_is_cancelled(hub: Hub) -> None:
    comes_and_is_cancelled(hub, "news")
