"""What `adminkit idle` does to a job: a line in its log, the comment with an order, its release, its end."""

from __future__ import annotations

from typing import Final

from adminkit.slurm import squeue
from adminkit.slurm.elastic_jobs import HELD
from adminkit.slurm.process import Refused, ask
from adminkit.slurm.server_job import no_such_job

_FIELDS: Final = (
    "JobID", "ArrayJobID", "ArrayTaskID", "State", "SubmitTime", "StartTime", "Reason", "UserName", "UserID",
    "RestartCnt", "admin_comment",
)  # fmt: skip


def notify(job: squeue.QueuedJob, text: str) -> None:
    """Write a line into the job's stderr, through its slurmstepd. Refused where it does not take it."""
    ask(["scontrol", "notify", str(job.job_id), text])


def set_comment(job: squeue.QueuedJob, comment: str) -> None:
    """Give the job this AdminComment. Refused where slurmctld does not take it."""
    ask(["scontrol", "update", f"JobId={squeue.name_of(job)}", f"AdminComment={comment}"])


def release(job: squeue.QueuedJob) -> None:
    """Let a held job start."""
    ask(["scontrol", "release", squeue.name_of(job)])


def cancel(job: squeue.QueuedJob) -> None:
    """End the job."""
    ask(["scancel", squeue.name_of(job)])


def now_of(job_ids: list[int]) -> dict[int, squeue.QueuedJob]:
    """These jobs as they are now, by id; one that is over is left out."""
    if not job_ids:
        return {}
    try:
        found = squeue.jobs(_FIELDS, "-r", "-j", ",".join(map(str, sorted(job_ids))))
    except Refused as error:
        if no_such_job(error.output):
            return {}
        raise
    return {one.job_id: one for one in found if one.job_id in job_ids}


def is_held(job: squeue.QueuedJob) -> bool:
    """Whether the plugin put it back held, and nobody held it since for another reason."""
    return job.state in ("PENDING", "REQUEUE_HOLD") and job.reason.replace(" ", "_") == HELD
