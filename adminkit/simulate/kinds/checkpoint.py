"""kind = "checkpoint": shorter maxima, and jobs that resume from a checkpoint. docs/simulate/checkpoint.md."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import model_validator

from adminkit.errors import AdminkitError, unknown_word
from adminkit.quote import quote
from adminkit.simulate.case import Case, with_columns, with_facts, with_site
from adminkit.simulate.change import Change, Given, Kind, Limits, Seconds, Share, Sources
from adminkit.simulate.core import NONE
from adminkit.simulate.luck import Luck
from adminkit.simulate.pieces import split


class Checkpoint(Change):
    """The keys."""

    swept: ClassVar[str] = "max_limit"

    kind: Literal["checkpoint"]
    max_limit: Limits
    lead: Seconds = 600  # between the checkpoint and the end of a piece: nothing done then is kept
    overhead: Seconds = 120  # to resume, at the beginning of each further piece
    requeue: Seconds = 0  # between the end of a piece and the moment when the next may start
    share: Share = 1.0  # of the users whose jobs can resume from a checkpoint
    others: Literal["keep", "cut"] = "keep"  # what becomes of other users' longer jobs
    queues: tuple[str, ...] = ()  # empty: all

    @model_validator(mode="after")
    def _useful(self) -> Checkpoint:
        least = min(self.max_limit)
        if self.lead + self.overhead >= least:
            raise ValueError(
                f"lead and overhead take {self.lead + self.overhead} s of each piece of {least} s: no job would ever"
                " end"
            )
        return self


def prepare(keys: Checkpoint, sources: Sources) -> Given:
    """Refuses queues that today's site does not have."""
    for name in keys.queues:
        if name not in sources.case.names["queues"]:
            near = unknown_word("queue", name, sources.case.names["queues"])
            raise AdminkitError(f"scenario {quote(keys.name)}: no such queue: {quote(name)}", near.hint)
    return {}


def apply(case: Case, keys: Checkpoint, value: int, given: Given, luck: Luck) -> Case:
    """Jobs with a limit above `value` become pieces of at most `value`, each requeued behind the one before."""
    import numpy as np

    limit, run = case.column("limit"), case.column("run")
    needs = np.where(limit == NONE, run, np.minimum(run, limit))  # who ran into the limit got no more
    there = np.ones(case.count, bool)
    if keys.queues:
        there = np.any([case.in_queue(case.queue(name)) for name in keys.queues], axis=0)
    users = luck.users("checkpoint", case, keys.share)
    above = there & ((limit > value) | (limit == NONE))
    able = above & users
    changed = with_facts(case, follows=users.astype(np.int64))
    short = np.where(above if keys.others == "cut" else able, value, limit)
    which = np.flatnonzero(able & (needs > value))
    changed = with_columns(changed, limit=short)
    pieces = [_pieces(int(one), value, keys.lead, keys.overhead) for one in needs[which]]
    changed = split(changed, which, pieces, value, keys.requeue)
    if keys.others == "keep" and keys.share < 1:
        return changed  # the queues' maxima stay, for those who may use them
    return with_site(changed, queues=_shorter(case, keys, value))


def _pieces(run: int, most: int, lead: int, overhead: int) -> list[int]:
    """What the pieces of a job of `run` seconds run: all but the last one their whole limit, where they are ended."""
    left, pieces = run, list[int]()
    while True:
        begins = overhead if pieces else 0
        if left + begins <= most:
            return [*pieces, left + begins]
        pieces.append(most)
        left -= most - lead - begins


def _shorter(case: Case, keys: Checkpoint, value: int) -> list[dict[str, int]]:
    """The queues with their new maximum limit."""
    queues: list[dict[str, Any]] = [dict(one) for one in case.request.queues]
    for name in keys.queues or case.names["queues"]:
        place = case.queue(name)
        if place < len(queues):
            one = queues[place]
            for key in ("max_limit", "default_limit"):
                if one.get(key, NONE) == NONE and key == "default_limit":
                    continue
                one[key] = value if one.get(key, NONE) == NONE else min(one[key], value)
    return queues


KIND = Kind("checkpoint", Checkpoint, apply, prepare, of_users=True)
