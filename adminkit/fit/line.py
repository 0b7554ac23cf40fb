"""The place of a waiting job in the line of its queue, by priority, where it can be counted."""

from __future__ import annotations

from dataclasses import dataclass

from adminkit.slurm.room import MOST_JOBS, READY, Room, RoomJob


@dataclass(frozen=True, slots=True)
class Place:
    """The job is number `number` of `of` that wait in `queue` and are ready; each task of an array is one."""

    number: int
    of: int
    queue: str


def place_in_line(room: Room, job_id: int) -> Place | None:
    """None where it cannot be told: see line_of.

    Slurm looks at jobs by priority, and of equals at the older first. A job of the line may wait in other queues too.
    """
    job = next((one for one in room.jobs if one.job_id == job_id), None)
    line = None if job is None else line_of(room, job)
    if job is None or line is None:
        return None
    before = sum((-one.priority, one.job_id) < (-job.priority, job.job_id) for one in line)
    return Place(before + 1, len(line), job.queue)


def line_of(room: Room, job: RoomJob) -> list[RoomJob] | None:
    """The jobs that wait for room in its queue, with it; None where it is not among them, asks for several queues, or
    others' jobs are hidden or too many to be read."""
    if "," in job.queue or room.hidden or len(room.jobs) >= MOST_JOBS:
        return None
    line = [
        one
        for one in room.jobs
        if one.state == "PENDING" and one.reason in READY and one.priority and job.queue in one.queue.split(",")
    ]
    return line if job in line else None
