"""kind = "queue": other limits, nodes or rank of a queue, or a new queue. docs/simulate/queue.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from adminkit.errors import AdminkitError, unknown_word
from adminkit.quote import quote
from adminkit.simulate.case import Case, Mask, take, with_columns, with_site
from adminkit.simulate.change import Change, Count, Given, Kind, Limit, Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.luck import Luck

#: Queues that a mask can hold (workload.h).
_MOST: Final = 62


class Queue(Change):
    """The keys."""

    kind: Literal["queue"]
    queue: str
    max_limit: Limit | None = None
    default_limit: Limit | None = None
    nodes: Annotated[int, Field(ge=1, strict=True)] | None = None  # how many it may use
    tier: Count | None = None  # PriorityTier
    longer: Literal["lower", "leave"] = "lower"  # jobs above a new maximum: their limit is lowered, or they go away
    takes_up_to: Limit | None = None  # jobs with such a limit at most go there, from …
    takes_from: tuple[str, ...] = ()  # … these queues; empty: all
    new: bool = False
    alone: bool = False  # whether no other queue has its nodes

    @model_validator(mode="after")
    def _something(self) -> Queue:
        changes = (self.max_limit, self.default_limit, self.nodes, self.tier, self.takes_up_to)
        if all(one is None for one in changes):
            raise ValueError("give it what to change: max_limit, default_limit, nodes, tier or takes_up_to")
        if self.alone and self.nodes is None:
            raise ValueError("`alone` needs the number of nodes that only this queue has: nodes = 4")
        if self.takes_from and self.takes_up_to is None:
            raise ValueError('takes_from needs the limit up to which jobs go there: takes_up_to = "01:00:00"')
        if self.max_limit is not None and (self.default_limit or 0) > self.max_limit:
            raise ValueError("the default limit is above the maximum limit")
        if self.max_limit is not None and (self.takes_up_to or 0) > self.max_limit:
            raise ValueError("takes_up_to is above the maximum limit")
        return self


def prepare(keys: Queue, sources: Sources) -> Given:
    """Refuses what does not go with today's site."""
    case, names = sources.case, list(sources.case.names["queues"])
    where = f"scenario {quote(keys.name)}"
    if case.request.model != "slurm" and (keys.nodes is not None or keys.tier is not None):
        raise AdminkitError(
            f"{where}: the {case.request.model} model has one pool of processors for all queues",
            "leave out nodes and tier, or use --model slurm",
        )
    if keys.new and keys.queue in names:
        raise AdminkitError(f"{where}: there is a queue {quote(keys.queue)} already", "leave out new = true")
    for name in (*(() if keys.new else (keys.queue,)), *keys.takes_from):
        if name not in names:
            raise AdminkitError(f"{where}: no such queue: {quote(name)}", unknown_word("queue", name, names).hint)
    if keys.new and len(names) >= _MOST:
        raise AdminkitError(
            f"{where}: a new queue would be one too many: {len(names)} can be simulated",
            "change an existing queue instead: leave out new = true",
        )
    if keys.new and keys.takes_up_to is None:
        raise AdminkitError(f"{where}: no job would go to the new queue", 'say which: takes_up_to = "01:00:00"')
    if keys.default_limit is not None and not (case.facts["defaulted"] == 1).any():
        raise AdminkitError(
            f"{where}: no job of the trace is known to have a queue's default limit", "leave out default_limit"
        )
    return {}


def apply(case: Case, keys: Queue, value: Any, given: Given, luck: Luck) -> Case:
    """The queue changes; then jobs go there, get its default, or are lowered to its maximum."""
    import numpy as np

    if keys.new:
        case = _with_queue(case, keys.queue)
    place = case.queue(keys.queue)
    changed = with_site(case, queues=_queues(case, keys, place), nodes=_nodes(case, keys, place))
    if keys.takes_up_to is not None:
        changed = _moved(changed, keys, place)
    limit, here = changed.column("limit").copy(), _only(changed, place)
    if keys.default_limit is not None:
        limit[here & (case.facts["defaulted"] == 1)] = keys.default_limit
    if keys.max_limit is not None:
        above = here & ((limit > keys.max_limit) | (limit == NONE) & (keys.default_limit is None))
        if keys.longer == "leave":
            stays = ~(above & (limit > keys.max_limit))
            return take(with_columns(changed, limit=limit), np.flatnonzero(stays))
        limit[above] = np.minimum(np.where(limit[above] == NONE, keys.max_limit, limit[above]), keys.max_limit)
    return with_columns(changed, limit=limit)


def _only(case: Case, place: int) -> Mask:
    """Jobs that name this queue and no other."""
    only: Mask = case.column("queues", 1) == 1 << place
    return only


def _with_queue(case: Case, name: str) -> Case:
    """A queue behind the others, without nodes yet."""
    bare = replace(case, names={**case.names, "queues": [*case.names["queues"], name]})
    return with_site(bare, queues=[*case.request.queues, {"tier": 1}] if case.request.queues else [])


def _queues(case: Case, keys: Queue, place: int) -> list[dict[str, int]]:
    queues = [dict(one) for one in case.request.queues]
    if place < len(queues):
        named = {"max_limit": keys.max_limit, "default_limit": keys.default_limit, "tier": keys.tier}
        queues[place] |= {name: value for name, value in named.items() if value is not None}
    return queues


def _nodes(case: Case, keys: Queue, place: int) -> list[dict[str, int]]:
    """Its nodes: the first of those it has, then others, those of `takes_from` first, until it has `nodes`.

    A new queue without `nodes` may use those of the queues that its jobs come from.
    """
    bit = 1 << place
    source = sum(1 << case.queue(name) for name in keys.takes_from) or -1
    if keys.nodes is None:
        if not keys.new:
            return [dict(one) for one in case.request.nodes]
        return [{**one, "queues": one.get("queues", 1) | (bit if one.get("queues", 1) & source else 0)}
                for one in case.request.nodes]  # fmt: skip
    left, given = keys.nodes, {}
    ranked = sorted(
        range(len(case.request.nodes)),
        key=lambda at: (not case.request.nodes[at].get("queues", 1) & bit,
                        not case.request.nodes[at].get("queues", 1) & source, at),
    )  # fmt: skip
    for at in ranked:
        given[at] = min(case.request.nodes[at].get("count", 1), left)
        left -= given[at]
    nodes, added = [], []
    for at, one in enumerate(case.request.nodes):
        count, queues = one.get("count", 1), one.get("queues", 1)
        # Trap: `down` names a class of nodes by its place, so what is split off goes to the end.
        with_it = {**one, "queues": bit if keys.alone else queues | bit}
        without = {**one, "queues": queues & ~bit}
        nodes.append({**(with_it if given[at] == count else without), "count": count - given[at] % max(count, 1)})
        if 0 < given[at] < count:
            added.append({**with_it, "count": given[at]})
    return [*nodes, *added]


def _moved(case: Case, keys: Queue, place: int) -> Case:
    """Jobs with a short limit name only this queue."""
    import numpy as np

    limit, queues = case.column("limit"), case.column("queues", 1)
    source = sum(1 << case.queue(name) for name in keys.takes_from) or -1
    goes = (limit != NONE) & (limit <= (keys.takes_up_to or 0)) & ((queues & source) != 0)
    return with_columns(case, queues=np.where(goes, 1 << place, queues))


KIND = Kind("queue", Queue, apply, prepare)
