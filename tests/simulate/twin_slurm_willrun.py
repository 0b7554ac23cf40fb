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
    ends = [(other.planned_end(now, run.set, soft), other.turn, other) for other in run.having(RUNNING)]
    back: set[Job] = set()
    if newer:
        back = {other for end, _, other in ends if end < start}
        chosen = pick(job, whole, nodes, without(back))
        if chosen is not None:
            return Will(now, chosen)
        ends = [each for each in ends if each[0] >= start]
    ends.sort(key=lambda each: (each[2].ordering_end(run.set, soft), each[1]))
    return _by_ends(run, job, whole, nodes, later if newer else None, now, back, ends)


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
    ends: list[tuple[int, int, Job]],
) -> Will | None:
    """Give back what running jobs hold, group by group."""
    s = run.set
    window, group, at = 30, None, 0  # the job at ends[at] is the next one
    while True:
        removed, last, the_last_round = 0, None, False
        too_many = False
        while True:
            if at == len(ends) or (later is not None and ends[at][0] > later):
                the_last_round = True
                break
            end, _, other = ends[at]
            at += 1
            if not nodes & set(other.held):
                continue
            if group is None:
                group = end + 30 - end % 30
            back.add(other)
            last = at - 1
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
        if last is None:
            return None
        chosen = pick(job, whole, nodes, without(back))
        if chosen is not None:
            if s.release >= 2505:
                last = max((i for i in range(last + 1) if chosen_has(chosen, ends[i][2])), default=last)
            end, _, other = ends[last]
            return Will(end if end > now else max(now + 1, other.hard_end + s.kill_wait + s.over_time_limit), chosen)
        if the_last_round or group is None:
            return None
        window = _wider(window, ends[at][0] - group, s.bf_window_linear)


def chosen_has(chosen: Chosen, job: Job) -> bool:
    return any(node in job.held for node in chosen)


def _wider(window: int, needed: int, linear: int) -> int:
    """At least one step wider, and as many as are needed."""
    if linear > 0:
        return window + linear * max(1, -((window - needed) // linear))
    window *= 2
    while window < needed:
        window *= 2
    return window
