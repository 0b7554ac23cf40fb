"""A workload as what the simulator is given: the site from the shape, the jobs from a run on a real Slurm."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from adminkit.simulate.core import NONE, Request
from tests.simulate_real.runs import Row, Run
from tests.simulate_real.shape import Shape
from tests.simulate_real.workloads import USERS, Job, Workload

#: Slurm's keys whose unit is not the simulator's -> seconds in one of theirs.
_SECONDS: Final = {"PriorityMaxAge": 60, "PriorityCalcPeriod": 60, "bf_window": 60}


def request(workload: Workload, run: Run) -> Request:
    """What the run's own records say was submitted, when, and how long it ran.

    A job that was killed never showed how long it would have run, so it is given what it wanted to sleep.
    """
    shape = workload.shape
    queues = {queue.name: number for number, queue in enumerate(shape.queues)}
    types = _types(shape)
    rows = {row.number: row for row in run.rows}
    records = [_job(job, rows[job.number], queues, types) for job in workload.jobs]
    return Request(
        "slurm",
        {name: np.array([record[name] for record in records], dtype=np.int64) for name in records[0]},
        {"release": int(run.release), **_settings(shape)},
        [_queue(shape, queue.name) for queue in shape.queues],
        [
            {
                "count": one.count,
                "cpus": one.cpus,
                "mem": one.mem,
                "gpus": one.gpus,
                "gpu_type": types.get(one.gpu_type, NONE),
                "queues": sum(1 << queues[queue.name] for queue in shape.queues if one.prefix in queue.prefixes),
                "weight": one.weight,
            }
            for one in shape.nodes
        ],
    )


def _job(job: Job, row: Row, queues: dict[str, int], types: dict[str, int]) -> dict[str, int]:
    ran = row.end - row.start
    return {
        "id": job.number,
        "submit": row.eligible,
        "run": max(ran, job.sleep) if row.state == "TIMEOUT" else ran,
        "limit": job.limit,
        "plan": NONE if job.soft is None else job.soft,
        "queues": sum(1 << queues[name] for name in job.queues),
        "nodes": job.nodes,
        "cpus": job.nodes * job.cpus,
        "procs": job.nodes * job.cpus,
        "mem": job.mem,
        "gpus": job.nodes * job.gpus,
        "gpu_type": types.get(job.gpu_type, NONE),
        "user": USERS.index(job.user),
        "nice": job.nice,
        "whole": int(job.whole),
    }


def _types(shape: Shape) -> dict[str, int]:
    names = dict.fromkeys(one.gpu_type for one in shape.nodes if one.gpu_type)
    return {name: number for number, name in enumerate(names)}


def _queue(shape: Shape, name: str) -> dict[str, int]:
    queue = shape.queue(name)
    most = {} if queue.max_nodes is None else {"max_nodes": queue.max_nodes}
    return {"tier": queue.tier, "factor": queue.factor, "max_limit": queue.max_limit, **most}


def _settings(shape: Shape) -> dict[str, int]:
    """PriorityWeightJobSize -> priority_weight_job_size; words of SchedulerParameters stay."""
    return {
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): int(value) * _SECONDS.get(name, 1)
        for name, value in {**shape.scheduler, **shape.settings}.items()
    }
