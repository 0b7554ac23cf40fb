"""The twin of the model `slurm`: when a job could start, by the planned ends of the jobs that run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tests.simulate.twin_slurm_input import RUNNING, Free, Job, Node, Queue
from tests.simulate.twin_slurm_nodes import Chosen, pick

if TYPE_CHECKING:
    from tests.simulate.twin_slurm import Run


class Will(NamedTuple):
    when: int
    chosen: Chosen


def will_run(
    run: Run, job: Job, queue: Queue, nodes: set[Node], start: int, later: int | None, noreserve: bool, now: int
) -> Will | None:
    """When, and on which of the nodes; None: not in the time that is looked at."""
    whole = job.whole_in(queue)
    if start <= now:
        chosen = pick(job, whole, nodes, Node.free, key=lambda node: 2 * node.kind.weight + bool(node.completing))
        if chosen is not None:
            return Will(now, chosen)
    if noreserve:
        return None
    newer = run.set.release >= 2311
    soft = run.set.release >= 2505
    running = sorted(run.having(RUNNING), key=lambda other: (_raw_end(run, other, soft), other.turn))
    ends = [(other.planned_end(now, run.set, soft), other) for other in running]
    back: set[Job] = set()
    if newer:
        back = {other for end, other in ends if end < start}
        chosen = pick(job, whole, nodes, without(back))
        if chosen is not None:
            return Will(now, chosen)
        ends = [each for each in ends if each[0] >= start]
    return _by_ends(run, job, whole, nodes, later if newer else None, now, back, ends)


def _raw_end(run: Run, job: Job, soft: bool) -> int:
    """What running jobs are ordered by: a soft end also where the job has outlived it."""
    end = job.soft_end(run.set) if soft else None
    return job.hard_end if end is None else end


def without(back: set[Job]) -> Callable[[Node], Free]:
    return lambda node: node.free(back)


def _by_ends(
    run: Run,
    job: Job,
    whole: bool,
    nodes: set[Node],
    later: int | None,
    now: int,
    back: set[Job],
    ends: list[tuple[int, Job]],
) -> Will | None:
    """Give back what running jobs hold, group by group; `ends` is the page's list, with the planned ends."""
    s = run.set
    window, group, at = 30, None, 0  # the job at ends[at] is the next one
    while True:
        removed, taken, the_last_round = 0, None, False
        too_many = False
        while True:
            if at == len(ends) or (later is not None and ends[at][0] > later):
                the_last_round = True
                break
            end, other = ends[at]
            at += 1
            if not nodes & set(other.held):
                continue
            if group is None:
                group = end + 30 - end % 30
            back.add(other)
            taken = at - 1
            if at == len(ends):
                the_last_round = True
                break
            if ends[at][0] > group + window:
                break
            if removed > 200:
                too_many = True
                break
            removed += 1
        if too_many:
            continue
        if taken is None:
            return None
        chosen = pick(job, whole, nodes, without(back))
        if chosen is not None:
            if s.release >= 2505:
                having = [i for i in range(taken + 1) if set(ends[i][1].held) & set(chosen)]
                taken = having[-1] if having else taken
            end, last = ends[taken]
            return Will(end if end > now else max(now + 1, last.hard_end + s.kill_wait + s.over_time_limit), chosen)
        if the_last_round or group is None:
            return None
        window = _wider(window, ends[at][0] - group, s.bf_window_linear)


def _wider(window: int, needed: int, linear: int) -> int:
    """At least one step wider, and as many as are needed."""
    if linear > 0:
        return window + linear * max(1, -((window - needed) // linear))
    window *= 2
    while window < needed:
        window *= 2
    return window
