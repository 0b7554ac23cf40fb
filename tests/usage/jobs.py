"""Running jobs with GPUs, and what a source measured of them, as tests write them down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adminkit.slurm.gpu_jobs import GpuJob
from adminkit.slurm.squeue import QueuedJob
from adminkit.usage.settings import Settings
from adminkit.usage.usage import Answer, GpuUse

NOW = 1_796_083_200
HOUR = 3600
#: Warned after an hour, acted upon after two, half an hour after the warning at least.
SETTINGS = Settings(
    grace=1800, warn=HOUR, act=2 * HOUR, notice=1800, used_before=2.0, acts=("shrink", "requeue", "cancel"), times=1,
    most=10_000,
)  # fmt: skip


def job(job_id: int = 11, gpus: int = 2, kind: str = "whole", age: int = 6 * HOUR, **more: Any) -> GpuJob:
    """A batch job of alice on n1 that started `age` seconds ago."""
    listed = QueuedJob(
        submit_time=NOW - age - 60, job_id=job_id, state="RUNNING", queue="gq", nodes=("n1",), many=1, uid=1000,
        user="alice", account="physics", qos="normal", start_time=NOW - age, batch=True, job_name="train",
        tres=f"cpu=8,gres/gpu={gpus},node=1", admin_comment="",
    )  # fmt: skip
    return GpuJob(replace(listed, **more), gpus, kind)


def use(gpu: int = 0, quiet: int | None = None, span: int = 6 * HOUR, **more: Any) -> GpuUse:
    """GPU `gpu` of n1, measured for the last `span` seconds, in use until `quiet` seconds ago; None: never."""
    made = GpuUse(
        node="n1", gpu=f"GPU-{gpu}", since=NOW - span, until=NOW, measured=float(span),
        busy=0.0 if quiet is None else float(span - quiet), last_used=None if quiet is None else NOW - quiet,
    )  # fmt: skip
    return replace(made, **more)


def answer(*uses: GpuUse, job_id: int = 11, at: int | None = NOW, **others: Any) -> Answer:
    return Answer(source="dcgm", at=at, uses={job_id: list(uses)}, **others)
