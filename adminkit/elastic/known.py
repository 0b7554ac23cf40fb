"""How fast a job goes with each number of GPUs, and how much it has yet to do: by its user's own runs of that name,
else by the one measured curve of that name. What lies between measured numbers is the model's, which says how far off
it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from adminkit.elastic.plan import Known, Pace
from adminkit.elastic.words import range_of
from adminkit.power.scaling import Point, model
from adminkit.slurm.elastic_jobs import OpenJob
from adminkit.stats.iterations import done_before, least_whole
from adminkit.stats.power_curve import curves
from adminkit.stats.progress import progress

#: Numbers of GPUs that are looked at beside measured ones.
_DOUBLED: Final = tuple(1 << power for power in range(11))


def known_of(
    db: sqlite3.Connection, jobs: Sequence[OpenJob], cluster: str, node_watts: float, now: int
) -> dict[int, Known]:
    """By job id; a job of which nothing is known has no paces."""
    return {job.job_id: _known(db, job, cluster, node_watts, now) for job in jobs if range_of(job.comment) is not None}


def _known(db: sqlite3.Connection, job: OpenJob, cluster: str, node_watts: float, now: int) -> Known:
    points, source = _of_runs(db, job, cluster, node_watts, now)
    if not points:
        points, source = _of_curve(db, job)
    if not points:
        return Known()
    paces = {one.gpus: Pace(one.seconds, None if one.watts is None else one.watts * one.seconds) for one in points}
    fitted = model(points)
    between = [gpus for gpus in _DOUBLED if min(paces) < gpus < max(paces) and gpus not in paces]
    if fitted is not None and between:
        for gpus in between:
            seconds, watts = fitted.seconds(gpus, 1.0), fitted.watts(gpus, 1.0)
            paces[gpus] = Pace(seconds, None if watts is None else watts * seconds)
        if fitted.error is not None:
            source += f"; {', '.join(map(str, between))} by the model, off by {fitted.error.median:.0%} in the median"
    return Known(paces, _left(db, job, paces, cluster, now), source)


def _of_runs(
    db: sqlite3.Connection, job: OpenJob, cluster: str, node_watts: float, now: int
) -> tuple[list[Point], str]:
    told = progress(db, now, node_watts, cluster=cluster, user=job.user, name=job.job_name)
    ran = told.get((job.user, job.job_name), [])
    points = []
    for one in ran:
        seconds = one.elapsed / one.iterations
        joules = one.energy / one.metered if one.metered else None
        points.append(Point(one.gpus, 1.0, seconds, None if joules is None else joules / seconds))
    return points, f"{sum(len(one.seconds) for one in ran)} runs of its own"


def _of_curve(db: sqlite3.Connection, job: OpenJob) -> tuple[list[Point], str]:
    """The curve of that name at its highest power limit; none where several are meant."""
    found = curves(db, job.job_name, job.gpu_type)
    batches = {place.batch for place in found[0].places} if found else set()
    if not found or len({one.gpu for one in found}) > 1 or len(batches) > 1 or not found[0].by_iteration:
        return [], ""
    return [Point(place.gpus, 1.0, place.seconds, place.watts) for place in found[0].places], "a measured curve"


def _left(db: sqlite3.Connection, job: OpenJob, paces: dict[int, Pace], cluster: str, now: int) -> float | None:
    """The iterations it has yet to do, as the shortest finished job of its name had; None: unknown."""
    whole = least_whole(db, now, cluster, job.user, job.job_name)
    if whole is None or job.starts is None or job.gpus not in paces:
        return None
    before = done_before(db, now, cluster, job.user, job.job_name, job.job_id, job.starts, job.restarts)
    if before is None:
        return None
    left = whole - before - (now - job.starts) / paces[job.gpus].seconds
    return left if left > 0 else None
