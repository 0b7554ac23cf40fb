"""A small site and a few jobs for the model slurm: dictionaries in, starts out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adminkit.simulate.core import NONE, Request, Schedule, simulate

#: What a job is when a case does not say it.
_USUAL = {
    **{"limit": 3600, "plan": NONE, "priority": NONE, "queues": 1, "features": 0, "nodes": 1, "most_nodes": NONE},
    **{"cpus": 1, "mem": 0, "gpus": 0, "gpu_type": NONE, "user": 0, "array": NONE, "qos": NONE, "nice": 0},
    **{"site_factor": 0, "whole": 0},
}

Job = dict[str, int]


def job(submit: int, run: int, **fields: int) -> Job:
    """A job of one CPU for an hour at most, unless said otherwise; `nodes` brings a CPU each."""
    return {**_USUAL, "cpus": max(1, fields.get("nodes", 1)), "submit": submit, "run": run, **fields}


def schedule(
    jobs: Sequence[Job], /, nodes: Any = 1, queues: Any = ({},), down: Any = (), qos: Any = (), **settings: int
) -> Schedule:
    """`nodes`: how many of one CPU, or a list of classes."""
    columns = {name: np.array([one[name] for one in jobs], np.int64) for name in ("submit", "run", *_USUAL)}
    classes = [{"count": nodes, "cpus": 1}] if isinstance(nodes, int) else nodes
    return simulate(Request("slurm", columns, settings, queues, classes, down, qos))


def starts(jobs: Sequence[Job], /, **site: Any) -> list[int]:
    """The start of each job; NONE for one that did not run."""
    said: list[int] = schedule(jobs, **site).start.tolist()
    return said
