"""Side by side on one cluster: adminkit's spawner, stock batchspawner and jupyterhub-moss; and how long refusals take.

Prints the table of docs/jupyter.md.
"""

from __future__ import annotations

import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.web.hub import Hub, hub_on
from tests.web.rivals import START_TIMEOUT, Rival, Session, rivals

pytestmark = pytest.mark.soak

GPUS = 8
REFUSALS = 300
FORMS = 200
WHO = ("games", "news", "www-data")
#: The profiles of hub.py, as batchspawner and moss are asked for them.
ASKED: dict[str, dict[str, Any]] = {
    "one": {"gpus": 1, "cpus": 1, "mem": "1G", "time": "00:10:00"},
    "two": {"gpus": 2, "cpus": 2, "mem": "1G", "time": "00:10:00"},
    "eight": {"gpus": 8, "cpus": 4, "mem": "2G", "time": "00:10:00"},
    "nine": {"gpus": 9, "cpus": 1, "mem": "1G", "time": "00:10:00"},
}
#: Name -> GPUs that somebody has; None: the node is drained.
STATES = {"free": 0, "half full": 4, "one left": 7, "full": 8, "drained": None}


@pytest.fixture(scope="module")
def hub(hub_cluster: Cluster) -> Iterator[Hub]:
    with hub_on(hub_cluster, patience=60.0) as running:
        yield running


