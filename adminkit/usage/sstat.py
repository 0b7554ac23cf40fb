"""Slurm's own measure of running jobs, gres/gpuutil: only the highest share of each step, so that it can tell a job
that has never used its GPUs, and nothing else. A job that once used one is not measured by it.

Trap: it is there only where gres.conf has AutoDetect and AccountingStorageTRES has gres/gpuutil, and it is asked of
every node of the job, so it is asked about few jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.slurm.steps import peaks
from adminkit.usage.usage import Answer, GpuUse

#: Jobs that are asked about in a round.
_MOST: Final = 200


def ask(jobs: Sequence[GpuJob], now: int, window: int) -> Answer:
    """Jobs of one node whose steps have all been measured, none of them above 0."""
    some = [job for job in jobs if len(job.nodes) == 1 and job.start is not None and job.kind == "whole"][:_MOST]
    try:
        found = peaks([job.job_id for job in some]) if some else {}
    except AdminkitError as error:
        return Answer(source="sstat", at=None, uses={}, notes=[error.message])
    uses = {job.job_id: [_never(job, now)] for job in some if found.get(job.job_id) == 0}
    return Answer(source="sstat", at=None, uses=uses)


def _never(job: GpuJob, now: int) -> GpuUse:
    start = job.start or now
    return GpuUse(
        node=job.nodes[0], gpu="", gpus=job.gpus, since=start, until=now, measured=float((now - start) * job.gpus),
        busy=0.0, last_used=None, use=0.0,
    )  # fmt: skip
