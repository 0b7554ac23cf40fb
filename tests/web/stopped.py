"""A spawn whose sbatch meets a slurmctld that has stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.web.hub import Hub, Told


@contextmanager
def spawn_stopped(hub: Hub, user: str) -> Iterator[tuple[Told, Callable[[], None]]]:
    """What is told, and what lets slurmctld go on; it does so at the end."""
    pid = int((hub.cluster.home / "state/slurmctld.pid").read_text())
    hub.waits.touch()
    asked = hub.homes / user / "asked"
    try:
        with ThreadPoolExecutor(1) as beside:
            spawned = beside.submit(hub.spawn, user, "one")
            hub.until("sbatch to be there", asked.exists)
            os.kill(pid, signal.SIGSTOP)
            hub.waits.unlink()
            asked.unlink()
            told = spawned.result(60)
        hub.until("the start to be given up", lambda: not hub.server(user).get("pending"))
        yield told, lambda: os.kill(pid, signal.SIGCONT)
    finally:
        hub.waits.unlink(missing_ok=True)
        os.kill(pid, signal.SIGCONT)
        hub.cluster.run("scancel", "--name=jupyter")


def jobs(hub: Hub, user: str, *states: str) -> list[str]:
    """All of this user's that slurmctld knows, in these states or any."""
    return hub.cluster.ask("squeue", "-h", "-u", user, "-t", ",".join(states) or "all", "-o", "%i").split()


def comes_and_is_cancelled(hub: Hub, user: str) -> None:
    """The job of a submission that was given up."""
    before = jobs(hub, user)
    with spawn_stopped(hub, user) as (told, go_on):
        assert told.status in (201, 202, 503), told
        go_on()
        hub.until("slurmctld to take it", lambda: len(jobs(hub, user)) > len(before))
        hub.until("its job to be cancelled", lambda: not jobs(hub, user, "PD", "R", "CG"), 30)
    assert "came after sbatch had been given up: cancelled" in hub.said()
