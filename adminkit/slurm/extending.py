"""Open jobs as `adminkit extend` sees them, the nodes around some of them, and its one act: a limit with its word.

Trap: an update sets whatever the limit became meanwhile. scontrol's +N and -N read the limit just before they set it,
so that what somebody else set in between is moved by as much, and not replaced.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.slurm import scontrol_show, show_config, squeue
from adminkit.slurm.keyvalue import settings
from adminkit.slurm.process import Refused, ask
from adminkit.slurm.room import PATIENCE, Room, RoomJob, listed, room_of
from adminkit.slurm.server_job import no_such_job

#: What is asked beside a room's fields; the text that others than Slurm write comes last.
_MORE: Final = (
    "ArrayTaskID",
    "HetJobID",
    "MinTime",
    "RestartCnt",
    "Deadline",
    "UserName",
    "BatchFlag",
    "admin_comment",
)
_PING: Final = re.compile(r"^Slurmctld\(\S+\) at (\S+) is (\S+)", re.MULTILINE)
#: More nodes are asked for all at once.
_MOST_NAMED: Final = 500


@dataclass(frozen=True, slots=True)
class Queue:
    """The open jobs in two views, in the same order, and the configuration under which they run."""

    at: int  # epoch seconds
    config: Mapping[str, str]
    jobs: Sequence[RoomJob]
    listed: Sequence[squeue.QueuedJob]


def queue(now: int) -> Queue:
    """Ask slurmctld. AdminkitError when it is away."""
    show_config.forget()
    config = settings(show_config.show_config())
    jobs, found = listed(config, *_MORE)
    return Queue(now, config, jobs, found)


def room_around(of: Queue, names: Collection[str]) -> tuple[Room, str]:
    """The room with these nodes only, and what slurmctld holds jobs to: `scontrol show assoc_mgr`."""
    there = scontrol_show.around(names if len(names) <= _MOST_NAMED else (), PATIENCE)
    nodes = [node for node in there.nodes if node.name in names]
    return room_of(of.at, replace(there, nodes=nodes), of.config, of.jobs), there.limits


def move_limit(job: squeue.QueuedJob, seconds: int, comment: str) -> None:
    """Move the job's limit by whole minutes and give it this AdminComment, in one update. Refused where slurmctld does
    not take it.
    """
    by = f"{'+' if seconds > 0 else '-'}{abs(seconds) // 60}"
    ask(["scontrol", "update", f"JobId={squeue.name_of(job)}", f"TimeLimit={by}", f"AdminComment={comment}"])


def set_comment(job: squeue.QueuedJob, comment: str) -> None:
    """Give the job this AdminComment. Refused where slurmctld does not take it."""
    ask(["scontrol", "update", f"JobId={squeue.name_of(job)}", f"AdminComment={comment}"])


def is_acting(others: Collection[str]) -> bool:
    """Whether the slurmctld that is at work may be this host's: none of `others`, the other controllers, is up before
    it. AdminkitError when none answers.
    """
    for name, state in _PING.findall(ask(["scontrol", "ping"])):
        if state == "UP":
            return name not in others
    raise AdminkitError("couldn't tell which slurmctld is at work", "run scontrol ping by hand")


def again(job_ids: Collection[int]) -> dict[int, squeue.QueuedJob]:
    """These jobs as they are now, by id; one that is over is left out."""
    fields = ("JobID", "SubmitTime", "State", "TimeLimit", "admin_comment")
    try:
        found = squeue.jobs(fields, "-r", "-j", ",".join(map(str, sorted(job_ids))))
    except Refused as error:
        if no_such_job(error.output):
            return {}
        raise
    return {one.job_id: one for one in found if one.job_id in job_ids}
