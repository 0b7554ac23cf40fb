"""The twin of the model `slurm`: which queues a job goes into, its priority, and the limits of its QOS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adminkit.simulate.core import NONE
from tests.simulate.twin_slurm_input import Job, Node, Qos, Queue, Settings
from tests.simulate.twin_slurm_nodes import eligible, pick

MOST_PRIORITY = 2**32 - 1


def queues_of(job: Job, queues: Sequence[Queue], nodes: Sequence[Node], limit: int) -> list[Queue]:
    """The queues that the job goes into, where `limit` is what they compare with their largest one."""
    return [queue for queue in queues if job.queues >> queue.number & 1 and takes(queue, job, nodes, limit)]


def takes(queue: Queue, job: Job, nodes: Sequence[Node], limit: int) -> bool:
    if not queue.up:
        return False
    if queue.min_nodes != NONE and queue.min_nodes > job.most:
        return False
    if queue.max_nodes != NONE and job.least > queue.max_nodes:
        return False
    if limit != NONE and queue.longest != NONE and limit > queue.longest:
        return False
    possible = [node for node in nodes if node.in_queue(queue) and eligible(job, node)]
    return pick(job, job.whole_in(queue), possible, Node.when_empty) is not None


def alone_above(job: Job, qos: Qos | None) -> bool:
    """It can never start, for its QOS lets no such job run."""
    if qos is None:
        return False
    cpus, gpus = (qos.max_user_cpus, qos.group_cpus), (qos.max_user_gpus, qos.group_gpus)
    pairs = [(job.cpus, cpus), (job.gpus, gpus), (1, (qos.max_user_jobs, qos.group_jobs))]
    return any(limit != NONE and amount > limit for amount, limits in pairs for limit in limits)


def held(job: Job, qos: Qos | None, running: Iterable[Job]) -> bool:
    """One of the limits of its QOS would be broken if it ran, too."""
    if qos is None:
        return False
    group = [other for other in running if other.qos == job.qos]
    users = [other for other in group if other.user == job.user] if job.user != NONE else None
    checks = [(group, (qos.group_jobs, qos.group_cpus, qos.group_gpus))]
    if users is not None:
        checks.append((users, (qos.max_user_jobs, qos.max_user_cpus, qos.max_user_gpus)))
    for others, limits in checks:
        everyone = [*others, job]
        amounts = (len(everyone), sum(each.cpus for each in everyone), sum(each.gpus for each in everyone))
        if any(limit != NONE and amount > limit for amount, limit in zip(amounts, limits, strict=True)):
            return True
    return False


class Priority:
    """What a priority is computed of, for one site."""

    def __init__(self, settings: Settings, queues: Sequence[Queue], nodes: Sequence[Node], qos: Sequence[Qos]) -> None:
        self.settings, self.qos = settings, qos
        self.nodes, self.cpus = len(nodes), sum(node.kind.cpus for node in nodes)
        self.largest_factor = max(queue.factor for queue in queues)
        self.largest_qos = max((each.priority for each in qos), default=0)

    def of(self, job: Job, queue: Queue, t: int) -> int:
        if job.priority != NONE:
            return job.priority
        s = self.settings
        age = self._age(job, t) * s.priority_weight_age if s.priority_weight_age else 0.0
        size = self._size(job) * s.priority_weight_job_size if s.priority_weight_job_size else 0.0
        part = self._part(queue) * s.priority_weight_partition if s.priority_weight_partition else 0.0
        qos = self._qos(job) * s.priority_weight_qos if s.priority_weight_qos else 0.0
        value = age + size + part + qos + float(job.site_factor) - float(job.nice)
        return int(min(max(value, 1.0), float(MOST_PRIORITY)))

    def _age(self, job: Job, t: int) -> float:
        if t <= job.submit:
            return 0.0
        waited, longest = t - job.submit, self.settings.priority_max_age
        return 1.0 if waited >= longest else waited / longest

    def _size(self, job: Job) -> float:
        nodes, cpus = self.nodes, self.cpus
        if self.settings.priority_favor_small:
            by_nodes = (nodes - job.least) / nodes if nodes > job.least else 0.0
            by_cpus = (cpus - job.cpus) / cpus
        else:
            by_nodes, by_cpus = job.least / nodes, job.cpus / cpus
        size = (by_nodes + by_cpus) / 2 if job.cpus else by_nodes
        return min(max(size, 0.0), 1.0)

    def _part(self, queue: Queue) -> float:
        return queue.factor / self.largest_factor if queue.factor else 0.0

    def _qos(self, job: Job) -> float:
        priority = self.qos[job.qos].priority if job.qos != NONE else 0
        return priority / self.largest_qos if priority else 0.0
