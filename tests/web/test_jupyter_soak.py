"""A real hub under load: spawns beside other people's jobs, the last GPU again and again, a slurmctld that hangs.

ADMINKIT_SPAWNS is how many spawns are tried under load.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.web.hub import Hub, hub_on

pytestmark = pytest.mark.soak

SPAWNS = int(os.environ.get("ADMINKIT_SPAWNS", "500"))
GPUS = 8
SPAWNERS = ("games", "news", "www-data")


@pytest.fixture(scope="module")
def hub(hub_cluster: Cluster) -> Iterator[Hub]:
    with hub_on(hub_cluster, patience=60.0) as running:
        yield running


def gone(hub: Hub, user: str) -> None:
    if hub.server(user):
        hub.end(user)
    hub.until("the job to be gone", lambda: not hub.cluster.ask("squeue", "-h", "-u", user, "-t", "PD,R,CG"))


def test_of_two_users_one_gets_the_last_gpu_twenty_times(hub: Hub) -> None:
    job = hub.cluster.submit("sleep 3600", "-p", "gq", f"--gpus={GPUS - 1}", "-t", "60", user="backup")
    hub.cluster.wait(job, "RUNNING")
    told_after = []
    with ThreadPoolExecutor(2) as at_once:
        for _ in range(20):
            both = dict(zip(SPAWNERS, at_once.map(lambda user: hub.spawn(user, "one"), SPAWNERS[:2]), strict=False))
            (winner,) = (user for user, told in both.items() if told.status in (201, 202))
            (loser,) = (told for told in both.values() if told.status == 409)
            told_after.append(loser.seconds)
            hub.until("the winner's server", lambda user=winner: hub.ready(user))
            gone(hub, winner)
    hub.cluster.run("scancel", str(job))
    hub.cluster.wait(job)
    print(f"\nthe other was told after {statistics.median(told_after):.2f} s (median), {max(told_after):.2f} s at most")


def test_no_spawn_that_was_let_in_fails_for_lack_of_room(hub: Hub) -> None:
    """Beside jobs of random sizes that somebody submits past the hub, and that end long before their limits."""
    ended = threading.Event()
    draw = random.Random(20)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []

    def others() -> None:
        while not ended.wait(draw.uniform(2.0, 8.0)):
            words = ["-p", "gq", f"--gpus={draw.randint(1, 4)}", "-t", str(draw.choice((1, 5, 30))), "-o", "/dev/null"]
            hub.cluster.run("sbatch", *words, "--wrap", f"sleep {draw.randint(2, 12)}", user="backup")

    def spawns(user: str) -> None:
        mine = random.Random(user)
        for _ in range(SPAWNS // len(SPAWNERS)):
            told = hub.spawn(user, mine.choice(("one", "one", "two", "eight")))
            if told.status == 409 and "It cannot start now" in told.message:
                outcomes["refused"] += 1
                continue
            started = time.monotonic()
            while not hub.ready(user) and hub.server(user).get("pending") and time.monotonic() - started < 90:
                time.sleep(0.2)
            if hub.ready(user):
                outcomes["started"] += 1
            else:
                outcomes["failed"] += 1
                wrong.append(f"{told.status} {told.message}")
            gone(hub, user)

    load = threading.Thread(target=others)
    load.start()
    try:
        with ThreadPoolExecutor(len(SPAWNERS)) as at_once:
            list(at_once.map(spawns, SPAWNERS))
    finally:
        ended.set()
        load.join()
        hub.cluster.run("scancel", "-u", "backup")
    print(f"\n{SPAWNS} spawns: {dict(outcomes)}")
    assert not wrong
    assert outcomes["started"] > SPAWNS / 10, "the load left no room, so nothing was shown"


def test_other_pages_answer_while_slurmctld_hangs(hub: Hub) -> None:
    """For a minute; forms and clicks go on meanwhile."""

    def page() -> float:
        started = time.monotonic()
        with hub.open("/hub/login") as answer:
            answer.read()
        return time.monotonic() - started

    def p99(seconds: float) -> float:
        taken, begun = [], time.monotonic()
        while time.monotonic() - begun < seconds:
            taken.append(page())
            time.sleep(0.02)
        return sorted(taken)[int(len(taken) * 0.99)]

    usual = p99(10)
    pid = int((hub.cluster.home / "state/slurmctld.pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(3) as at_once:
            clicks = [at_once.submit(hub.spawn, user, "one") for user in SPAWNERS]
            hanging = p99(60)
            told = [click.result() for click in clicks]
    finally:
        os.kill(pid, signal.SIGCONT)
    print(f"\n/hub/login at p99: {1000 * usual:.0f} ms, {1000 * hanging:.0f} ms while slurmctld hung for 60 s")
    print(f"clicks were told after {', '.join(f'{one.seconds:.1f}' for one in told)} s")
    assert {one.status for one in told} == {503}
    hub.until("it to start servers again", lambda: hub.spawn("games", "one").status in (201, 202, 400))
    gone(hub, "games")
