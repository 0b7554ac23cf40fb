"""Two runs of a day on one cluster, with soft limits and without, while the guard runs by its period."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from tests.cluster.harness.processes import ClusterError
from tests.cluster.harness.ruled import Ruled
from tests.simulate_real.drive import Log, counts, limits_of, next_second, rows_of, submit_all, until_ended, words
from tests.soft_real.cluster import Planned
from tests.soft_real.runs import Row, Run
from tests.soft_real.workloads import Day

#: Seconds between two rounds of the guard; a lease lasts three.
PERIOD: Final = 15
#: Seconds between two looks at the head of the queue.
LOOK: Final = 10
#: As long as the script keeps what it read of a lease, and some more.
_HEARD: Final = 7


def drive(ruled: Ruled, day: Day, arm: str, head: Mapping[str, str]) -> Run:
    """One run of the day, by what is in place. ClusterError where it does not end, or where the guard fails."""
    cluster = ruled.cluster
    assert isinstance(cluster, Planned)
    said = {job.number: [*words(job), "-J", name] for job, name in zip(day.workload.jobs, day.names, strict=True)}
    with guarded(ruled) as rounds:
        time.sleep(_HEARD)
        cluster.ask("sdiag", "-r")
        began = next_second()
        with watched(ruled, int(began)) as promised:
            ids, late = submit_all(cluster, day.workload.jobs, began, lambda job: said[job.number])
            until_ended(cluster)
    told = cluster.ask("scontrol", "-o", "show", "jobs")
    rows = rows_of(told, ids, int(began), Log(cluster))
    limits = {ids[job].number: found for job, found in limits_of(told).items() if job in ids}
    first = {ids[job].number: at for job, at in promised.items() if job in ids}
    acts = [act["did"] for one in rounds for act in one["rows"]]
    more = {
        "latest submission": f"{late:.1f} s behind",
        "rounds of the guard": str(len(rounds)),
        "raised": str(acts.count("raised")),
        "cleared": str(acts.count("cleared")),
        **counts(cluster.ask("sdiag")),
    }
    whole = []
    for row in rows:
        limit, soft = limits[row.number]
        whole.append(Row(**asdict(row), limit=limit or 0, soft=soft, promised=first.get(row.number)))
    return Run({**head, "arm": arm, **more}, tuple(whole))


@contextmanager
def guarded(ruled: Ruled) -> Iterator[list[dict[str, Any]]]:
    """The guard as its timer runs it, from before the first submission to after the last end; what each round said."""
    rounds: list[dict[str, Any]] = []
    failed: list[BaseException] = []
    stop = threading.Event()
    once = ("soft-limits", "guard", "--apply", "--period", str(PERIOD), "--format", "json")

    def beat() -> None:
        while True:
            began = time.monotonic()
            try:
                rounds.append(json.loads(ruled.adminkit(*once).stdout))
            except BaseException as error:
                failed.append(error)
                return
            if stop.wait(max(0.0, began + PERIOD - time.monotonic())):
                return

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield rounds
    finally:
        stop.set()
        thread.join()
    if failed:
        raise ClusterError(f"the guard failed: {failed[0]}")


@contextmanager
def watched(ruled: Ruled, began: int) -> Iterator[dict[int, int]]:
    """The first start that Slurm planned for each job that was seen at the head of the queue: by Slurm's ids."""
    found: dict[int, int] = {}
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(LOOK):
            listed = ruled.cluster.run("squeue", "-h", "-t", "PD", "-o", "%A %Q %S", env={"SLURM_TIME_FORMAT": "%s"})
            lines = [line.split() for line in listed.text.splitlines()]
            if not lines:
                continue
            job, _, start = max(lines, key=lambda line: (int(line[1]), -int(line[0])))
            if start.isdigit():
                found.setdefault(int(job), int(start) - began)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()
