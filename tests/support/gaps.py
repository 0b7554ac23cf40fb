"""Traces of nodes that have room nobody uses: the study's Figure 4, and nodes stranded by shape."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from adminkit.job import Job
from tests.support.builders import HOUR, MONDAY, job, make_trace
from tests.support.hours import add_nodes

MINUTE: Final = 60
NODES: Final = tuple((f"n{n}", MONDAY, 1, 40, 8, "gq") for n in (1, 2, 3, 4))


def ran(number: int, hosts: str, eligible: int, start: int, minutes: int, **changes: Any) -> Job:
    """A run of whole nodes; times in minutes from Monday on."""
    many = changes.get("nodes", 1)
    given = {
        "submit_time": MONDAY + eligible * MINUTE, "eligible_time": MONDAY + eligible * MINUTE,
        "start_time": MONDAY + start * MINUTE, "end_time": MONDAY + (start + minutes) * MINUTE,
        "elapsed": minutes * MINUTE, "time_limit": HOUR, "node_list": hosts or None, "gpus": 8 * many,
        "cpus": 40 * many,
    }  # fmt: skip
    return job(number, **{**given, **changes})


def figure_4(**changes: Any) -> list[Job]:
    """A runs on n1 for 30 minutes, B waits for all four nodes, H asks 60 minutes and needs 20, and runs after B."""
    return [
        ran(1, "n1", 0, 0, 30),
        ran(2, "n[1-4]", 0, 30, 60, nodes=4, user="bob"),
        ran(3, "n2", 2, 90, 20, **{"user": "eve", **changes}),
    ]


def some_waste(path: Path) -> Path:
    """Figure 4; then GPUs without CPUs, without memory, CPUs without GPUs; a queue without nodes."""
    jobs = [
        *figure_4(),
        ran(4, "n3", 120, 120, 30, gpus=2),
        ran(5, "n4", 120, 120, 60, gpus=8, cpus=10),
        ran(6, "n2", 120, 120, 40, gpus=3, cpus=3, mem=2**36),
        ran(7, "", 120, 120, 15, gpus=None, queue="debug", time_limit=None, limit_kind="unlimited"),
        ran(8, "", 120, 120, 15, gpus=None, queue="debug"),
    ]
    add_nodes(make_trace(path, jobs), NODES, [("n1", MONDAY + 2 * HOUR, MONDAY + 3 * HOUR, "DOWN")])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE node SET mem = ?", (2**36,))
    return path
