"""AdminComment of the jobs that slurmctld holds. Trap: sacct has it only once a job has ended."""

from __future__ import annotations

from typing import Final

from adminkit.slurm import bindings, squeue
from adminkit.slurm.cluster import local_cluster
from adminkit.slurm.seal import Marks

_FIELDS: Final = ("JobID", "SubmitTime", "admin_comment")


def admin_comments(cluster: str) -> list[tuple[int, int, str]]:
    """(JobIDRaw, Submit, AdminComment) of every open job that has one.

    Raises AdminkitError when slurmctld is away. Pending tasks of an array share one line, as they share one record.
    Trap: `-t PD` leaves out a pending job with a flag, such as one that is held after a requeue.
    """
    pyslurm, _ = bindings.usable()
    if pyslurm is not None and cluster == local_cluster():
        return bindings.admin_comments(pyslurm)
    return [one for job in squeue.jobs(_FIELDS, "-M", cluster) for one in _of(job)]


def parse(text: str, marks: Marks) -> list[tuple[int, int, str]]:
    """The jobs in squeue's answer. A comment with a line break is passed over, and with it its job."""
    return [one for job in squeue.parse(text, _FIELDS, marks) for one in _of(job)]


def _of(job: squeue.QueuedJob) -> list[tuple[int, int, str]]:
    return [] if job.admin_comment is None else [(job.job_id, job.submit_time, job.admin_comment)]
