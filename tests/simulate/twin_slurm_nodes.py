"""The twin of the model `slurm`: which nodes a job can have, and which it gets (docs/simulate-slurm.md, pick)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adminkit.simulate.core import NONE
from tests.simulate.twin_slurm_input import Free, Job, Node, Take

#: The nodes that a job gets, with the CPUs that each gives.
Chosen = dict[Node, int]
Row = list[Node]


def eligible(job: Job, node: Node) -> bool:
    """An empty node of this class can be one of the job's."""
    if job.features & ~node.kind.features:
        return False
    if job.gpu_type != NONE and job.gpu_share != 0 and job.gpu_type != node.kind.gpu_type:
        return False
    return enough_free(job, False, node.when_empty())


def enough_free(job: Job, whole: bool, free: Free) -> bool:
    if whole and not free.empty:
        return False
    return free.cpus >= job.cpu_share and free.gpus >= job.gpu_share and free.mem >= job.mem


def take(job: Job, whole: bool, chosen: Chosen) -> dict[Node, Take]:
    """What the job holds of each of its nodes."""
    if whole:
        return {node: Take(node.kind.cpus, node.kind.gpus, node.kind.mem) for node in chosen}
    return {node: Take(cpus, job.gpu_share, job.mem) for node, cpus in chosen.items()}


def by_weight(node: Node) -> int:
    return node.kind.weight


def pick(
    job: Job,
    whole: bool,
    nodes: Iterable[Node],
    free: Callable[[Node], Free],
    key: Callable[[Node], int] = by_weight,
) -> Chosen | None:
    """The nodes that the job gets of these; None where it cannot run there."""
    room_on = {node: free(node) for node in sorted(nodes, key=lambda node: node.number)}
    usable = [node for node in room_on if enough_free(job, whole, room_on[node])]
    if len(usable) < job.least:
        return None
    cpus = {node: room_on[node].cpus for node in usable}
    rows = rows_of(usable, key)
    req = job.most
    rem_nodes, rem_cpus, room = req, job.cpus, job.most
    chosen: Chosen = {}
    while rows and room > 0:
        row = best(rows, cpus, key, rem_cpus, rem_nodes + (job.least - req))
        considered = row
        if rem_nodes <= 1:
            alone = [node for node in row if cpus[node] >= rem_cpus]
            considered = [min(alone, key=lambda node: (cpus[node], node.number))] if alone else row
        for node in considered:
            if (rem_nodes <= 0 and rem_cpus <= 0) or room == 0:
                break
            if room == 1 and cpus[node] < rem_cpus:
                continue
            chosen[node] = use(job, whole, cpus[node], rem_cpus, rem_nodes)
            rem_nodes -= 1
            room -= 1
            rem_cpus -= chosen[node]
        if rem_nodes <= 0 and rem_cpus <= 0:
            return chosen
        rows.remove(row)
    return chosen if rem_cpus <= 0 and rem_nodes + (job.least - req) <= 0 else None


def rows_of(usable: list[Node], key: Callable[[Node], int]) -> list[Row]:
    """Nodes with consecutive numbers and one key, in rows that are as long as possible."""
    rows: list[Row] = []
    for node in usable:
        last = rows[-1][-1] if rows else None
        if last is not None and last.number + 1 == node.number and key(last) == key(node):
            rows[-1].append(node)
        else:
            rows.append([node])
    return rows


def best(rows: list[Row], cpus: dict[Node, int], key: Callable[[Node], int], rem_cpus: int, nodes: int) -> Row:
    """The row to take nodes from next; `nodes` is how many it should have."""
    found: Row | None = None
    for row in rows:
        if found is None or key(row[0]) < key(found[0]):
            found = row
            continue
        if key(row[0]) != key(found[0]):
            continue
        all_cpus, best_cpus = sum(cpus[node] for node in row), sum(cpus[node] for node in found)
        enough = all_cpus >= rem_cpus and len(row) >= nodes
        best_enough = best_cpus >= rem_cpus and len(found) >= nodes
        better_than_enough = enough and (not best_enough or all_cpus < best_cpus)
        # Trap: a row that is not enough can replace one that is.
        if better_than_enough or (not enough and all_cpus > best_cpus):
            found = row
    assert found is not None
    return found


def use(job: Job, whole: bool, cpus: int, rem_cpus: int, rem_nodes: int) -> int:
    """The CPUs that a chosen node gives."""
    if whole:
        return cpus
    if job.most == job.least:
        return job.cpu_share
    return min(cpus, max(1, rem_cpus - max(0, rem_nodes - 1)))
