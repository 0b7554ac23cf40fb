"""Running jobs with GPUs, as `adminkit idle` sees them, and how its round looks at one again.

Trap: `tres-alloc` of a running job is what it has. Where AccountingStorageTRES does not list gres/gpu, no job of that
list has a GPU, and the GPUs of none are known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.gres import parse_tres
from adminkit.slurm import squeue
from adminkit.slurm.process import Refused
from adminkit.slurm.seal import Marks
from adminkit.slurm.server_job import no_such_job

#: Slurm's own fields first, then those that a user writes; the name last.
_FIELDS: Final = (
    "JobID", "JobArrayID", "ArrayJobID", "ArrayTaskID", "HetJobID", "State", "Partition", "NodeList", "NumNodes",
    "NumCPUs", "tres-alloc", "SubmitTime", "StartTime", "EndTime", "TimeLimit", "UserName", "UserID", "Account", "QOS",
    "RestartCnt", "BatchFlag", "admin_comment", "Name",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GpuJob:
    """A running job that has GPUs. `kind`: how they are cut, as in gres.KINDS; `gpus` counts whole ones and slices."""

    listed: squeue.QueuedJob
    gpus: int
    kind: str

    @property
    def job_id(self) -> int:
        return self.listed.job_id

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.listed.nodes

    @property
    def start(self) -> int | None:
        """When this run began, epoch seconds."""
        return self.listed.start_time

    @property
    def comment(self) -> str:
        """AdminComment, which only operators can write."""
        return self.listed.admin_comment or ""


def gpu_jobs(only: Collection[int] = (), user: str | None = None) -> list[GpuJob]:
    """The running jobs with GPUs of this cluster: all, `only` these, or those of `user`. AdminkitError when slurmctld
    is away.
    """
    which = ["-j", ",".join(map(str, sorted(only)))] if only else ["-t", "R"]
    if user is not None:
        which += ["-u", user]
    try:
        found = squeue.jobs(_FIELDS, "-r", *which)
    except Refused as error:
        if only and no_such_job(error.output):
            return []
        raise
    return [job for job in of_listed(found) if not only or job.job_id in only]


def parse(text: str, marks: Marks) -> list[GpuJob]:
    """The jobs in squeue's answer."""
    return of_listed(list(squeue.parse(text, _FIELDS, marks)))


def of_listed(listed: Sequence[squeue.QueuedJob]) -> list[GpuJob]:
    """Those that run and have GPUs, or parts of GPUs."""
    return [job for job in map(_of, listed) if job is not None]


def _of(job: squeue.QueuedJob) -> GpuJob | None:
    has = parse_tres(job.tres or "")
    if has is None or job.state != "RUNNING":
        return None
    kinds = [
        kind
        for kind, count in (
            ("whole", has.whole),
            ("slice", has.slices),
            ("shard", sum(has.shards.values())),
            ("mps", sum(has.mps.values())),
        )
        if count
    ]
    if not kinds:
        return None
    return GpuJob(job, has.whole + has.slices, kinds[0] if len(kinds) == 1 else "mixed")
