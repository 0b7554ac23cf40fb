"""What the running jobs, the reservations and what nobody shows take of a node, and until when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from adminkit.fit.timeline import NEVER, Timeline, Use, gpus_left, less
from adminkit.slurm.room import Room, RoomJob, RoomNode, Vector
from adminkit.slurm.shares import gpu_type, matching, of_whole

#: Seconds that a job is taken to need yet which is past its limit.
PAST: Final = 60


def runs_by_node(room: Room) -> dict[str, list[RoomJob]]:
    """The jobs that run on each node."""
    runs: dict[str, list[RoomJob]] = {}
    for job in room.jobs:
        for name in job.nodes if job.runs else ():
            runs.setdefault(name, []).append(job)
    return runs


def running(node: RoomNode, room: Room, runs: Sequence[RoomJob]) -> Timeline:
    """The node's timeline: running jobs until they end, what nobody shows for good, reservations whole."""
    line = Timeline(node, room.at)
    rest_cpus, rest_mem, gpus = node.taken.cpus, node.taken.mem, Counter(node.taken.gpus)
    shares = Counter(node.taken.shares)
    for job, part in with_cut(node, _shares(node, runs, room.hidden > 0)):
        ends = NEVER if job.ends is None else max(job.ends, room.at + PAST)
        line.add(Use(room.at, ends, part))
        rest_cpus, rest_mem = rest_cpus - part.cpus, rest_mem - part.mem
        gpus.subtract(part.gpus)
        shares.subtract(part.shares)
    left = sum(gpus.values())
    rest = Vector(max(0, rest_cpus), max(0, rest_mem), gpus_left(gpus) if left > 0 else {})
    if node.has.shares:
        rest = replace(rest, shares={key: many for key, many in shares.items() if many > 0})
    if rest.cpus or rest.mem or rest.gpus or rest.shares:
        line.add(Use(room.at, NEVER, rest))
    if node.power == "falling":  # given to nobody until it is down
        line.add(Use(room.at, NEVER if node.falls is None else room.at + node.falls, node.has))
    for one in room.reserved:
        if node.name in one.nodes:
            line.add(Use(one.starts, one.ends, node.has))
    return line


def with_cut(node: RoomNode, parts: list[tuple[RoomJob, Vector]]) -> list[tuple[RoomJob, Vector]]:
    """Each job's part with the GPU that its shards cut, and with the shards of its whole GPUs.

    Which GPU a job's shards are of is not listed: the jobs that end last have one each, as many as are cut.
    """
    if not node.has.shares:
        return parts
    left, made = Counter(node.cut), []
    for job, part in sorted(parts, key=lambda one: NEVER if one[0].ends is None else one[0].ends, reverse=True):
        whole = replace(part, shares=of_whole(part.gpus, node.has.shares, node.has.gpus))
        keys = [key for asked in part.shares for key in matching(asked, node.has.shares)]
        if keys:
            kind = gpu_type(keys[0], node.has.gpus)
            holds_one, left[kind] = left[kind] > 0, left[kind] - 1
            whole = replace(part, gpus={kind: 1} if holds_one else {}, shares={keys[0]: sum(part.shares.values())})
        made.append((job, whole))
    return made


def _shares(node: RoomNode, runs: Sequence[RoomJob], hidden: bool) -> list[tuple[RoomJob, Vector]]:
    """Each job's part of the node. Slurm lists only those of one-node jobs: a job of several nodes has what the
    others leave of what is taken. Where two of several nodes are not even, the one that ends last has all of that.

    `hidden`: jobs that are not shown may have a part, so that nothing is left over for those that are.
    """
    several = [job for job in runs if job.many > 1]
    each = [(job, job.each) for job in runs if job.many == 1]
    rest = node.taken
    for _, part in each:
        rest = less(rest, part)
    even = rest
    for job in several:
        even = less(even, job.each)
    if hidden or not several or (not even.cpus and not even.mem and not gpus_left(even.gpus)):
        return [*each, *((job, job.each) for job in several)]
    last = max(several, key=lambda job: NEVER if job.ends is None else job.ends)
    return [*each, (last, Vector(max(0, rest.cpus), max(0, rest.mem), gpus_left(rest.gpus)))]