@contextmanager
def state(cluster: Cluster, gpus: int | None) -> Iterator[None]:
    node = cluster.ask("sinfo", "-h", "-o", "%n").split()[0]
    job = 0
    if gpus is None:
        cluster.ask("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    elif gpus:
        job = cluster.submit("sleep 3000", "-p", "gq", f"--gpus={gpus}", "-t", "50", user="backup")
        cluster.wait(job, "RUNNING")
    try:
        yield
    finally:
        if gpus is None:
            cluster.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
        if job:
            cluster.run("scancel", str(job))
            cluster.wait(job)


def starts(cluster: Cluster, key: str) -> bool:
    """Whether Slurm starts it within ten seconds: a real submission."""
    one = ASKED[key]
    words = ("-p", "gq", f"--gpus={one['gpus']}", "-c", str(one["cpus"]), f"--mem={one['mem']}", "-t", "10")
    done = cluster.run("sbatch", "--parsable", *words, "-o", "/dev/null", "--wrap", "sleep 60", user="games")
    if done.code:
        return False
    job, begun = done.text.strip(), time.monotonic()
    try:
        while time.monotonic() - begun < 10:
            if cluster.ask("squeue", "-h", "-j", job, "-o", "%T").strip() == "RUNNING":
                return True
            time.sleep(0.2)
        return False
    finally:
        cluster.run("scancel", job)
        cluster.wait(int(job))


def offered_by(rival: Rival) -> dict[str, bool]:
    """Stock batchspawner starts whatever is asked for. moss's form lets choose up to the maxima of the queue."""
    if rival.name == "batchspawner":
        return dict.fromkeys(ASKED, True)
    page = Session(rival, "games").page("/hub/spawn")
    found = {word: int(re.findall(rf'"{word}": ?(\d+)', page)[0]) for word in ("max_ngpus", "max_nprocs")}
    return {key: a["gpus"] <= found["max_ngpus"] and a["cpus"] <= found["max_nprocs"] for key, a in ASKED.items()}


def control(ours: Hub, others: Sequence[Rival]) -> None:
    """What can start, does so with each of them."""
    for one in others:
        came, seconds = one.try_start("games", ASKED["one"])
        assert came, one.said(3000)
        print(f"{one.name}: a start that is possible took {seconds:.1f} s")
        one.end("games")
        one.until("no job", lambda: not ours.cluster.ask("squeue", "-h", "-u", "games"))
    begun = time.monotonic()
    assert ours.spawn("games", "one").status in (201, 202)
    ours.until("it to be ready", lambda: ours.ready("games"))
    print(f"adminkit: a start that is possible took {time.monotonic() - begun:.1f} s")
    ours.end("games")
    ours.until("no job", lambda: not ours.cluster.ask("squeue", "-h", "-u", "games"))


def test_side_by_side(hub: Hub) -> None:
    known: dict[str, list[float]] = defaultdict(list)
    wrong: dict[str, list[str]] = defaultdict(list)
    unneeded: dict[str, list[str]] = defaultdict(list)
    offers, unknown = 0, set()
    with rivals(hub) as others, ThreadPoolExecutor(6) as at_once:
        print()
        control(hub, others)
        session = Session(hub, "games")
        for name, gpus in STATES.items():
            with state(hub.cluster, gpus):
                truth = {key: starts(hub.cluster, key) for key in ASKED}
                time.sleep(12)  # a form is of ten seconds ago at most
                said = {"adminkit": session.offers(), **{one.name: offered_by(one) for one in others}}
                offers += len(truth)
                unknown |= {name} if session.problem else set()
                for who, offered in said.items():
                    wrong[who] += [f"{name}: {key}" for key in truth if offered[key] and not truth[key]]
                    unneeded[who] += [f"{name}: {key}" for key in truth if truth[key] and not offered[key]]
                impossible = [key for key, can in truth.items() if not can]
                for key in impossible:
                    told = hub.spawn("games", key)
                    assert told.status == 409, told
                    known["adminkit"].append(told.seconds)
                waits = []
                for one in others:
                    chosen = [key for key in impossible if said[one.name][key]]
                    for rank, key in enumerate(chosen):
                        user = (*WHO, "backup")[rank]
                        waits.append((one.name, at_once.submit(one.try_start, user, ASKED[key])))
                for who, wait in waits:
                    came, seconds = wait.result()
                    assert not came
                    known[who].append(seconds)
    print(f"\nstart_timeout {START_TIMEOUT} s; {offers} offers in {len(STATES)} states of one node of {GPUS} GPUs")
    print("| spawner | impossible requests tried | median until known | maximum | wrong offers | of 100 | held back |")
    for who, found in known.items():
        share, median = 100 * len(wrong[who]) / offers, statistics.median(found)
        print(
            f"| {who} | {len(found)} | {median:.{1 if median >= 1 else 2}f} s | {max(found):.1f} s"
            f" | {len(wrong[who])} | {share:.0f} | {len(unneeded[who])} |"
        )
    print(f"wrong: {dict(wrong)}; held back: {dict(unneeded)}; adminkit's form did not know: {unknown}")
    assert {one.partition(":")[0] for one in wrong["adminkit"]} <= unknown


def test_how_long_a_refusal_takes_beyond_slurmctlds_own_answer(hub: Hub) -> None:
    """The same request is tested beside each, as the same user."""
    words = ("-N1", "-n1", "-c1", "-p", "gq", "--gpus=1", "--mem=1G", "-t", "10", "--wrap", "true")
    beyond, all_of_it, slurms = [], [], []
    with state(hub.cluster, GPUS):
        for number in range(REFUSALS):
            user = WHO[number % len(WHO)]
            begun = time.monotonic()
            hub.cluster.run("sbatch", "--test-only", *words, user=user)
            slurm = time.monotonic() - begun
            told = hub.spawn(user, "one")
            assert told.status == 409, told
            slurms.append(slurm)
            all_of_it.append(told.seconds)
            beyond.append(told.seconds - slurm)
    for name, found in (("whole", all_of_it), ("slurmctld's own", slurms), ("beyond it", beyond)):
        ranked = sorted(found)
        p50, p99 = ranked[len(ranked) // 2], ranked[int(len(ranked) * 0.99)]
        print(f"\n{REFUSALS} refusals, {name}: p50 {p50:.2f} s, p99 {p99:.2f} s, max {ranked[-1]:.2f} s")


def rpcs(cluster: Cluster) -> dict[str, int]:
    """Message type -> how many slurmctld has had."""
    kinds = cluster.ask("sdiag").split("by message type")[1].split("by user")[0]
    return {name: int(count) for name, count in re.findall(r"(\w+)\s+\(\s*\d+\) count:(\d+)", kinds)}


def test_how_often_slurmctld_is_asked_for_two_hundred_open_forms(hub: Hub) -> None:
    sessions = [Session(hub, user) for user in WHO]
    before, begun = rpcs(hub.cluster), time.monotonic()
    asked = 0

    def form(number: int) -> int:
        many = 0
        time.sleep(number * 10 / FORMS)
        while time.monotonic() - begun < 60:
            at = time.monotonic()
            assert sessions[number % len(sessions)].offers()
            many += 1
            time.sleep(max(0.0, 10 - (time.monotonic() - at)))
        return many

    with ThreadPoolExecutor(FORMS) as at_once:
        asked = sum(at_once.map(form, range(FORMS)))
    minutes = (time.monotonic() - begun) / 60
    more = {name: count - before.get(name, 0) for name, count in rpcs(hub.cluster).items()}
    ours = {name: count for name, count in more.items() if count and "INFO" in name}
    print(f"\n{FORMS} open forms asked {asked / minutes:.0f} times a minute; slurmctld was asked")
    print(f"{sum(ours.values()) / minutes:.1f} times a minute: {ours} in {minutes:.2f} minutes")
    assert sum(ours.values()) < asked / 5
