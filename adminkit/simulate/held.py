"""Soft limits are held back while a wide job waits: which jobs of a schedule keep theirs.

The guard takes the soft limits of waiting jobs while a wide one waits, and the script gives none. Who waits follows
from the schedule, and the schedule from who has a soft limit; so the run is made again until both agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adminkit.simulate.case import Case, Column, Mask
from adminkit.simulate.core import NONE, Request, Schedule, simulate

#: Runs after which the schedule stays as it is: the first moments settle first, so the last ones may still differ.
MOST_RUNS: Final = 8
#: The share of jobs that may still differ.
SETTLED: Final = 0.001
#: Later than every job starts.
_NEVER: Final = 1 << 60


def held(
    with_plan: Callable[[Column], Case],
    plan: Column,
    wide: Mask,
    run: Callable[[Request], Schedule] = simulate,
    beside: Column | int = NONE,
) -> Column:
    """`plan` with `beside` for each job that was waiting at some time while a job of `wide` waited, on nodes of one
    queue.

    `with_plan` gives the case with these plans.
    """
    import numpy as np

    kept = plan
    for _ in range(MOST_RUNS if wide.any() else 0):
        case = with_plan(kept)
        schedule = run(case.request)
        ran = schedule.start != NONE
        begin = np.where(ran, schedule.start, _NEVER)
        after = np.where(_beside(case, wide & ran, begin), beside, plan)
        changed = float((after != kept).mean())
        kept = after
        if changed <= SETTLED:
            break
    return kept


def wide_jobs(case: Case, percent: int) -> Mask:
    """The jobs that ask for `percent` of the nodes of one of their queues, or of the pool; none for 0."""
    import numpy as np

    if not percent:
        return np.zeros(case.count, bool)
    if case.request.model != "slurm":
        return case.column("procs") * 100 >= percent * case.request.settings.get("procs", 1)
    wide = np.zeros(case.count, bool)
    for place in range(len(case.names["queues"])):
        nodes = sum(one.get("count", 1) for one in case.request.nodes if one.get("queues", 1) >> place & 1)
        wide |= case.in_queue(place) & (case.column("nodes", 1) * 100 >= percent * nodes)
    return wide


def _beside(case: Case, wide: Mask, begin: Column) -> Mask:
    """Which jobs waited while a wide one did that may run on the same nodes."""
    import numpy as np

    submit, queues = case.column("submit"), case.column("queues", 1)
    waited = wide & (begin > submit)
    found = np.zeros(case.count, bool)
    if case.request.model != "slurm":
        return found | _touch(submit[waited], begin[waited], submit, begin)
    for mask in np.unique(queues[waited]).tolist():
        here = waited & (queues == mask)
        near = (queues & _sharing(case, mask)) != 0
        found[near] |= _touch(submit[here], begin[here], submit[near], begin[near])
    return found


def _sharing(case: Case, mask: int) -> int:
    """The queues that share nodes with those of a mask."""
    found = mask
    for one in case.request.nodes:
        there = one.get("queues", 1)
        found |= there if there & mask else 0
    return found


def _touch(begin: Column, end: Column, since: Column, until: Column) -> Mask:
    """Which of the intervals since … until meet one of begin … end."""
    import numpy as np

    order = np.argsort(begin, kind="stable")
    latest = np.maximum.accumulate(end[order])
    last = np.searchsorted(begin[order], until, side="right") - 1
    if not len(begin):
        return last >= 0
    met: Mask = (last >= 0) & (latest[np.maximum(last, 0)] > since)
    return met
