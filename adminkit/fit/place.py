"""What node vectors say of a request: whether it can start now, when, why not, and for how long the room lasts.

A vector is what one node has less what its jobs have; vectors are compared node by node, never added up. Running jobs
end at their limits, reservations keep their nodes, and every waiting job comes before the request: those that backfill
has planned where and when it says, the others in order of priority as soon as they fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from adminkit.fit.request import Request
from adminkit.fit.timeline import NEVER, Need, Timeline, Use, earliest_together, holds, less
from adminkit.slurm.room import READY, Room, RoomJob, RoomNode, RoomQueue, Vector
from adminkit.slurm.site import UNTYPED

Word = Literal["now", "later", "never", "unknown"]

#: Waiting jobs that are placed before a request; backfill looks at bf_max_job_test (500) by default.
PLACED: Final = 500
#: Seconds that a job is taken to need yet which is past its limit.
_PAST: Final = 60
#: What keeps a request from a node, the nearest to a start first.
REASONS: Final = ("priority", "reserved", "busy", "drained", "down", "hidden")


@dataclass(frozen=True, slots=True)
class Said:
    """One source's answer. `at`: epoch seconds, None where it does not know; `why`: one word, `text`: a sentence."""

    word: Word
    at: int | None = None
    why: str = ""
    text: str = ""
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """A Room with its timelines: of running jobs and reservations, and the same with the waiting jobs placed."""

    room: Room
    bare: Mapping[str, Timeline]
    full: Mapping[str, Timeline]
    unplaced: int = 0  # waiting jobs that are not counted

    def inside(self, queue: RoomQueue) -> list[RoomNode]:
        return [node for node in self.room.nodes if queue.name in node.queues]


def board(room: Room) -> Board:
    """Once for a snapshot."""
    runs: dict[str, list[RoomJob]] = {}
    for job in room.jobs:
        for name in job.nodes if job.runs else ():
            runs.setdefault(name, []).append(job)
    bare = {node.name: _line(node, room, runs.get(node.name, ())) for node in room.nodes}
    full = {name: line.copy() for name, line in bare.items()}
    unplaced = _place(room, full)
    return Board(room, bare, full, unplaced)


