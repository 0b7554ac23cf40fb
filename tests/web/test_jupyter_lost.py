"""A submission that slurmctld takes when nobody listens any more: this hub or the next finds and ends its job."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.web.hub import Hub, hub_on
from tests.web.stopped import comes_and_is_cancelled, jobs, spawn_stopped

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def hub(hub_cluster: Cluster) -> Iterator[Hub]:
    with hub_on(hub_cluster, patience=60.0) as running:
        yield running


def test_a_job_that_comes_after_sbatch_was_given_up_is_cancelled(hub: Hub) -> None:
    comes_and_is_cancelled(hub, "games")
    assert hub.spawn("games", "one").status in (201, 202)
    hub.until("the next server", lambda: hub.ready("games"))
    hub.end("games")


def test_the_next_hub_cancels_what_the_last_one_lost(hub: Hub) -> None:
    before = jobs(hub, "news")
    with spawn_stopped(hub, "news") as (_, go_on):
        hub.kill()
        go_on()
        hub.until("slurmctld to take it", lambda: len(jobs(hub, "news")) > len(before), check=False)
        assert jobs(hub, "news", "PD", "R"), "nobody looks"
        hub.start()
        hub.until("its job to be cancelled", lambda: not jobs(hub, "news", "PD", "R", "CG"), 30)


def test_a_hub_that_is_killed_while_sbatch_runs_leaves_no_job(hub: Hub) -> None:
    """The next one finds a start that it knows nothing of but the mark."""
    hub.waits.touch()
    asked = hub.homes / "www-data/asked"
    with ThreadPoolExecutor(1) as beside:
        beside.submit(hub.spawn, "www-data", "one")
        hub.until("sbatch to be there", asked.exists)
        hub.kill()
        hub.waits.unlink()
        asked.unlink()
        hub.until("the job", lambda: jobs(hub, "www-data", "PD", "R"), check=False)
    hub.start()
    hub.until("its job to be cancelled", lambda: not jobs(hub, "www-data", "PD", "R", "CG"), 30)
