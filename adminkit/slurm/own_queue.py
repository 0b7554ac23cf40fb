"""A user's jobs as slurmctld holds them, and one job: what runs, and why the others wait."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm import squeue
from adminkit.slurm.arrays import tasks_of
from adminkit.slurm.cluster import local_cluster, on
from adminkit.slurm.gpu_jobs import GpuJob, of_listed
from adminkit.slurm.keyvalue import given
from adminkit.slurm.seal import Marks

#: squeue's words for the fields. The name, the one text that its owner writes, is the last.
_FIELDS: Final = (
    "JobArrayID",
    "StateCompact",
    "Partition",
    "TimeLimit",
    "TimeUsed",
    "SubmitTime",
    "StartTime",
    "NumNodes",
    "NumCPUs",
    "Reason",
    "Name",
)
#: … and those that tell which GPUs a running job has, and what was measured of them.
_WITH_GPUS: Final = (*_FIELDS[:-1], "JobID", "State", "NodeList", "tres-alloc", "UserID", "admin_comment", _FIELDS[-1])
#: The states of a job that waits: pending, also after a requeue or held after a failure.
_WAITING: Final = ("PD", "RQ", "RF", "RH", "SE", "RD")
#: The state of a federation's sibling that another cluster took.
_REVOKED: Final = "RV"
#: What squeue says of a number that slurmctld does not have, or no longer.
_NO_SUCH: Final = "Invalid job id"


@dataclass(frozen=True, slots=True)
class Queued:
    """One job, or the waiting tasks of one array. None: unknown; `limit` None: no limit."""

    job_id: str  # as Slurm prints it: 12, 12_3, 12_[4-9]
    state: str  # in squeue's short form
    queue: str | None
    time_limit: int | None  # seconds
    elapsed: int | None  # seconds
    submit_time: int | None  # epoch seconds
    start_time: int | None  # epoch seconds; of a waiting job when backfill expects it to start
    nodes: int | None
    cpus: int | None
    reason: str | None  # Slurm's code
    job_name: str | None

    @property
    def tasks(self) -> int | None:
        """How many tasks of an array these are, 1 for a job; None where Slurm cut the list of them."""
        return tasks_of(self.job_id)

    @property
    def waits(self) -> bool:
        return self.state in _WAITING


def own_queue(cluster: str, uid: int) -> list[Queued]:
    """The open jobs of this user, in squeue's order. AdminkitError when slurmctld is away.

    Traps: `-M` asks slurmdbd even for the local cluster. `-t PD` leaves out a pending job with a flag, such as one
    that is held after a requeue; without `-t` squeue shows all that are open.
    """
    return own_jobs(cluster, uid)[0]


def own_jobs(cluster: str, uid: int) -> tuple[list[Queued], list[GpuJob]]:
    """The same, and those of them that run with GPUs on this host's cluster, by the same question."""
    which = _on(cluster)
    found = squeue.jobs(_WITH_GPUS, *which, "-u", str(uid))
    return _shown(found), [] if which else of_listed(found)


def queued_job(cluster: str, job: str, uid: int | None = None) -> list[Queued]:
    """What slurmctld holds of one job, an array or a het job, by its number; of this user's only, where `uid` says so.
    None of them: []. AdminkitError when slurmctld is away.
    """
    fields = (*_FIELDS[:-1], "UserID", _FIELDS[-1])
    try:
        found = squeue.jobs(fields, *_on(cluster), "-j", job)
    except AdminkitError as error:
        if _NO_SUCH in error.message:
            return []
        raise
    return _shown(one for one in found if uid is None or one.uid == uid)


def _on(cluster: str) -> list[str]:
    try:
        return on(None if cluster == local_cluster() else cluster)
    except AdminkitError:
        return on(cluster)


def parse(text: str, marks: Marks) -> list[Queued]:
    """The jobs in squeue's answer."""
    return _shown(squeue.parse(text, _FIELDS, marks))


def _shown(jobs: Iterable[squeue.QueuedJob]) -> list[Queued]:
    return [
        Queued(
            job_id=job.listed_id,
            state=job.short_state,
            queue=job.queue,
            time_limit=job.time_limit,
            elapsed=job.elapsed,
            submit_time=job.submit_time,
            start_time=job.start_time,
            nodes=job.many,
            cpus=job.cpus,
            reason=given(job.reason),
            job_name=job.job_name,
        )
        for job in jobs
        if job.short_state != _REVOKED
    ]
