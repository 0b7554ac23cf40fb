"""How much of a job's wait is fair share: the jobs that are before it only for that. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from adminkit.fit.line import line_of
from adminkit.messages import Message, counted
from adminkit.slurm.fair_share import Share, Shares
from adminkit.slurm.room import Room, RoomJob

#: Points by which a priority may differ from the sum of its parts. Beyond, somebody has set it.
_ROUNDED: Final = 10


@dataclass(frozen=True, slots=True)
class Behind:
    """`factor`: the job's own. Without anybody's fair share `jobs`, of `accounts`, would be behind it."""

    factor: float
    jobs: int
    accounts: int

    @property
    def text(self) -> Message:
        return counted(
            "fair share {share:.2f}: {number} job of {accounts} is ahead of it only because of that job's fair share",
            "fair share {share:.2f}: {number} jobs of {accounts} are ahead of it only because of their fair share",
            self.jobs,
            share=self.factor,
            accounts=counted("{number} account", "{number} accounts", self.accounts),
        )


def behind(room: Room, job: RoomJob, shares: Shares) -> Behind | None:
    """None where it cannot be told: the job has no place in a line (line.py), or a share of the line is not shown."""
    line = line_of(room, job)
    if line is None or any(_share_of(one, job.queue, shares) is None for one in line):
        return None
    own = _share_of(job, job.queue, shares)
    first = [one for one in line if _order(one) < _order(job)]
    without = _order(_without(job, job.queue, shares))
    passed = [one for one in first if _order(_without(one, job.queue, shares)) > without]
    return Behind(own.factor, len(passed), len({one.account for one in passed})) if own else None


def without_shares(room: Room, job: RoomJob, shares: Shares) -> tuple[Room, RoomJob]:
    """The room and the job with the priorities they would have without fair share, and without backfill's plan, which
    was made with it."""
    other = {id(one): replace(_without(one, job.queue, shares), nodes=(), starts=None) for one in _waiting(room)}
    return replace(room, jobs=tuple(other.get(id(one), one) for one in room.jobs)), other[id(job)]


def _waiting(room: Room) -> list[RoomJob]:
    return [one for one in room.jobs if one.state == "PENDING"]


def _share_of(job: RoomJob, queue: str, shares: Shares) -> Share | None:
    return shares.get((job.job_id, queue)) or shares.get((job.job_id_array, queue))


def _without(job: RoomJob, queue: str, shares: Shares) -> RoomJob:
    share = _share_of(job, queue, shares)
    if share is None:
        return job
    less = job.priority - share.points
    return replace(job, priority=share.rest if abs(less - share.rest) <= _ROUNDED else less)


def _order(job: RoomJob) -> tuple[int, int]:
    return -job.priority, job.job_id
