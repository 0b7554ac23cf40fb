"""When a request finds room on several nodes at once."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence

from adminkit.fit.needs import Parts, own
from adminkit.fit.timeline import NEVER, Timeline
from adminkit.slurm.room import RoomNode


def earliest_together(lines: Sequence[Timeline], parts: Parts, most: int = 1) -> tuple[int, list[Timeline]]:
    """The first moment from which enough nodes have room for as long as it takes, and the nodes that have it then, of
    one node's requests `most` at least; NEVER and none where it does not come to that."""
    if parts.nodes == 1 and parts.per_node is not None:
        first, found, one = NEVER, list[Timeline](), parts.one
        for line in lines:
            at = line.earliest(own(one, line.node))
            if at < first:
                first, found = at, []
            if at == first < NEVER:
                found.append(line)
                if at == line.now and len(found) >= most:
                    break
        return first, found
    if parts.per_node is not None and parts.nodes is not None:
        at, together = _by_firsts(lines, parts, parts.nodes)
        if together or at == NEVER:
            return at, together
    changes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, line in enumerate(lines):
        for begin, last in _starts(line, parts):
            changes[begin].append((place, 1))
            changes[last + 1].append((place, -1))
    room = [0] * len(lines)
    for at in sorted(changes):
        for place, by in changes[at]:
            room[place] += by
        if parts.enough(room):
            return at, [line for line, tasks in zip(lines, room, strict=True) if tasks]
    return NEVER, []


def up_at(first: int, now: int, nodes: Sequence[RoomNode]) -> int | None:
    """When all of these are up at the latest that a job gets at `first`; None where that is not known."""
    last = first
    for node in nodes:
        if node.power and node.wakes is None:
            return None
        if node.power:
            last = max(last, (now if node.power == "waking" else first) + (node.wakes or 0))
    return last


def _by_firsts(lines: Sequence[Timeline], parts: Parts, nodes: int) -> tuple[int, list[Timeline]]:
    """The job cannot start before `nodes` nodes have had room for the first time. That moment, and the nodes that
    have room then; none where they are too few, as some have lost it again."""
    firsts = sorted((line.earliest(own(parts.one, line.node)), place) for place, line in enumerate(lines))
    at = firsts[nodes - 1][0] if len(firsts) >= nodes else NEVER
    if at == NEVER:
        return NEVER, []
    found = []
    for first, place in firsts:
        if first <= at and any(begin <= at <= last for begin, last in _starts(lines[place], parts)):
            found.append(lines[place])
    return at, found if len(found) >= nodes else []


def _starts(line: Timeline, parts: Parts) -> Iterator[tuple[int, int]]:
    """The times between which it could start on this node, once for each number of tasks that has room."""
    one = parts.one
    for tasks in parts.counts(line.node):
        need = own(one if parts.per_node is not None else parts.need(tasks), line.node)
        found = [(begin, end - need.seconds) for begin, end in line.windows(need) if begin + need.seconds <= end]
        if not found:
            return  # more tasks have none either
        yield from found


def free_together(lines: Sequence[Timeline], parts: Parts) -> int:
    """The seconds from now for which enough nodes have room; 0 for none."""
    if parts.per_node is not None:
        each = [line.free_for(own(parts.one, line.node)) for line in lines]
        best = heapq.nlargest(parts.nodes or 1, each)
        return best[-1] if len(best) == (parts.nodes or 1) else 0
    lasts = [[line.free_for(own(parts.need(tasks), line.node)) for tasks in parts.counts(line.node)] for line in lines]
    for seconds in sorted({one for line in lasts for one in line if one}, reverse=True):
        if parts.enough([sum(one >= seconds for one in line) for line in lasts]):
            return seconds
    return 0


def chosen(lines: Sequence[Timeline], parts: Parts) -> list[tuple[Timeline, int]]:
    """As many nodes with room now as it takes, and how many tasks each gets; none where they are too few."""
    here = []
    for line in lines:
        needs = [own(parts.need(tasks), line.node) for tasks in parts.counts(line.node)]
        fits = sum(line.earliest(need) == line.now for need in needs)
        if fits:
            here.append((line, fits))
    if not parts.enough([fits for _, fits in here]):
        return []
    if parts.per_node is not None:
        return [(line, parts.per_node) for line, _ in here[: parts.nodes]]
    here = sorted(here, key=lambda one: -one[1])[: parts.nodes]
    tasks, found = parts.tasks - len(here) if parts.nodes is not None else parts.tasks, []
    least = 0 if parts.nodes is None else 1  # each of nodes that are counted has a task
    for line, fits in here:
        more = min(fits - least, tasks)
        tasks -= more
        if more + least:
            found.append((line, more + least))
    return found
