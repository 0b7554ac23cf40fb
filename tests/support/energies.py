"""A trace of jobs with joules, for reports of energy."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adminkit.job import Job, Step
from tests.support.builders import HOUR, job
from tests.support.uses import make_used, step_of

#: Nodes as (name, CPUs, GPUs).
NODES: Final = [("gn1", 64, 8), ("gn2", 64, 8), ("cn1", 128, 0)]


def some_metered() -> tuple[list[Job], list[Step]]:
    """Jobs alone on their nodes, beside others, on nodes that are not known; idle, impossible, not measured."""
    kwh = 3_600_000
    whole = {"cpus": 64, "node_list": "gn1", "gpus": 8}
    jobs = [
        job(1, **whole, elapsed=2 * HOUR, energy=5 * kwh),
        job(2, **whole, elapsed=HOUR, energy=kwh, user="bob"),
        job(3, cpus=128, nodes=2, node_list="gn[1-2]", gpus=16, elapsed=HOUR, energy=6 * kwh, state="FAILED"),
        job(4, cpus=8, gpus=1, node_list="gn2", elapsed=HOUR, energy=3 * kwh),
        job(5, cpus=8, gpus=1, node_list="gone7", elapsed=HOUR, energy=kwh),
        job(6, cpus=128, gpus=0, node_list="cn1", queue="cpu", elapsed=10 * HOUR, energy=4 * kwh),
        job(7, cpus=128, gpus=0, node_list="cn1", queue="cpu", elapsed=60, energy=10**10),
        job(8, **whole, elapsed=HOUR, energy=0, queue="gq-short"),
        job(9, **whole, elapsed=HOUR, queue="gq-short", user="bob"),
        job(10, state="CANCELLED", elapsed=0, start_time=None),
    ]
    steps = [step_of(jobs[0], gpus_used=7.0), step_of(jobs[1], gpus_used=0.0)]
    return jobs, steps


def make_metered(path: Path) -> Path:
    jobs, steps = some_metered()
    return make_used(path, jobs, steps, NODES)
