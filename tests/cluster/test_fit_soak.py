"""`adminkit fit` against a real slurmctld by the thousand: what can start, when, and what is offered."""

from __future__ import annotations

import random
import time
from collections import Counter
from statistics import NormalDist

import pytest

from adminkit.fit import ask
from adminkit.fit.request import Request, request
from adminkit.slurm.will_run import user_of
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.processes import until
from tests.cluster.harness.requests import (
    USER,
    compare,
    form,
    happened,
    printed,
    started_of,
    vectors,
)

pytestmark = pytest.mark.soak

#: Requests that are compared with node vectors alone.
MANY = 2000
#: … with all sources, each of which asks Slurm too, until so many have started; and at most.
STARTED, AT_MOST = 210, 2500
#: Jobs that have to wait whose start is compared, and jobs of the run with limits that are asked too long.
LATER, OVER_ASKED = 160, 120
#: Jobs that may wait at once, and seconds by which a start may be away.
QUEUE, CLOSE = 6, 60
#: GPUs of a user in the QOS `capped`.
CAP = 4


def interval(right: int, of: int) -> str:
    """Wilson's interval of a share, of 95 %."""
    z, share = NormalDist().inv_cdf(0.975), right / of
    middle, reach = share + z * z / (2 * of), z * ((share * (1 - share) + z * z / (4 * of)) / of) ** 0.5
    low, high = (middle - reach) / (1 + z * z / of), (middle + reach) / (1 + z * z / of)
    return f"{right} of {of} ({share:.1%}, 95 % interval {low:.1%} to {min(1.0, high):.1%})"


def test_two_thousand_random_requests_do_what_node_vectors_say(empty: Cluster) -> None:
    assert printed(compare(empty, 21, MANY)) >= 0.99


def test_what_would_start_is_offered(empty: Cluster) -> None:
    """By all sources; what is offered is what may be chosen in the form."""
    seen = compare(empty, 23, AT_MOST, form, STARTED)
    started = started_of(seen)
    offered = sum(many for (said, did), many in seen.items() if did == "now" and said in ("now", "room"))
    wrong = sum(many for (said, did), many in seen.items() if did != "now" and said in ("now", "room"))
    print(f"offered: {interval(offered, started)} that started, {wrong} that did not: {dict(seen)}")
    assert started >= 200 and offered >= 0.98 * started


def wide_request(luck: random.Random, minutes: int, qos: str | None = None) -> Request:
    nodes, gpus = luck.choice((1, 1, 1, 2, 3)), luck.choice((2, 3, 4, 6, 8))
    return request(nodes=str(nodes), gpus_per_node=str(gpus), time=str(minutes), qos=qos)


def short_queue(cluster: Cluster) -> None:
    until(
        "the queue to be short", lambda: len(cluster.ask("squeue", "-h", "-t", "PD", "-o", "%i").split()) < QUEUE, 600.0
    )


def starts(cluster: Cluster, jobs: list[str]) -> dict[str, int]:
    """When each started, once all have ended."""
    until("all jobs to have started", lambda: not cluster.ask("squeue", "-h", "-t", "PD"), 1200.0, pause=2.0)
    words = ("sacct", "-n", "-X", "-P", "-S", "now-4hours", "-u", USER, "-o", "JobID,Start")

    def found() -> dict[str, int] | None:
        lines = cluster.run(*words, env={"SLURM_TIME_FORMAT": "%s"}).text.split()
        known = {job: int(at) for job, _, at in (line.partition("|") for line in lines) if at.isdigit()}
        return known if set(jobs) <= set(known) else None

    return until("slurmdbd to have all starts", found, 60.0, pause=2.0)


def test_later_is_when_it_starts_where_jobs_end_at_their_limits(empty_wide: Cluster) -> None:
    """Node vectors with the waiting jobs, against when each job then started."""
    luck, asked, later = random.Random(22), [], 0
    while later < LATER:
        short_queue(empty_wide)
        minutes = luck.choice((1, 2, 2, 3))
        one = wide_request(luck, minutes)
        said = vectors(one)
        words = ("--parsable", "-o", "/dev/null", *one.words(), "--wrap", f"sleep {minutes * 60 - 3}")
        asked.append((said, empty_wide.ask("sbatch", *words, user=USER)))
        later += said.word == "later" and said.at is not None
        time.sleep(2)  # until the scheduler has looked at it
    known = starts(empty_wide, [job for _, job in asked])
    errors = [known[job] - said.at for said, job in asked if said.word == "later" and said.at is not None]
    close = sum(abs(error) <= CLOSE for error in errors)
    print(f"later: {interval(close, len(errors))} within {CLOSE} s of the time; errors {sorted(errors)}")
    assert close >= 0.9 * len(errors)


def test_shares_where_limits_are_asked_too_long_and_a_qos_caps(empty_wide: Cluster) -> None:
    """Jobs run a quarter of their limit or less, up to six wait, and every third is of a QOS that gives four GPUs."""
    luck, asked = random.Random(24), []
    seen: dict[str, Counter[tuple[str, str]]] = {"node vectors": Counter(), "all sources": Counter()}
    for number in range(OVER_ASKED):
        short_queue(empty_wide)
        one = wide_request(luck, luck.choice((5, 10, 30)), "capped" if number % 3 == 0 else None)
        ask.forget()
        whole = ask.answer(one, user_of(USER), instead=False).start
        nodes = vectors(one)
        did, job = happened(empty_wide, one, luck.randrange(20, 75))
        if one.qos and (one.nodes or 1) * one.gpus > CAP:
            did = "never"  # 22.05 takes it and lets it wait for ever
        seen["node vectors"][nodes.word, did] += 1
        seen["all sources"][whole.verdict, did] += 1
        if job is not None and did == "never":
            empty_wide.run("scancel", str(job))
        elif job is not None:
            asked.append((nodes, whole, str(job)))
    known = starts(empty_wide, [job for _, _, job in asked])
    for name, pairs in seen.items():
        right = sum(many for (said, did), many in pairs.items() if said == did)
        print(f"over-asked, {name}: {interval(right, pairs.total())} right: {dict(pairs)}")
    named = [
        ("node vectors", [known[job] - one.at for one, _, job in asked if one.word == "later" and one.at is not None]),
        (
            "all sources",
            [known[job] - one.at for _, one, job in asked if one.verdict == "later" and one.at is not None],
        ),
    ]
    for name, errors in named:
        close, early = sum(abs(error) <= CLOSE for error in errors), sum(error < -CLOSE for error in errors)
        print(f"over-asked, {name}, later: {interval(close, len(errors))} within {CLOSE} s, {early} started earlier")
    wrong = sum(many for (said, did), many in seen["all sources"].items() if said == "now" and did != "now")
    assert wrong <= 0.02 * OVER_ASKED
