"""What node vectors say of a request: whether it can start now, when, why not, and for how long the room lasts.

A vector is what one node has less what its jobs have; vectors are compared node by node, never added up. Running jobs
end at their limits, reservations keep their nodes, and every waiting job comes before the request: those that backfill
has planned where and when it says, the others in order of priority as soon as they fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from adminkit.fit import sentences
from adminkit.fit.needs import Parts, alike, need_of_job, own, parts_of
from adminkit.fit.request import Request
from adminkit.fit.running import running, runs_by_node
from adminkit.fit.several import chosen, earliest_together, free_together, up_at
from adminkit.fit.timeline import NEVER, Timeline, Use, holds, less
from adminkit.messages import Message, counted, message
from adminkit.quote import quote
from adminkit.slurm.features import parse_features
from adminkit.slurm.room import READY, Room, RoomJob, RoomNode, RoomQueue

Word = Literal["now", "later", "never", "unknown"]

#: Waiting jobs that are placed before a request; backfill looks at bf_max_job_test (500) by default.
PLACED: Final = 500
#: Whys that are of nodes, and so not known where some are not shown.
_OF_NODES: Final = frozenset({"size", "feature", *sentences.REASONS})
#: Nodes that are named.
SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Said:
    """One source's answer. `at`: epoch seconds, None where it does not know; `why`: one word, `text`: a sentence.

    *now* with the why `wakes`: a node has room and is not up. `at` is when it is up at the latest.
    """

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

    def unseen(self, request: Request) -> int:
        """Nodes of its queue that slurmctld does not show."""
        queue = self.room.queue(request.queue)
        return 0 if queue is None else max(0, (queue.total_nodes or 0) - len(self.inside(queue)))


def board(room: Room) -> Board:
    """Once for a snapshot."""
    runs = runs_by_node(room)
    bare = {node.name: running(node, room, runs.get(node.name, ())) for node in room.nodes}
    full = {name: line.copy() for name, line in bare.items()}
    unplaced = _place(room, full)
    return Board(room, bare, full, unplaced)


def in_line(room: Room) -> list[RoomJob]:
    """The jobs that wait, by priority."""
    return sorted((job for job in room.jobs if job.state == "PENDING"), key=lambda job: (-job.priority, job.job_id))


def by_vectors(board: Board, request: Request, waiting: bool = True) -> Said:
    """Whether, when and where it can start; `waiting`: behind the jobs that wait already.

    Trap: where nodes may have different numbers of tasks, Slurm 22.05 starts a job whose CPUs are enough in all, though
    those of each node do not make whole tasks. What hangs on that is not known.
    """
    said = _by_vectors(board, request, waiting)
    if said.word in ("later", "never") and said.why in _OF_NODES and (unseen := board.unseen(request)):
        asleep = message(
            "{nodes} nodes of the queue are asleep, and Slurm hides such nodes (PrivateData)", nodes=unseen
        )
        return Said("unknown", None, "wakes", asleep)
    if request.per_node is not None or request.cpus == 1 or said.word not in ("later", "never"):
        return said
    split = _by_vectors(board, replace(request, cpus=1, ntasks=request.tasks * request.cpus), waiting)
    if split.word == said.word:
        return said if split.at == said.at else replace(said, at=None, nodes=())
    return Said(
        "unknown", None, "size", message("adminkit cannot tell whether a task's CPUs may be split across two nodes")
    )


def _by_vectors(board: Board, request: Request, waiting: bool) -> Said:
    lines = board.full if waiting else board.bare
    queue = board.room.queue(request.queue)
    if queue is None:
        unknown = message("there is no such queue") if request.queue else message("there is no default queue")
        return Said("never", None, "queue", unknown)
    if refused := _rules(request, queue):
        return refused
    parts = parts_of(request, queue, board.room.memory)
    inside = board.inside(queue)
    if request.features is not None:
        inside, unsure = _with_features(inside, request.features)
        if not inside or unsure:
            none = message("no node of {of} has {text}", of=queue.name, text=request.features)
            return unsure or Said("never", None, "feature", none)
    if parts.most is not None and parts.one.cpus > parts.most:
        return Said("never", None, "limit", message("this queue gives at most {cpus} CPUs per node", cpus=parts.most))
    held = parts.large(inside)
    fit = [node for node, _ in held]
    if not parts.enough([tasks for _, tasks in held]):
        return Said("never", None, "size", sentences.too_few(parts, len(fit)) if fit else sentences.largest(inside))
    first, found = _soonest([lines[node.name] for node in fit if not node.away], parts)
    where = tuple(line.node.name for line in found[:SHOWN])
    sleeping = any(line.node.power for line in found)
    up = up_at(first, board.room.at, [line.node for line in found])
    if first <= board.room.at and sleeping:
        return Said("now", up, "wakes", sentences.wakes(parts, where, board.room.at, up), where)
    if first <= board.room.at:
        return Said("now", board.room.at, "", sentences.has_room(parts, where), where)
    why = Counter(word for node in fit if (word := _why(board, lines[node.name], parts)))
    near: tuple[str, ...] = sentences.REASONS
    if not parts.enough([tasks for node, tasks in held if not node.away]):
        near = ("drained", "down", *sentences.REASONS)
    main = next((word for word in near if why[word]), "busy")
    return Said("later", up if first < NEVER else None, main, sentences.sentence(why, len(fit)), where)


def _soonest(lines: Sequence[Timeline], parts: Parts) -> tuple[int, list[Timeline]]:
    """Like earliest_together; where nodes that are up are enough now, those that sleep are left alone, as by Slurm."""
    awake = [line for line in lines if not line.node.power]
    if len(awake) < len(lines):
        first, found = earliest_together(awake, parts, SHOWN)
        if found and first <= found[0].now:
            return first, found
    return earliest_together(lines, parts, SHOWN)


def take(board: Board, request: Request) -> Board | None:
    """The board with this request on a node from now on, as a hub books what it has accepted; None without room."""
    queue = board.room.queue(request.queue)
    said = by_vectors(board, request)
    if queue is None or said.word != "now":
        return None
    parts = parts_of(request, queue, board.room.memory)
    inside = _asked_for(board, queue, request)
    changed = {"bare": dict(board.bare), "full": dict(board.full)}
    awake = _awake_first(node for node in inside if not node.away)
    for line, tasks in chosen([board.full[node.name] for node in awake], parts):
        need = own(parts.need(tasks), line.node)
        for every in changed.values():
            every[line.node.name] = every[line.node.name].copy()
            every[line.node.name].add(Use(board.room.at, board.room.at + need.seconds, need.on(line.node)))
    return replace(board, bare=changed["bare"], full=changed["full"])


def free_for(board: Board, request: Request) -> int:
    """The longest limit, seconds, with which it could start now; 0 for none."""
    queue = board.room.queue(request.queue)
    if queue is None or not queue.up:
        return 0
    parts = parts_of(request, queue, board.room.memory)
    inside = [node for node, _ in parts.large(_asked_for(board, queue, request)) if not node.away]
    found = free_together([board.full[node.name] for node in inside], parts)
    return found if queue.max_limit is None else min(found, queue.max_limit)


def _awake_first(nodes: Iterable[RoomNode]) -> list[RoomNode]:
    return sorted(nodes, key=lambda node: bool(node.power))


def _asked_for(board: Board, queue: RoomQueue, request: Request) -> list[RoomNode]:
    """The nodes of the queue with the features that it asks for."""
    inside = board.inside(queue)
    return inside if request.features is None else _with_features(inside, request.features)[0]


def _with_features(nodes: list[RoomNode], text: str) -> tuple[list[RoomNode], Said | None]:
    """The nodes that have the features; and what to say where that is not known."""
    wanted = parse_features(text)
    if wanted is None:
        return [], Said(
            "unknown", None, "feature", message("adminkit cannot tell which nodes {text} asks for", text=quote(text))
        )
    found = [node for node in nodes if wanted.on(node.features)]
    if any(wanted.on(node.features | node.features_else) for node in nodes if node not in found):
        unsure = message("a node may have {text} after it has been restarted", text=text)
        return found, Said("unknown", None, "feature", unsure)
    return found, None


def _rules(request: Request, queue: RoomQueue) -> Said | None:
    """What the queue itself refuses."""
    of = queue.name
    if not queue.up:
        return Said("later", None, "queue", message("{of} is not starting jobs now", of=of))
    if queue.max_limit is not None and (request.time_limit or 0) > queue.max_limit:
        most = message("{of} allows at most {minutes} minutes", of=of, minutes=queue.max_limit // 60)
        return Said("never", None, "limit", most)
    if queue.max_mem_node and (request.mem or 0) > queue.max_mem_node:
        most = message("{of} allows at most {mem} MiB per node", of=of, mem=queue.max_mem_node >> 20)
        return Said("never", None, "limit", most)
    if queue.max_nodes is not None and (request.nodes or 1) > queue.max_nodes:
        most = message("{of} allows at most {nodes} per job", of=of, nodes=_nodes(queue.max_nodes))
        return Said("never", None, "limit", most)
    if request.nodes is not None and request.nodes < queue.min_nodes:
        least = message("{of} requires at least {nodes} per job", of=of, nodes=_nodes(queue.min_nodes))
        return Said("never", None, "limit", least)
    if request.per_node is None and request.cpus > 1 and (request.exclusive or queue.whole):
        unsure = message(
            "adminkit cannot tell how Slurm will spread the tasks over whole nodes: give the number of tasks per node"
        )
        return Said("unknown", None, "limit", unsure)
    if request.nodes is None and (queue.min_nodes > 1 or queue.max_nodes is not None):
        unsure = message("{of} limits the number of nodes per job: say how many the job needs", of=of)
        return Said("unknown", None, "limit", unsure)
    return None


def _nodes(many: int) -> Message:
    return counted("{number} node", "{number} nodes", many)


def _why(board: Board, line: Timeline, parts: Parts) -> str:
    """What keeps the request from this node; "" where its part has room."""
    node, now = line.node, board.room.at
    if node.away:
        return node.away
    need = own(parts.one, node)
    if line.earliest(need) == now:
        return ""
    if node.power == "falling" and not node.taken.cpus:
        return "wakes"
    if board.bare[node.name].earliest(need) == now:
        return "priority"
    if holds(less(node.has, node.taken), need, node):
        return "reserved"
    return "hidden" if board.bare[node.name].earliest(need) == NEVER else "busy"


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
    queues, need = set(job.queue.split(",")), need_of_job(job)
    inside = _awake_first(node for node in room.nodes if node.queues & queues and not node.away)
    if job.features is not None and (wanted := parse_features(job.features)) is not None:
        inside = [node for node in inside if wanted.on(node.features)]
    at, where = earliest_together([lines[node.name] for node in inside], alike(need, job.many))
    for line in where[: job.many]:
        line.add(Use(at, at + need.seconds, need.on(line.node) if need.whole else job.each))
    return bool(where)
