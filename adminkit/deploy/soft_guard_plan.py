"""What a round of the guard of soft limits does to which job. Pure, but for the rules, which it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adminkit.deploy.in_force import Answer
from adminkit.deploy.planning import reserved_at, unclear
from adminkit.lua.runtime import Lua
from adminkit.slurm.planning import PlannedJob, Planning

#: Whether a job may have a limit, in seconds, by the rules in force.
Ruled = Callable[[PlannedJob, int], Answer]
STARTED: Final = ("RUNNING", "SUSPENDED", "CONFIGURING", "STOPPED", "RESIZING", "SIGNALING")
ENDING: Final = ("COMPLETING", "STAGE_OUT")
#: The keys of a record that has a soft limit.
_KEYS: Final = (",soft=", ",keep=")


@dataclass(frozen=True, slots=True)
class Act:
    """Something the guard does to one job. Limits in seconds."""

    did: str  # cleared, raised
    job: int
    name: str  # what scontrol changes it by
    why: str
    was: int | None
    becomes: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and the jobs whose start needs no second look afterwards."""

    acts: Sequence[Act] = ()
    started: Mapping[int, int] = field(default_factory=dict)  # as in State


class Records:
    """The records of jobs, read by the script's own module."""

    def __init__(self) -> None:
        self._lua = Lua()
        self._read = self._lua.module("record")[b"read"]

    def limits(self, comment: str) -> tuple[int | None, int | None]:
        """(the limit that was asked for, the soft limit) of a record that names both; (None, None) without.

        A user's own --time-min that was kept is a soft limit like the policy's.
        """
        there = self._lua.call(self._read, comment)
        record = self._lua.out(there) if there is not None else None
        planned = str(record.get("soft", record.get("keep", ""))) if isinstance(record, dict) else ""
        if not isinstance(record, dict) or not planned.isdigit():
            return None, None
        asked = str(record["lim"])
        return (int(asked) if asked.isdigit() else None), int(planned)


def unread(jobs: Iterable[PlannedJob]) -> list[str]:
    """A sentence for each job whose record cannot be read, so it may have adminkit's soft limit."""
    return [
        f"job {job.job_id} is left alone: couldn't read squeue's line for it: {job.odd}"
        for job in jobs
        if job.odd and any(key in job.comment for key in _KEYS)
    ]


def ours(jobs: Iterable[PlannedJob], records: Records) -> list[tuple[PlannedJob, int | None]]:
    """The open jobs that have the TimeMin of our word, by which backfill plans, with the limit that was asked for.

    Another TimeMin is somebody's own, and the word was noted for what the job no longer is.
    """
    found = []
    for job in jobs:
        if job.odd or job.time_min is None or not any(key in job.comment for key in _KEYS):
            continue
        asked, soft = records.limits(job.comment)
        if soft is not None and job.time_min == -(-soft // 60) * 60:  # Slurm keeps minutes
            found.append((job, asked))
    return found


def plan(
    jobs: Sequence[tuple[PlannedJob, int | None]],
    started: Mapping[int, int] | None,
    given: Mapping[str, Any] | None,
    site: Planning,
    now: int,
    margin: int,
    without: str = "no lease",
    ruled: Ruled = lambda job, limit: Answer(),
) -> Plan:
    """What a round does to `jobs`. `given` is the lease, None for none: then no pending job keeps a soft limit, and
    `without` is the reason.

    A job with adminkit's TimeMin had, while pending, the limit that its record says: the script gives none to a job
    whose limit a rule changed, and takes it away in every update of a limit. So a lower limit is Slurm's doing where
    the job is seen for the first time since its start, and an operator's or the owner's later. `started` are those that
    were seen, as in State; None: nothing was kept, and of what started more than `margin` seconds ago only a limit that
    is exactly TimeMin is Slurm's for sure.

    `ruled` says whether the job as it is now may have the limit of its record. A job that waits gets it back only where
    it may for sure; one that runs keeps the lowered one only where a rule says so, as it would be ended by it. Rules
    that this host cannot read are our failure, which no job pays for.
    """
    acts: list[Act] = []
    seen: dict[int, int] = {}
    for job, asked in jobs:
        if job.state in ENDING:
            continue
        if job.state not in STARTED:
            is_low = asked is not None and job.time_limit is not None and job.time_limit < asked
            why = without if given is None else unclear(job, given, now)
            against = ruled(job, asked) if is_low and asked is not None else Answer()
            if against.why and against.asked:
                acts.append(Act("cleared", job.job_id_raw, job.job_id, f"lowered; {against.why}", job.time_min, None))
            elif why or is_low:
                becomes = asked if is_low else None  # Slurm may leave what waits of an array with the limit of a task
                acts.append(Act("cleared", job.job_id_raw, job.job_id, why or "lowered", job.time_min, becomes))
        elif (
            asked is None
            or job.time_limit is None
            or job.time_limit >= asked
            or _is_later(job, asked, started, site, now, margin)
            or ruled(job, asked).refused
        ):
            seen[job.job_id_raw] = job.restarts
        else:
            acts.append(Act("raised", job.job_id_raw, job.job_id, "lowered at its start", job.time_limit, asked))
    return Plan(acts, seen)


def _is_later(
    job: PlannedJob, asked: int, started: Mapping[int, int] | None, site: Planning, now: int, margin: int
) -> bool:
    """Whether a limit below `asked` may have been lowered after the start, by a person."""
    if job.time_limit is None or job.time_limit < (job.time_min or 0):
        return True  # Slurm never goes below TimeMin
    if started is not None and started.get(job.job_id_raw) == job.restarts:
        return True
    start = now if job.start_time is None else job.start_time
    if now - start <= margin:
        return False
    ahead = [at for queue in site.queues if queue.name in job.queues and (at := reserved_at(queue, site)) is not None]
    if min(ahead, default=start + asked) < start + asked:
        return True
    return started is None and job.time_limit != job.time_min
