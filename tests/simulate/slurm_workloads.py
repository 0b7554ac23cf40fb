"""Random requests for the model `slurm`: small sites, short jobs, every setting of docs/simulate-slurm.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from hypothesis import strategies as some

from adminkit.simulate.core import NONE, Request

Fields = dict[str, int]

#: Few values, so that many things happen in the same second.
SETTINGS: Final[Mapping[str, Sequence[int]]] = {
    "release": (2605, 2505, 2411, 2311, 2205, 2205),
    "default_queue_depth": (100, 100, 100, 5, 2, 1, 0),
    "partition_job_depth": (0, 0, 0, 1, 2),
    "sched_interval": (60, 60, 30, 7, 2),
    "sched_min_interval": (2, 0, 1000000, 5000000),
    "batch_sched_delay": (3, 0, 1, 10),
    "backfill": (1,) * 9 + (0,),
    "bf_interval": (30, 5, 1),
    "bf_window": (86400, 86400, 3600, 3600, 300, 60),
    "bf_resolution": (60, 1, 7, 300),
    "bf_max_job_test": (500,) * 6 + (10, 5, 3, 2, 1),
    "bf_max_job_start": (0, 0, 0, 1, 2),
    "bf_max_job_user": (0, 0, 0, 1, 2),
    "bf_max_job_part": (0, 0, 0, 1, 3),
    "bf_max_job_array_resv": (20, 20, 2, 1, 0),
    "bf_max_time": (NONE, NONE, NONE, 60, 60, 10, 3, 1, 0),
    "bf_continue": (0, 1),
    "bf_min_prio_reserve": (0, 0, 0, 2, 100),
    "bf_min_age_reserve": (0, 0, 0, 1, 10, 100),
    "bf_job_part_count_reserve": (0, 0, 0, 1, 2),
    "bf_one_resv_per_job": (0, 1),
    "bf_window_linear": (0, 1, 60),
    "bf_yield_interval": (2000000, 300000, 1),
    "bf_yield_sleep": (500000, 1, 3000000),
    "time_min_as_soft_limit": (0, 1),
    "kill_wait": (30, 5, 0),
    "complete_wait": (0, 0, 0, 3, 30),
    "epilog": (0, 1, 10),
    "over_time_limit": (0, 20, 60),
    "tick": (30, 1),
    "priority_calc_period": (300, 20, 7),
    "priority_max_age": (604800, 100, 1),
    "priority_favor_small": (0, 1),
    "priority_weight_age": (0, 100, 100000),
    "priority_weight_job_size": (0, 7, 1000),
    "priority_weight_partition": (0, 3, 1000),
    "priority_weight_qos": (0, 5, 1000),
    "test_micros": (0, 1000, 400000, 1500000),
    "extend_every": (0, 0, 30, 7, 1),
    "extend_lead": (600, 120, 30),
    "extend_times": (8, 1, 2, 0),
}

QUEUE: Final[Mapping[str, Sequence[int]]] = {
    "tier": (1, 1, 2, 3),
    "factor": (1, 0, 2, 5),
    "max_limit": (NONE, NONE, 60, 300, 3600, 3600, 0),
    "default_limit": (NONE, 30, 600, 30, 600, 0),
    "min_nodes": (NONE, NONE, NONE, 0, 0, 2),
    "max_nodes": (NONE, NONE, NONE, 3, 2, 1),
    "whole": (0, 0, 0, 1),
    "up": (1,) * 11 + (0,),
}

NODES: Final[Mapping[str, Sequence[int]]] = {
    "count": (2, 1, 3, 4, 2, 3, 4, 0),
    "cpus": (4, 1, 2, 4, 4, 8),
    "mem": (4, 4, 4, 2, 0),
    "gpus": (4, 4, 2, 0),
    "gpu_type": (NONE, 0, 1),
    "features": (3, 3, 3, 1, 0),
    "queues": (15, 15, 15, 15, 1, 2, 3, 6),
    "weight": (1, 1, 2, 5),
}

QOS: Final[Mapping[str, Sequence[int]]] = {
    "priority": (0, 1, 10),
    "max_user_cpus": (NONE, NONE, 4, 8),
    "max_user_gpus": (NONE, NONE, 2),
    "max_user_jobs": (NONE, NONE, 1, 2, 0),
    "group_cpus": (NONE, NONE, 4, 12),
    "group_gpus": (NONE, NONE, 2, 0),
    "group_jobs": (NONE, NONE, 1, 3),
}

DOWN: Final[Mapping[str, Sequence[int]]] = {
    "nodes": (0, 1, 2),
    "count": (1, 2, 9, 0),
    "start": (0, 1, 10, 60, -5, -300),
    "end": (100, 11, 60, 301, 0, 1000, -4),
}

JOB: Final[Mapping[str, Sequence[int]]] = {
    "submit": (0, 0, 0, 1, 1, 2, 10, 10, 29, 30, 31, 60, 60, 100, 150, 400),
    "run": (60, 1, 2, 29, 30, 31, 61, 100, 200, 200, 300, 300, 500, 500, 900, 900, 900, 0),
    "limit": (60, 120, 300, 600, 600, 900, 1200, 3600, 3600, 7200, NONE, 90, 1, 90000, 0),
    "queues": (1, 1, 3, 5, 7, 6, 15, 15, 3, 7, 2, 0),
    "nodes": (1, 1, 1, 1, 1, 2, 2, 2, 3, 4, 0),
    "cpus": (1, 1, 2, 2, 3, 4, 4, 4, 5, 6, 8, 8, 12, 0),
}

#: What few jobs have.
RARE: Final[Mapping[str, Sequence[int]]] = {
    "id": (0, 1, 2, 3),
    "plan": (30, 60, 100, 300, 600, 1, 0),
    "priority": (1, 0, 2, 5, 100),
    "features": (1, 1, 2),
    "most_nodes": (2, 3, 4, 1),
    "mem": (1, 2, 3),
    "gpus": (1, 2, 3, 4),
    "gpu_type": (0, 1),
    "user": (0, 1),
    "array": (0, 1),
    "qos": (0, 0, 1),
    "nice": (1, -5, 1000),
    "site_factor": (1, 50, -3),
    "whole": (1,),
    "most_limit": (900, 300, 600, 1200, 7200, 0),
    "step": (300, 60, 90, 600, 1),
}
RARE_USUAL: Final[Mapping[str, int]] = dict.fromkeys(RARE, NONE) | dict.fromkeys(
    ("features", "mem", "gpus", "nice", "site_factor", "whole", "step"), 0
)


def _bytes(count: int) -> some.SearchStrategy[bytes]:
    """One byte for each field: much quicker than a draw for each, and 0 is the simplest."""
    return some.binary(min_size=count, max_size=count)


def _fields(table: Mapping[str, Sequence[int]], drawn: bytes, given: float = 1.0) -> Fields:
    """A value of the table for each byte, the first for 0; a share of them is `given`."""
    left_out = int(256 * (1 - given))
    pairs = zip(table.items(), drawn, strict=True)
    return {
        name: values[(byte - left_out) * len(values) // (256 - left_out)]
        for (name, values), byte in pairs
        if byte >= left_out
    }


def _some(table: Mapping[str, Sequence[int]], given: float = 1.0, **size: Any) -> some.SearchStrategy[list[Fields]]:
    lists = some.lists(_bytes(len(table)), **size)
    return lists.map(lambda drawn: [_fields(table, each, given) for each in drawn])


@some.composite
def requests(draw: Any, jobs: int = 20) -> Request:
    """A request with at most so many jobs."""
    [set_] = draw(_some(SETTINGS, 0.5, min_size=1, max_size=1))
    queues = draw(_some(QUEUE, 0.5, min_size=1, max_size=4))
    nodes = draw(_some(NODES, min_size=1, max_size=3))
    qos = draw(_some(QOS, max_size=2))
    down = draw(_some(DOWN, max_size=3))
    base = draw(some.sampled_from((0, 1_000_000_007, -1234)))
    rare = {name: RARE[name] for name, byte in zip(RARE, draw(_bytes(len(RARE))), strict=True) if byte > 128}
    each = _bytes(len(JOB) + len(rare))
    rows = [
        {**RARE_USUAL, **_fields(JOB, drawn[: len(JOB)]), **_fields(rare, drawn[len(JOB) :], 0.5)}
        for drawn in draw(some.lists(each, min_size=draw(some.integers(1, jobs)), max_size=jobs))
    ]
    columns = {name: np.array([row[name] for row in rows], np.int64) for name in (*JOB, *rare)}
    columns["submit"] += base
    if "qos" in columns:
        columns["qos"] = np.minimum(columns["qos"], len(qos) - 1)
    down = [
        line | {"nodes": line["nodes"] % len(nodes), "start": line["start"] + base, "end": line["end"] + base}
        for line in down
    ]
    return Request("slurm", columns, set_, queues, nodes, down, qos)
