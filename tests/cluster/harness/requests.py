"""Random requests, what `adminkit fit` says of them, and what slurmctld then does with the same."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from adminkit.fit import ask
from adminkit.fit.place import Said, board, by_vectors
from adminkit.fit.request import Request, request
from adminkit.slurm.room import room
from adminkit.slurm.will_run import user_of
from tests.cluster.harness.cluster import Cluster
from tests.cluster.harness.processes import until

USER, OTHER = "games", "news"
#: What slurmctld lets wait although it never starts: 26.05 also what no node is large enough for.
_NEVER: Final = ("BadConstraints", "PartitionConfig", "PartitionNodeLimit")


def emptied(cluster: Cluster) -> None:
    """Without jobs; nothing that was asked before counts."""
    cluster.run("scancel", "--user", USER)
    cluster.run("scancel", "--user", OTHER)
    until("no jobs to be left", lambda: not cluster.ask("squeue", "-h", "-a"), 60.0)
    ask.forget()


def idle(cluster: Cluster) -> None:
    """Without jobs, and every node is idle. Trap: after a restart of slurmctld they are UNKNOWN until they register."""
    until("the queues to be empty", lambda: not cluster.ask("squeue", "-h", "-a"), 90.0)

    def states() -> set[str]:
        return set(cluster.ask("sinfo", "-h", "-N", "-o", "%T").split())

    until("every node to be idle", lambda: states() == {"idle"}, 90.0)
    ask.forget()


def vectors(one: Request) -> Said:
    """What node vectors alone say, with the jobs that wait."""
    return by_vectors(board(room(int(time.time()))), one)


def by_nodes(one: Request) -> str:
    return vectors(one).word


def form(one: Request) -> str:
    """What all sources say, as `fit` and the hub's form do."""
    ask.forget()
    return ask.answer(one, user_of(USER), instead=False).start.verdict


def drawn(luck: random.Random) -> Request:
    """Half of them on one node, the others on several, in each of sbatch's ways to say so."""
    size: dict[str, Any] = {"queue": luck.choice((None, "gq-short")), "time": str(luck.choice((10, 60, 90)))}
    size["features"] = luck.choice((*(None,) * 9, "odd", "odd|even", "odd&first"))
    size["exclusive"] = luck.random() < 0.05
    if luck.random() < 0.5:
        return request(
            gpus=str(luck.choice((1, 1, 2, 3, 4, 6, 8, 9))), cpus=luck.choice((1, 2, 4, 8, 9)),
            mem=luck.choice((None, "4G", "30G", "60G", "70G")), **size,
        )  # fmt: skip
    size["gpus_per_node"] = luck.choice((None, "1", "2", "4", "8"))
    size |= {luck.choice(("mem", "mem_per_cpu")): luck.choice((None, "500M", "2G", "8G"))}
    size["cpus"] = luck.choice((1, 1, 2, 3, 4))
    way = luck.randrange(4)
    if way == 0:
        return request(nodes=str(luck.choice((2, 2, 3, 4))), **size)
    if way == 1:
        return request(nodes=str(luck.choice((1, 2, 3))), ntasks_per_node=luck.choice((2, 3, 4, 9)), **size)
    if way == 2:
        return request(ntasks=luck.choice((2, 3, 5, 8, 12, 24, 25)), **size)
    nodes = luck.choice((2, 3))
    return request(nodes=str(nodes), ntasks=nodes + luck.randrange(12), **size)


def compare(
    cluster: Cluster, seed: int, many: int, asked: Callable[[Request], str] = by_nodes, started: int | None = None
) -> Counter[tuple[str, str]]:
    """(what `asked` says, what Slurm then did) of random requests on a cluster that only this test submits to; of
    `many`, or until so many have started.

    A few jobs at a time end early, at random, so that the cluster is sometimes full and sometimes not.
    """
    luck = random.Random(seed)
    seen: Counter[tuple[str, str]] = Counter()
    running: list[int] = []
    while seen.total() < many and (started is None or started_of(seen) < started):
        one = drawn(luck)
        said = asked(one)
        did, job = happened(cluster, one)
        seen[said, did] += 1
        if said != did:
            print(f"{one.line()}: said {said}, did {did}")
        if job is not None and did == "now":
            running.append(job)
        elif job is not None:
            cluster.run("scancel", str(job))
        while running and luck.random() < len(running) / 40:
            gone = running.pop(luck.randrange(len(running)))
            cluster.ask("scancel", str(gone))
            cluster.wait(gone)
            until(f"job {gone} to have left", lambda: not completing(cluster), 30.0)
    return seen


def started_of(seen: Counter[tuple[str, str]]) -> int:
    return sum(many for (_, did), many in seen.items() if did == "now")


def completing(cluster: Cluster) -> bool:
    return bool(cluster.ask("squeue", "-h", "-a", "-t", "CG"))


def happened(cluster: Cluster, one: Request, seconds: int = 900) -> tuple[str, int | None]:
    """What slurmctld does with it: refused, it runs, or it says why it waits."""
    done = cluster.run("sbatch", "--parsable", "-o", "/dev/null", *one.words(), "--wrap", f"sleep {seconds}", user=USER)
    if done.code:
        return "never", None
    job = int(done.text.partition(";")[0])
    return settled(cluster, job), job


def settled(cluster: Cluster, job: int) -> str:
    """now once it runs; else what its reason for waiting means."""

    def found() -> str | None:
        state, reason = cluster.ask("squeue", "-h", "-j", str(job), "-o", "%T|%r").split("|")
        if state in ("RUNNING", "COMPLETING", "COMPLETED"):
            return "now"
        if reason in _NEVER:
            return "never"
        held = reason in ("Resources", "Priority", "Licenses") or reason.startswith(("QOS", "Assoc"))
        return "later" if held else None

    said: str = until(f"job {job} to run or to wait for a reason", found, 30.0)
    return said


def outcome(said: str, did: str) -> str:
    """right or wrong; unknown where nothing was said. 26.05 takes a job for more GPUs than a node has, and lets it wait
    for ever."""
    if said == "unknown":
        return said
    return "right" if said == did or (said, did) == ("never", "later") else "wrong"


def outcomes(seen: Counter[tuple[str, str]]) -> Counter[str]:
    """How many are right, unknown and wrong: each request is one of them."""
    found = Counter(right=0, unknown=0, wrong=0)
    for (said, did), many in seen.items():
        found[outcome(said, did)] += many
    return found


def wrong(seen: Counter[tuple[str, str]]) -> int:
    return outcomes(seen)["wrong"]


def printed(seen: Counter[tuple[str, str]]) -> float:
    """The share that was right; what is not known is not."""
    found = outcomes(seen)
    share = found["right"] / found.total()
    print(f"node vectors against {found.total()} real submissions: {dict(found)}, {share:.2%} right: {dict(seen)}")
    return share
