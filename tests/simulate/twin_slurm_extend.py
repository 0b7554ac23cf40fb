"""The twin of the model `slurm`: one round of extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adminkit.simulate.core import NONE
from tests.simulate.twin_slurm_input import RUNNING, WAITING, Job, Node
from tests.simulate.twin_slurm_nodes import eligible

if TYPE_CHECKING:
    from tests.simulate.twin_slurm import Run


def extend(run: Run, t: int) -> None:
    every = run.set.extend_every
    if every and (t - run.origin) % every == 0:
        Round(run, t).run()


class Round:
    def __init__(self, run: Run, t: int) -> None:
        self.of, self.t = run, t

    def run(self) -> None:
        found = sorted(filter(self.is_looked_at, self.of.having(RUNNING)), key=lambda job: (job.hard_end, job.turn))
        lowered = [job for job in found if self.takes_back(job)]
        wanted = self.wanted()
        for job in found:
            if job not in lowered and job.hard_end - self.t <= self.lead(job):
                self.give(job, wanted)

    def lead(self, job: Job) -> int:
        return min(self.of.set.extend_lead, max(120, job.asked // 2))

    def is_looked_at(self, job: Job) -> bool:
        if NONE in (job.asked, job.most_limit) or job.hard_end <= self.t:
            return False
        return job.ran_with > job.asked or job.hard_end - self.t <= self.lead(job)

    def plans_on(self, job: Job) -> list[tuple[Job, int]]:
        """Waiting jobs that are planned on its nodes for its end or later."""
        plans = [(one, when) for one, when, nodes in self.of.plans if one.state == WAITING and nodes & set(job.held)]
        return [(one, when) for one, when in plans if when >= job.hard_end]

    def takes_back(self, job: Job) -> bool:
        last = job.hard_end + max(60, self.of.set.bf_resolution)
        behind = [one for one, when in self.plans_on(job) if when <= last and one.submit >= job.raised_at]
        limit = max(job.asked, -((job.start - self.t - self.lead(job)) // 60) * 60)
        if job.ran_with <= job.asked or not behind or job.ran_with - limit < 60:
            return False
        job.raises = job.raises if limit > job.asked else 0
        self.set_limit(job, limit)
        self.of.facts["lowered"] += 1
        return True

    def wanted(self) -> set[Node]:
        planned = {one for one, _, _ in self.of.plans}
        return {
            node
            for job in self.of.having(WAITING)
            if job not in planned
            for queue in {*job.main, *job.back}
            for node in self.of.nodes
            if node.in_queue(queue) and eligible(job, node)
        }

    def give(self, job: Job, wanted: set[Node]) -> None:
        s = self.of.set
        assert job.queue is not None
        most = job.most_limit if job.queue.longest == NONE else min(job.most_limit, job.queue.longest)
        more = max(0, min(job.step, most - job.ran_with)) // 60 * 60
        least = max(60, min(300, job.step))
        if job.raises >= s.extend_times or more < least or any(node.down for node in job.held):
            self.of.facts["refused_most"] += 1
        elif wanted & set(job.held):
            self.of.facts["refused_waiting"] += 1
        else:
            until = min([job.hard_end + more, *(when for _, when in self.plans_on(job))])
            more = (until - job.hard_end) // 60 * 60
            if more < least:
                self.of.facts["refused_planned"] += 1
                return
            job.raises += 1
            job.raised_at = self.t
            self.of.facts["raises"] += 1
            self.set_limit(job, job.ran_with + more)

    def set_limit(self, job: Job, limit: int) -> None:
        self.of.end_with(job, limit)
        self.of.change(self.t)
