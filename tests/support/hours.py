"""Traces for reports of calendar time: submissions, runs and the nodes that they ran on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from adminkit.job import Job
from tests.support.builders import HOUR, MONDAY, job, make_trace


def add_nodes(
    path: Path, nodes: Iterable[tuple[Any, ...]] = (), events: Iterable[tuple[Any, ...]] = (), cluster: str = "aaic"
) -> Path:
    """The trace at `path` with nodes: name, since, present, CPUs, GPUs, queues; and events: node, start, end, state."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT INTO node (cluster, node, since, present, cpus, gpus, queues) VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((cluster, *node) for node in nodes),
        )
        db.executemany(
            "INSERT INTO node_event (cluster, node, start_time, end_time, state) VALUES (?, ?, ?, ?, ?)",
            ((cluster, *event) for event in events),
        )
    return path


def some_arrivals() -> list[Job]:
    """Submissions of a Monday and a Tuesday: single jobs, an array, a het job, and a run that Slurm put back."""
    alone = (job(n, submit_time=MONDAY + (n * n * 400) % (30 * HOUR)) for n in range(1, 31))
    array = (job(n, submit_time=MONDAY + 9 * HOUR, array_job=40, array_task=n - 40) for n in range(40, 46))
    het = (job(n, submit_time=MONDAY + 9 * HOUR + 20, het_job=50, het_offset=n - 50) for n in (50, 51))
    put_back = (
        job(60, submit_time=MONDAY + at, state=state) for at, state in ((HOUR, "REQUEUED"), (HOUR + 300, "FAILED"))
    )
    return [*alone, *array, *het, *put_back, job(70, submit_time=MONDAY + 15 * HOUR, queue=None, user=None)]


def some_use(path: Path) -> Path:
    """Three days of two nodes: one is drained, in a maintenance reservation and down, a third comes on the last."""
    day = 24 * HOUR

    def ran(number: int, start: int, elapsed: int, **changes: Any) -> Job:
        return job(number, start_time=MONDAY + start, end_time=MONDAY + start + elapsed, elapsed=elapsed, **changes)

    jobs = [
        ran(1, HOUR, 20 * HOUR, gpus=8, cpus=64),
        ran(2, 20 * HOUR, 10 * HOUR, gpus=4, cpus=32),
        ran(3, 40 * HOUR, 30 * HOUR, gpus=None, cpus=8, nodes=None),
        job(4, state="CANCELLED", start_time=None, elapsed=0),
        job(5, start_time=MONDAY + 62 * HOUR, elapsed=None, state="RUNNING", seen_open=MONDAY + 70 * HOUR),
        job(6, start_time=MONDAY + 62 * HOUR, elapsed=None, state="RUNNING"),
        job(7, start_time=MONDAY + 30 * HOUR, end_time=MONDAY + 32 * HOUR, elapsed=-5),
    ]
    nodes = [
        *((f"n{n}", MONDAY, 1, 64, 8, "gq,debug") for n in (1, 2)),
        ("n3", MONDAY + 2 * day, 1, 64, 8, "gq"),
    ]
    events = [
        ("n2", MONDAY + 3 * HOUR, MONDAY + 7 * HOUR, "DRAIN"),
        ("n2", MONDAY + 30 * HOUR, MONDAY + 33 * HOUR, "DRAIN$"),
        ("n1", MONDAY + 60 * HOUR, None, "DOWN*"),
    ]
    return add_nodes(make_trace(path, jobs), nodes, events)
