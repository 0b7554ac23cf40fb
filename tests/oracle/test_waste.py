"""`report waste`, computed once more from its page: minute by minute, node by node."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adminkit.config import Config
from adminkit.job import Job
from adminkit.reports import waste
from adminkit.reports.spec import Query
from adminkit.stats.select import Filter
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.hours import add_nodes

MINUTE = 60
LENGTH = 300  # minutes
NODES = {"n1": (8, 16), "n2": (8, 16), "n3": (4, 32), "n4": (0, 16)}
COLUMNS = "queue, limit_kind, time_limit, elapsed, start_time, end_time, gpus, cpus, nodes"


def rows_of(path: Path, cluster: str, now: int) -> dict[tuple[str | None, str], dict[str, Any]]:
    query = Query(Filter((cluster,), states=(), min_elapsed=-1, checkpoint_code=85), now, str(path), Config())
    with reader(path) as db:
        report = waste.SPEC.view(waste.SPEC.measure(db, query), query)
    return {(row["queue"], row["kind"]): row for row in report.records()}


@pytest.mark.parametrize("name", ["lookalike"])
def test_limits_are_what_the_page_says(
    traces: Callable[[str], Path], jobs_in: Callable[[Path, str], Any], name: str
) -> None:
    path = traces(name)
    found = rows_of(path, "aaic-demo", 4_000_000_000)
    wanted = jobs_in(path, COLUMNS).execute(
        """SELECT queue, count(*), sum((time_limit - elapsed) * gpus), sum((time_limit - elapsed) * cpus),
            sum((time_limit - elapsed) * nodes) FROM job WHERE time_limit > elapsed GROUP BY 1"""
    )
    for queue, jobs, *seconds in wanted.fetchall():
        row = found[queue, "limits"]
        assert row["jobs"] == jobs
        assert [row[one] for one in ("gpu_hours", "cpu_hours", "node_hours")] == pytest.approx(
            [one / 3600 for one in seconds]
        )


def some_runs(rng: random.Random) -> list[Job]:
    """Runs of whole minutes on nodes that are crowded at times."""
    found = []
    for number in range(1, 141):
        start, length = rng.randrange(LENGTH - 1), rng.choice((1, 5, 20, 60))
        host = rng.choice((*NODES, "n[1-2]"))
        many = 2 if "[" in host else 1
        at = MONDAY + start * MINUTE
        found.append(
            job(
                number, start_time=at, end_time=at + length * MINUTE,
                eligible_time=at - rng.choice((0, 5, 20, 90)) * MINUTE, node_list=host,
                elapsed=length * MINUTE, time_limit=rng.choice((length, 30, 120)) * MINUTE, nodes=many,
                gpus=0 if host == "n4" else many * rng.choice((1, 2, 4)), cpus=many * rng.choice((1, 4, 12)),
            )
        )  # fmt: skip
    return found


class Machine:
    """What is free on each node in each minute, and what was put there besides."""

    def __init__(self, jobs: list[Job]) -> None:
        self.end = max(one.end_time or 0 for one in jobs)
        minutes = (self.end - MONDAY) // MINUTE
        first = min(self.minute(one.start_time) for one in jobs)  # where the window begins
        self.free = {node: [list(has if n >= first else (0, 0)) for n in range(minutes)] for node, has in NODES.items()}
        self.put: list[tuple[str, int, int, int, int]] = []
        for one in jobs:
            on = ["n1", "n2"] if one.nodes == 2 else [str(one.node_list)]
            for node in on:
                for minute in range(self.minute(one.start_time), self.minute(one.end_time)):
                    self.free[node][minute][0] -= (one.gpus or 0) // len(on)
                    self.free[node][minute][1] -= (one.cpus or 0) // len(on)

    @staticmethod
    def minute(at: Any) -> int:
        return int(at - MONDAY) // MINUTE

    def stretches(self, node: str, which: int, size: int) -> list[tuple[int, int]]:
        found, begin = [], None
        for minute, free in enumerate([*self.free[node], None]):
            is_open = free is not None and free[which] >= size
            if is_open and begin is None:
                begin = minute
            if not is_open and begin is not None:
                found.append((begin, minute))
                begin = None
        return found

    def fits(self, node: str, begin: int, end: int, gpus: int, cpus: int) -> bool:
        beside = [one for one in self.put if one[0] == node and one[1] < end and one[2] > begin]
        return all(
            (not gpus or max(free[0], 0) - sum(one[3] for one in beside) >= gpus)
            and max(free[1], 0) - sum(one[4] for one in beside) >= cpus
            for free in self.free[node][begin:end]
        )


def filled(jobs: list[Job], machine: Machine) -> tuple[int, int, int]:
    """Jobs that the gaps would have taken, with their GPU- and CPU-minutes."""
    total = [0, 0, 0]
    for one in sorted(jobs, key=lambda one: (one.eligible_time, one.job_id_raw)):
        eligible, start = machine.minute(one.eligible_time), machine.minute(one.start_time)
        ran, limit = int(one.elapsed or 0) // MINUTE, int(one.time_limit or 0) // MINUTE
        if start - eligible < 1 or limit <= ran or one.nodes != 1:
            continue
        gpus, cpus = one.gpus or 0, one.cpus or 0
        size = next(2**n for n in range(20) if 2**n >= (gpus or cpus))
        gaps = sorted(
            (end, list(NODES).index(node), begin, node)
            for node in NODES
            for begin, end in machine.stretches(node, 0 if gpus else 1, size)
        )
        for end, _, begin, node in gaps:
            on_node = [o for o in jobs if machine.minute(o.start_time) == end and node in hosts(o)]
            kept = min((machine.minute(o.eligible_time) for o in on_node), default=10**6)
            first = max(begin, eligible)
            good = first < start and end != start and ran <= end - first < limit and kept <= first
            if good and machine.fits(node, first, first + ran, gpus, cpus):
                machine.put.append((node, first, first + ran, gpus, cpus))
                total = [total[0] + 1, total[1] + gpus * ran, total[2] + cpus * ran]
                break
    return total[0], total[1], total[2]


def hosts(one: Job) -> list[str]:
    return ["n1", "n2"] if one.nodes == 2 else [str(one.node_list)]


@pytest.mark.parametrize("seed", range(6))
def test_shapes_and_gaps_are_what_the_page_says(tmp_path: Path, seed: int) -> None:
    jobs = some_runs(random.Random(seed))
    path = add_nodes(
        make_trace(tmp_path / "t.db", jobs),
        [(node, MONDAY - 9 * HOUR, 1, cpus, gpus, "gq") for node, (gpus, cpus) in NODES.items()],
    )
    with closing(sqlite3.connect(path)) as db:
        first = db.execute("SELECT min(start_time) FROM job").fetchone()[0]
    found, machine = rows_of(path, "aaic", MONDAY + 99 * HOUR), Machine(jobs)
    minutes = [
        (free, NODES[node][0])
        for node in NODES
        for n, free in enumerate(machine.free[node])
        if n >= machine.minute(first)
    ]
    gpus = sum(free[0] for free, _ in minutes if free[0] >= 1 and free[1] < 1)
    cpus = sum(free[1] for free, has in minutes if has and free[0] < 1 and free[1] >= 1)
    assert found["(all)", "gpus_without_cpus"]["gpu_hours"] == pytest.approx(gpus / 60)
    assert found["(all)", "cpus_without_gpus"]["cpu_hours"] == pytest.approx(cpus / 60)
    row = found["(all)", "gaps"]
    wanted = filled(jobs, machine)
    assert (row["jobs"], row["gpu_hours"] * 60, row["cpu_hours"] * 60) == pytest.approx(wanted)
    assert wanted[0] > 0
