"""Open jobs as `adminkit elastic` sees them, and its acts on one of them: comment, GPUs, release.

Traps: slurmctld may take an update of GPUs and change only words, so that one is read back. The id of an array's last
task is that of the whole array: tasks of arrays are told apart here. A Gres is `gres:gpu:2` in 22.05 and `gres/gpu:2`
later, and each takes its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.quote import quote
from adminkit.slurm import squeue
from adminkit.slurm.process import Refused, ask
from adminkit.slurm.seal import Marks
from adminkit.slurm.server_job import no_such_job

#: Why a job waits that was put back held.
HELD: Final = "job_requeued_in_held_state"
#: Longer than the longest comment that Slurm takes with our words in it; a longer one is not changed.
_LONGEST: Final = 1200
#: Slurm's own fields first; the job's name, which is its user's, last.
_FIELDS: Final = (
    "JobID", "ArrayTaskID", "State", "Partition", "NodeList", "NumNodes", "tres-per-node", "tres-per-job", "SubmitTime",
    "StartTime", "EndTime", "TimeLimit", "Reason", "UserName", "UserID", "Account", "QOS", "HetJobID", "RestartCnt",
    "MinTime", "tres-alloc", "cpus-per-tres", "mem-per-tres", "admin_comment", "Name",
)  # fmt: skip
_GPUS: Final = re.compile(r"(?:gres[:/])?gpu(?::(?P<type>[^:,()= ]*[^:,()= 0-9][^:,()= ]*))?(?::(?P<count>\d{1,4}))?")


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A job that runs or waits. Times in epoch seconds, the limit in seconds; None: unknown, or none."""

    job_id: int
    state: str
    queue: str
    nodes: tuple[str, ...]
    many: int  # nodes
    tres: str  # what it asks for on each node, as slurmctld spells it
    submit_time: int
    starts: int | None
    ends: int | None
    time_limit: int | None
    reason: str
    user: str
    account: str
    qos: str
    comment: str
    job_name: str
    restarts: int = 0
    uid: int | None = None
    time_min: int | None = None
    whole: str = ""  # all that it has, or asks for while it waits: cpu=4,mem=8G,node=1,gres/gpu=2
    cpus_per_gpu: str = ""  # as slurmctld spells it
    mem_per_gpu: str = ""
    odd: str = ""  # why what squeue says of it cannot be read; nothing is done to it then
    alone: bool = True  # no part of an array or of a heterogeneous job, and no GPUs but those of `tres`

    @property
    def gpus(self) -> int | None:
        """The GPUs of its one node; None where anything else than GPUs, or nothing, stands there."""
        found = _GPUS.fullmatch(self.tres)
        return None if found is None or not self.alone or self.many != 1 else int(found["count"] or 1)

    @property
    def gpu_type(self) -> str | None:
        found = _GPUS.fullmatch(self.tres)
        return found["type"] if found else None

    @property
    def held_for_gpus(self) -> bool:
        """Whether the plugin put it back held, and nobody held it since for another reason."""
        return self.state in ("PENDING", "REQUEUE_HOLD") and self.reason == HELD


def open_jobs(only: Collection[int] = ()) -> list[OpenJob]:
    """The open jobs of this cluster, or `only` these. AdminkitError when slurmctld is away."""
    which = ["-j", ",".join(map(str, sorted(only)))] if only else []
    try:
        found = squeue.jobs(_FIELDS, *which)
    except Refused as error:
        if only and no_such_job(error.output):
            return []
        raise
    return [job for job in map(_open, found) if not only or job.job_id in only]


def open_job(job_id: int) -> OpenJob | None:
    """One of them; None where slurmctld has no such job any more."""
    return next(iter(open_jobs([job_id])), None)


def parse(text: str, marks: Marks) -> Iterator[OpenJob]:
    """The jobs in squeue's answer."""
    return map(_open, squeue.parse(text, _FIELDS, marks))


def _open(job: squeue.QueuedJob) -> OpenJob:
    comment = job.admin_comment or ""
    return OpenJob(
        job_id=job.job_id,
        state=job.state,
        queue=job.queue or "",
        nodes=job.nodes,
        many=job.many or 0,
        tres=job.tres_per_node or "",
        submit_time=job.submit_time,
        starts=job.start_time,
        ends=job.end_time,
        time_limit=job.time_limit,
        reason=job.reason.replace(" ", "_"),
        user=job.user,
        account=job.account or "",
        qos=job.qos or "",
        comment="" if len(comment) >= _LONGEST else comment,
        job_name=job.job_name or "",
        restarts=job.restarts or 0,
        uid=job.uid,
        time_min=job.time_min,
        odd=job.odd or ("" if job.many else f"its nodes are {quote(job.many_text, 20)}"),
        whole=job.tres or "",
        cpus_per_gpu=job.cpus_per_tres or "",
        mem_per_gpu=job.mem_per_tres or "",
        alone=job.tasks is None and not job.het_id and job.tres_per_job is None,
    )


def set_comment(job_id: int, comment: str) -> None:
    """Put `comment` in the place of its AdminComment. Refused where slurmctld does not take it."""
    ask(["scontrol", "update", f"JobId={job_id}", f"AdminComment={comment}"])


def set_gpus(job: OpenJob, gpus: int) -> OpenJob:
    """Have the waiting job ask for as many of the same type; the job as it is then. Refused where slurmctld, or the
    site's rules, do not take it, or took something else.
    """
    wanted = _spelled(job.tres, gpus)
    key = "Gres" if job.tres.startswith("gres:") else "TresPerNode"
    value = wanted.removeprefix("gres:") if key == "Gres" else wanted
    ask(["scontrol", "update", f"JobId={job.job_id}", f"{key}={value}"])
    after = open_job(job.job_id)
    if after is None or after.gpus != gpus:
        got = "it is gone" if after is None else f"it asks for {after.tres or 'none'}"
        raise Refused(
            f"couldn't change the GPUs of job {job.job_id} to {gpus}: {got}", "scontrol show job says more", ""
        )
    return after


def release(job_id: int) -> None:
    """Let a held job start."""
    ask(["scontrol", "release", str(job_id)])


def _spelled(tres: str, gpus: int) -> str:
    """The same resource in another number."""
    found = _GPUS.fullmatch(tres)
    if found is None:
        raise AdminkitError(f"couldn't change GPUs that are spelled {quote(tres, 60)}", "docs/elastic.md says which")
    return f"{tres[: found.start('count')] if found['count'] else f'{tres}:'}{gpus}"
