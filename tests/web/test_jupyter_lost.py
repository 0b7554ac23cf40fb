"""A submission that slurmctld takes when nobody listens any more: this hub or the next finds and ends its job."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.web.hub import Hub, Told, hub_on

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def hub(hub_cluster: Cluster) -> Iterator[Hub]:
    with hub_on(hub_cluster, patience=60.0) as running:
        yield running


@pytest.fixture
def stopped(hub: Hub) -> Iterator[Callable[[str], tuple[Told, Callable[[], None]]]]:
    """Spawn for a user whose sbatch meets a slurmctld that has stopped: what is told, and what lets it go on."""
    pid = int((hub.cluster.home / "state/slurmctld.pid").read_text())

    def spawn(user: str) -> tuple[Told, Callable[[], None]]:
        hub.waits.touch()
        asked = hub.homes / user / "asked"
        with ThreadPoolExecutor(1) as beside:
            told = beside.submit(hub.spawn, user, "one")
            hub.until("sbatch to be there", asked.exists)
            os.kill(pid, signal.SIGSTOP)
            hub.waits.unlink()
            asked.unlink()
            return told.result(60), lambda: os.kill(pid, signal.SIGCONT)

    yield spawn
    hub.waits.unlink(missing_ok=True)
    os.kill(pid, signal.SIGCONT)
    hub.cluster.run("scancel", "--name=jupyter")


def jobs(hub: Hub, user: str, *states: str) -> list[str]:
    """All of this user's that slurmctld knows, in these states or any."""
    return hub.cluster.ask("squeue", "-h", "-u", user, "-t", ",".join(states) or "all", "-o", "%i").split()


def test_a_job_that_comes_after_sbatch_was_given_up_is_cancelled(
    hub: Hub, stopped: Callable[[str], tuple[Told, Callable[[], None]]]
) -> None:
    before = jobs(hub, "games")
    told, go_on = stopped("games")
    assert told.status in (201, 202, 503), told
    hub.until("the start to be given up", lambda: not hub.server("games").get("pending"))
    go_on()
    hub.until("slurmctld to take it", lambda: len(jobs(hub, "games")) > len(before))
    hub.until("its job to be cancelled", lambda: not jobs(hub, "games", "PD", "R", "CG"), 30)
    assert "came after sbatch had been given up: cancelled" in hub.said()
    assert hub.spawn("games", "one").status in (201, 202)
    hub.until("the next server", lambda: hub.ready("games"))
    hub.end("games")


def test_the_next_hub_cancels_what_the_last_one_lost(
    hub: Hub, stopped: Callable[[str], tuple[Told, Callable[[], None]]]
) -> None:
    before = jobs(hub, "news")
    _, go_on = stopped("news")
    hub.until("the start to be given up", lambda: not hub.server("news").get("pending"))
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
