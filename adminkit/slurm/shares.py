"""Shards and MPS of a node: parts of its GPUs, which Slurm hands out beside the GPUs themselves.

A GPU is given whole, or in parts; one job's shards are all of one GPU. Which GPU a job has is not listed, so of several
that are cut only what is sure counts as free. Trap: 22.05 itself gives a GPU as a whole of which shards are in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adminkit.gres import UNTYPED, Shared, parse_gres, parse_shared
from adminkit.gres import parse_tres as parse_tres_gpus
from adminkit.slurm.associations import parse_tres
from adminkit.slurm.keyvalue import given
from adminkit.slurm.partitions import gpus_of, shares_of

#: `shard`, `shard:TYPE`, `mps`, `mps:TYPE` -> an amount.
Shares = Mapping[str, int]


def gpu_type(key: str, gpus: Mapping[str, int]) -> str:
    """The type of the GPUs that are cut into these; UNTYPED where it may be any of several."""
    kind = key.partition(":")[2]
    return kind or (next(iter(gpus)) if len(gpus) == 1 else UNTYPED)


def cards(key: str, gpus: Mapping[str, int]) -> int:
    """How many GPUs are cut into these, at most."""
    kind = gpu_type(key, gpus)
    return sum(gpus.values()) if kind == UNTYPED else gpus.get(kind, 0)


def per_gpu(key: str, shares: Shares, gpus: Mapping[str, int]) -> int:
    """How many of them make a GPU; 0 where the node has none."""
    many = cards(key, gpus)
    return shares.get(key, 0) // many if many else 0


def of_whole(taken: Mapping[str, int], shares: Shares, gpus: Mapping[str, int]) -> dict[str, int]:
    """The shares that nobody can have while these GPUs are taken as a whole."""
    found = {}
    for key in shares:
        kind = gpu_type(key, gpus)
        many = sum(taken.values()) if kind == UNTYPED else taken.get(kind, 0) + taken.get(UNTYPED, 0)
        found[key] = max(0, many) * per_gpu(key, shares, gpus)
    return found


def matching(asked: str, shares: Iterable[str]) -> list[str]:
    """The keys of a node that a request for `asked` can have: without a type those of any."""
    return [key for key in shares if key == asked or key.partition(":")[0] == asked]


@dataclass(frozen=True, slots=True)
class NodeGres:
    """GPUs by type and their parts: what the node has and what is taken, as RoomNode has it."""

    has: Mapping[str, int]
    shares: Shares = field(default_factory=dict)
    taken: Mapping[str, int] = field(default_factory=dict)
    taken_shares: Shares = field(default_factory=dict)
    cut: Mapping[str, int] = field(default_factory=dict)
    widest: Shares = field(default_factory=dict)


def node_gres(gres: str, used: str | None, tres: str) -> NodeGres:
    """Parse a node's Gres and GresUsed, and its AllocTRES for what they do not say."""
    has, shares = gpus_of(gres), shares_of(parse_gres(gres))
    whole = gpus_of_tres(tres) if used is None else gpus_of(given(used) or "")
    if not shares:
        return NodeGres(has, taken=whole)
    tracked = shares_of(parse_tres_gpus(tres))
    shared, cut, widest = in_use(parse_shared(used or ""), tracked, shares, has, whole)
    shut = of_whole(whole, shares, has)
    taken = {kind: whole.get(kind, 0) + cut.get(kind, 0) for kind in {**whole, **cut}}
    return NodeGres(has, shares, taken, {key: shared.get(key, 0) + shut[key] for key in shares}, cut, widest)


def gpus_of_tres(tres: str) -> dict[str, int]:
    """The GPUs of a list of TRES, by type where it has types. Trap: the types of all may be fewer than the GPUs."""
    amounts = parse_tres(tres)
    typed = {name.removeprefix("gres/gpu:"): many for name, many in amounts.items() if name.startswith("gres/gpu:")}
    rest = amounts.get("gres/gpu", 0) - sum(typed.values())
    return typed | ({UNTYPED: rest} if rest > 0 else {})


def in_use(
    said: Mapping[str, Shared], by_tres: Shares, shares: Shares, gpus: Mapping[str, int], whole: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """(shares in use, GPUs that are cut by type, the most that is free on one GPU where that is said) of a node.

    Where nothing says how many shares of the GPUs that are cut are in use, all of them count as such.
    """
    taken: dict[str, int] = {}
    cut: dict[str, int] = {}
    widest: dict[str, int] = {}
    for key, one in said.items():
        each, kind = per_gpu(key, shares, gpus), gpu_type(key, gpus)
        if not each:
            continue
        tracked = by_tres.get(key, by_tres.get(key.partition(":")[0]))
        count = one.taken if one.taken is not None else tracked
        many = one.gpus if one.gpus is not None else -(-(count or 0) // each)
        left = cards(key, gpus) - sum(whole.values() if kind == UNTYPED else [whole.get(kind, 0)])
        many = max(0, min(many, left))
        cut[kind] = cut.get(kind, 0) + many
        taken[key] = min(many * each, many * each if count is None else count)
        if one.cards is not None:
            widest[key] = max((of - used for used, of in one.cards if used), default=0)
    return taken, cut, widest