def need_of(request: Request, queue: RoomQueue, memory: bool) -> Need:
    """What the request takes in this queue: with its default limit and memory, in CPUs where memory is counted so."""
    cpus, mem, whole = request.cpus, request.mem, queue.whole
    if mem is None and queue.default_mem_cpu:
        mem = queue.default_mem_cpu * cpus
    elif mem is None:
        mem = queue.default_mem_node
    if mem and queue.max_mem_cpu:
        cpus = max(cpus, -(-mem // queue.max_mem_cpu))
    limit = request.time_limit or queue.default_limit or queue.max_limit or NEVER // 2
    if memory and not mem:  # 0, and no default: all of the node's
        return Need(cpus, -1, request.gpus, request.gpu_type, limit, whole)
    return Need(cpus, mem or 0, request.gpus, request.gpu_type, limit, whole)


def need_of_job(job: RoomJob) -> Need:
    """What a job takes of each of its nodes."""
    kinds = [(kind, many) for kind, many in job.each.gpus.items() if many]
    kind, many = kinds[0] if len(kinds) == 1 else (None, sum(number for _, number in kinds))
    return Need(job.each.cpus, job.each.mem, many, None if kind == UNTYPED else kind, job.time_limit or NEVER // 2)


def in_line(room: Room) -> list[RoomJob]:
    """The jobs that wait, by priority."""
    return sorted((job for job in room.jobs if job.state == "PENDING"), key=lambda job: (-job.priority, job.job_id))


def by_vectors(board: Board, request: Request, waiting: bool = True) -> Said:
    """Whether, when and where it can start; `waiting`: behind the jobs that wait already."""
    lines = board.full if waiting else board.bare
    queue = board.room.queue(request.queue)
    if queue is None:
        return Said(
            "never", None, "queue", "there is no such queue" if request.queue else "no queue is the default one"
        )
    if refused := _rules(request, queue):
        return refused
    need = need_of(request, queue, board.room.memory)
    fit = [node for node in board.inside(queue) if _holds(node, need)]
    if queue.max_cpus_node is not None and need.cpus > queue.max_cpus_node:
        return Said("never", None, "limit", f"this queue gives {queue.max_cpus_node} CPUs of a node at most")
    if not fit:
        return Said("never", None, "size", _largest(board.inside(queue)))
    starts = {node.name: lines[node.name].earliest(_own(need, node)) for node in fit if not node.away}
    first = min(starts.values(), default=NEVER)
    where = tuple(name for name, at in starts.items() if at == first)[:8]
    if first <= board.room.at:
        return Said("now", board.room.at, "", f"{where[0]} has room", where)
    why = Counter(_why(board, node, need) for node in fit)
    main = next(word for word in REASONS if why[word])
    return Said(
        "later", first if first < NEVER else None, main, _sentence(why, len(fit)), where if first < NEVER else ()
    )


def take(board: Board, request: Request) -> Board | None:
    """The board with this request on a node from now on, as a hub books what it has accepted; None without room."""
    queue = board.room.queue(request.queue)
    said = by_vectors(board, request)
    if queue is None or said.word != "now":
        return None
    name = said.nodes[0]
    need = _own(need_of(request, queue, board.room.memory), board.full[name].node)
    use = Use(board.room.at, board.room.at + need.seconds, need.on(board.full[name].node))
    lines = [{**every, name: every[name].copy()} for every in (board.bare, board.full)]
    for every in lines:
        every[name].add(use)
    return replace(board, bare=lines[0], full=lines[1])


def free_for(board: Board, request: Request) -> int:
    """The longest limit, seconds, with which it could start now; 0 for none."""
    queue = board.room.queue(request.queue)
    if queue is None or not queue.up:
        return 0
    need = need_of(request, queue, board.room.memory)
    inside = [node for node in board.inside(queue) if not node.away and _holds(node, need)]
    found = max((board.full[node.name].free_for(_own(need, node)) for node in inside), default=0)
    return found if queue.max_limit is None else min(found, queue.max_limit)


def _rules(request: Request, queue: RoomQueue) -> Said | None:
    """What the queue itself refuses."""
    if not queue.up:
        return Said("later", None, "queue", f"{queue.name} starts no jobs now")
    if queue.max_limit is not None and (request.time_limit or 0) > queue.max_limit:
        return Said("never", None, "limit", f"{queue.name} allows {queue.max_limit // 60} minutes at most")
    if queue.max_mem_node and (request.mem or 0) > queue.max_mem_node:
        return Said("never", None, "limit", f"{queue.name} allows {queue.max_mem_node >> 20} MiB of a node at most")
    return None


def _own(need: Need, node: RoomNode) -> Need:
    """The need with all of this node's memory, where it takes all."""
    return replace(need, mem=node.has.mem) if need.mem < 0 else need


def _holds(node: RoomNode, need: Need) -> bool:
    """Whether the node is large enough."""
    return holds(node.has, _own(need, node), node)


def _largest(nodes: Sequence[RoomNode]) -> str:
    if not nodes:
        return "the queue has no nodes"
    cpus = max(node.has.cpus for node in nodes)
    mem = max(node.has.mem for node in nodes) >> 20
    gpus = max(sum(node.has.gpus.values()) for node in nodes)
    kinds = sorted({kind for node in nodes for kind in node.has.gpus})
    return f"no node has as much: the most are {cpus} CPUs, {mem} MiB, {gpus} GPUs ({', '.join(kinds[:8]) or 'none'})"


def _why(board: Board, node: RoomNode, need: Need) -> str:
    """What keeps the request from this node."""
    if node.away:
        return node.away
    own, now = _own(need, node), board.room.at
    if board.bare[node.name].earliest(own) == now:
        return "priority"
    if holds(less(node.has, node.taken), own, node):
        return "reserved"
    return "hidden" if board.bare[node.name].earliest(own) == NEVER else "busy"


_TEXTS: Final = {
    "priority": "kept for waiting jobs of higher priority (age, fair share, size)",
    "reserved": "reserved",
    "busy": "busy",
    "drained": "drained",
    "down": "down",
    "hidden": "busy until nobody knows when",
}


def _sentence(why: Mapping[str, int], fit: int) -> str:
    parts = ", ".join(f"{why[word]} {_TEXTS[word]}" for word in REASONS if why.get(word))
    return f"of {fit} {'node' if fit == 1 else 'nodes'} large enough: {parts}"


def _line(node: RoomNode, room: Room, runs: Sequence[RoomJob]) -> Timeline:
    """Running jobs until they end, what nobody shows for good, reservations whole."""
    line = Timeline(node, room.at)
    rest_cpus, rest_mem, gpus = node.taken.cpus, node.taken.mem, Counter(node.taken.gpus)
    for job in runs:
        ends = NEVER if job.ends is None else max(job.ends, room.at + _PAST)
        line.add(Use(room.at, ends, job.each))
        rest_cpus, rest_mem = rest_cpus - job.each.cpus, rest_mem - job.each.mem
        gpus.subtract(job.each.gpus)
    left = sum(gpus.values())
    rest = Vector(max(0, rest_cpus), max(0, rest_mem), {k: n for k, n in gpus.items() if n > 0} if left > 0 else {})
    if rest.cpus or rest.mem or rest.gpus:
        line.add(Use(room.at, NEVER, rest))
    for one in room.reserved:
        if node.name in one.nodes:
            line.add(Use(one.starts, one.ends, node.has))
    return line


def _place(room: Room, lines: Mapping[str, Timeline]) -> int:
    """Put every waiting job that is ready where it will run; how many there was no place for."""
    waiting = in_line(room)
    planned = [job for job in waiting if job.nodes and job.starts is not None]
    ready = [job for job in waiting if not (job.nodes and job.starts is not None) and job.reason in READY]
    for job in planned:
        assert job.starts is not None
        starts = max(job.starts, room.at)
        for name in job.nodes:
            if name in lines:
                lines[name].add(Use(starts, starts + (job.time_limit or NEVER), job.each))
    left = len(ready[PLACED:])
    for job in ready[:PLACED]:
        left += not _placed(room, lines, job)
    return left


def _placed(room: Room, lines: Mapping[str, Timeline], job: RoomJob) -> bool:
    queues = set(job.queue.split(","))
    need = need_of_job(job)
    inside = [lines[node.name] for node in room.nodes if node.queues & queues and not node.away]
    at, where = earliest_together(inside, need, job.many)
    for line in where:
        line.add(Use(at, at + need.seconds, job.each))
    return bool(where)
