"""The use of GPUs as the plugin adminkit_gpu_use left it in the comments of running jobs (docs/gpu-use.md).

The comments came with the jobs, so nothing is asked. A word is as old as the plugin's `report` says, and a node that
has no word is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.trace.gpu_use_word import NodeUse, gpu_use_of
from adminkit.usage.usage import Answer, GpuUse

SOURCE = "sampler"


def ask(jobs: Sequence[GpuJob], now: int, window: int) -> Answer:
    """The words of these jobs whose last reading is at most `window` seconds old at `now`.

    Trap: a word is of whole GPUs, of which a shard's job has a part, so of such jobs nothing is known.
    """
    found = {
        job.job_id: uses
        for job in jobs
        if job.kind == "whole" and (uses := [_use(job, word) for word in _fresh(job, now, window)])
    }
    return Answer(source=SOURCE, at=None, uses=found)


def _fresh(job: GpuJob, now: int, window: int) -> list[NodeUse]:
    """Those of nodes that the job has. A reading from the future is of a clock that is off."""
    return [
        word
        for word in gpu_use_of(job.comment, job.start)
        if word.node < len(job.nodes) and now - window <= word.to <= now
    ]


def _use(job: GpuJob, word: NodeUse) -> GpuUse:
    return GpuUse(
        node=job.nodes[word.node],
        gpu="",
        gpus=word.gpus,
        since=word.at,
        until=word.to,
        measured=float(word.seconds),
        busy=float(word.busy),
        last_used=word.last,
    )
