"""What a schedule is worth: waits, slowdowns, utilisation. Pure, over numpy columns; times in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

#: Seconds below which a run counts as this long, so that a job of a second that waited a minute is not 60 times slowed.
TAU: Final = 10
#: The first hundredth of the jobs fills an empty machine: the steady part begins behind it.
WARM_UP: Final = 100


@dataclass(frozen=True, slots=True)
class Metrics:
    """Measures of a schedule, or of some of its jobs. None: no job to measure. Durations in seconds, shares 0 to 1."""

    jobs: int  # that ran
    not_run: int
    killed: int  # at their limit
    avebsld: float | None  # mean bounded slowdown of all jobs
    mean_bsld: float | None  # of those submitted and ended in the steady part
    mean_wait: float | None
    median_wait: float | None
    p95_wait: float | None
    mean_turnaround: float | None
    makespan: int | None  # from the first submission to the last end
    utilization: float | None  # in the steady part
    utilization_all: float | None  # over the makespan


def bounded_slowdown(submit: Numbers, start: Numbers, end: Numbers) -> Floats:
    """max(1, turnaround / max(run, TAU)) of each job."""
    import numpy as np

    slowed: Floats = np.maximum(1.0, (end - submit) / np.maximum(end - start, TAU))
    return slowed


def steady_part(submit: Numbers) -> tuple[int, int]:
    """When it begins and ends: at the submission behind the first hundredth of the jobs, and at the last one."""
    import numpy as np

    place = -(-len(submit) // WARM_UP)
    first = np.partition(submit, place)[place] if place < len(submit) else submit.max()
    return int(first), int(submit.max())


def used(start: Numbers, end: Numbers, size: Numbers, since: int, until: int) -> int:
    """Unit-seconds in which jobs held their `size` units between two moments."""
    import numpy as np

    held = np.minimum(end, until) - np.maximum(start, since)
    return int((np.maximum(held, 0) * size).sum())


def measure(
    submit: Numbers,
    start: Numbers,
    end: Numbers,
    killed: Mask,
    size: Numbers,
    units: int | None,
    part: Mask | None = None,
) -> Metrics:
    """Measure a schedule: a job that did not run has -1 for `start`. `units`: of the machine; None: unknown.

    `part` takes some of the jobs; the steady part and the makespan are always those of all.
    """
    import numpy as np

    ran = start >= 0
    mine = ran if part is None else ran & part
    not_run = int((~ran if part is None else ~ran & part).sum())
    if not mine.any():
        return Metrics(0, not_run, 0, *[None] * 9)
    steady = steady_part(submit[ran])
    span = int(submit[ran].min()), int(end[ran].max())
    submit, start, end, size = submit[mine], start[mine], end[mine], size[mine]
    slowdown = bounded_slowdown(submit, start, end)
    within = (submit >= steady[0]) & (end <= steady[1])
    wait = start - submit

    def share(since: int, until: int) -> float | None:
        return used(start, end, size, since, until) / (units * (until - since)) if units and until > since else None

    return Metrics(
        jobs=int(mine.sum()),
        not_run=not_run,
        killed=int(killed[mine].sum()),
        avebsld=float(slowdown.mean()),
        mean_bsld=float(slowdown[within].mean()) if within.any() else None,
        mean_wait=float(wait.mean()),
        median_wait=float(np.median(wait)),
        p95_wait=float(np.quantile(wait, 0.95)),
        mean_turnaround=float((end - submit).mean()),
        makespan=span[1] - span[0],
        utilization=share(*steady),
        utilization_all=share(*span),
    )
