"""How fast a job goes with each number of GPUs, and how much it has yet to do: by its user's own runs of that name,
else by the one measured curve of that name. What lies between measured numbers is the model's, which says how far off
it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.elastic.plan import Known, Pace
from adminkit.elastic.words import range_of
from adminkit.power.scaling import Point, model
from adminkit.render.format import plural
from adminkit.slurm.elastic_jobs import OpenJob
from adminkit.sqlite import sqlite3
from adminkit.stats.iterations import done_before, least_whole
from adminkit.stats.power_curve import curves
from adminkit.stats.progress import Ran, progress

#: Numbers of GPUs that are looked at beside measured ones.
_DOUBLED: Final = tuple(1 << power for power in range(11))


@dataclass(frozen=True, slots=True)
class _Past:
    """What the runs of one user and name said. `whole`: the iterations of the shortest finished job; None: unknown."""

    ran: Sequence[Ran]
    whole: int | None


def known_of(
    db: sqlite3.Connection, jobs: Sequence[OpenJob], cluster: str, node_watts: float, now: int
) -> dict[int, Known]:
    """What is known by job id; a job of which nothing is known has no paces."""
    mine = [job for job in jobs if range_of(job.comment) is not None]
    past = {}
    for user, name in {(job.user, job.job_name) for job in mine}:  # many jobs of a user have one name
        told = progress(db, now, node_watts, cluster=cluster, user=user, name=name)
        past[user, name] = _Past(told.get((user, name), []), least_whole(db, now, cluster, user, name))
    return {job.job_id: _known(db, job, past[job.user, job.job_name], cluster, now) for job in mine}


def _known(db: sqlite3.Connection, job: OpenJob, past: _Past, cluster: str, now: int) -> Known:
    points, source = _of_runs(past.ran)
    if not points:
        points, source = _of_curve(db, job)
    if not points:
        return Known()
    paces = {one.gpus: Pace(one.seconds, None if one.watts is None else one.watts * one.seconds) for one in points}
    between = [gpus for gpus in _DOUBLED if min(paces) < gpus < max(paces) and gpus not in paces]
    fitted = model(points) if between else None
    if fitted is not None:
        for gpus in between:
            seconds, watts = fitted.seconds(gpus, 1.0), fitted.watts(gpus, 1.0)
            paces[gpus] = Pace(seconds, None if watts is None else watts * seconds)
        if fitted.error is not None:
            source += f"; {', '.join(map(str, between))} by the model, whose median error is {fitted.error.median:.0%}"
    return Known(paces, _left(db, job, past.whole, paces, cluster, now), source)


def _of_runs(ran: Sequence[Ran]) -> tuple[list[Point], str]:
    points = [
        Point(one.gpus, 1.0, one.pace, None if one.joules_each is None else one.joules_each / one.pace) for one in ran
    ]
    return points, f"{plural(sum(len(one.seconds) for one in ran), 'run')} of its own"


def _of_curve(db: sqlite3.Connection, job: OpenJob) -> tuple[list[Point], str]:
    """The curve of that name at its highest power limit; none where several are meant."""
    found = curves(db, job.job_name, job.gpu_type)
    batches = {place.batch for place in found[0].places} if found else set()
    if not found or len({one.gpu for one in found}) > 1 or len(batches) > 1 or not found[0].by_iteration:
        return [], ""
    return [Point(place.gpus, 1.0, place.seconds, place.watts) for place in found[0].places], "a measured curve"


def _left(
    db: sqlite3.Connection, job: OpenJob, whole: int | None, paces: dict[int, Pace], cluster: str, now: int
) -> float | None:
    """The iterations it has yet to do, as the shortest finished job of its name had; None: unknown."""
    if whole is None or job.starts is None or job.gpus not in paces:
        return None
    before = done_before(db, now, cluster, job.user, job.job_name, job.job_id, job.starts, job.restarts)
    if before is None:
        return None
    left = whole - before - (now - job.starts) / paces[job.gpus].seconds
    return left if left > 0 else None
