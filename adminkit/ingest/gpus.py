"""What the words of GPUs make on this site, and of which runs accounting did not say how many GPUs they had.

Made whole after each load, from the runs, the nodes, slurm.conf as sync saw it, and the config.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from adminkit.gres import UNREADABLE, UNTYPED, GpuSettings, Shares, equivalents, is_slice, kind, parse_words
from adminkit.sqlite import sqlite3
from adminkit.trace import gpu_words
from adminkit.trace.gpu_words import Node, Queue, Untracked, Words
from adminkit.trace.windows import fact, set_fact

#: The fact that says which GPUs slurm.conf had accounting track: [[since, until, names], …], until the last look. Names
#: are types of GPUs, gpu (all of them together), shard and mps.
TRACKED: Final = "gpus tracked"
#: The probability below which it is not chance that all runs of a row name no GPU.
RARE: Final = 1e-6
_EVER: Final = 1 << 62


class Look(NamedTuple):
    """What slurm.conf had accounting track from `since` to the look at `until`."""

    since: int
    until: int
    names: list[str]


def refresh(db: sqlite3.Connection, settings: GpuSettings) -> None:
    """Make the tables that the view `run` looks up. The caller holds a transaction."""
    words: list[Words] = []
    untracked: list[Untracked] = []
    untyped: list[Untracked] = []
    written = gpu_words.words_of(db)
    for cluster in gpu_words.clusters(db):
        nodes = gpu_words.nodes_of(db, cluster)
        shares = shares_of(nodes, settings)
        words += [_row(cluster, text, shares) for whose, text in written if whose == cluster]
        untracked += _untracked(db, cluster, nodes, settings)
        untyped += _untyped(db, cluster)
    gpu_words.put(db, words, untracked, untyped)


def note_tracked(db: sqlite3.Connection, cluster: str, tres: str, now: int) -> None:
    """Keep what AccountingStorageTRES says of GPUs now. The caller holds a transaction."""
    names = (word.strip().lower().removeprefix("gres/") for word in tres.split(","))
    types = sorted({name.removeprefix("gpu:") for name in names if name.partition(":")[0] in ("gpu", "shard", "mps")})
    seen = tracked(db, cluster)
    if seen and seen[-1].names == types:
        seen[-1] = Look(seen[-1].since, now, types)
    else:
        seen.append(Look(now, now, types))
    set_fact(db, cluster, TRACKED, json.dumps(seen), now)


def tracked(db: sqlite3.Connection, cluster: str) -> list[Look]:
    """What note_tracked kept, oldest first."""
    known = fact(db, cluster, TRACKED)
    return [Look(*one) for one in json.loads(known[0])] if known else []


def shares_of(nodes: Sequence[Node], settings: GpuSettings) -> Shares:
    """How many shards and how much MPS a GPU has, where all nodes agree: by type, and UNTYPED for those of no type."""
    found: dict[str, dict[str, set[float]]] = {"shard": {}, "mps": {}}
    for node in nodes:
        types = dict(_counts(node.gpu_types))
        for word, count in _counts(node.gpu_shares):
            name, _, of = word.partition(":")
            gpus = types.get(of, 0) if of else node.gpus
            if gpus and count:
                found[name].setdefault(of or UNTYPED, set()).add(count / gpus)
                if of:
                    found[name].setdefault(UNTYPED, set()).add(count / gpus)
                elif len(types) == 1:
                    found[name].setdefault(next(iter(types)), set()).add(count / gpus)
    agreed = [
        # 0: nodes differ, so that it is not known.
        {of: many.pop() if len(many) == 1 else 0.0 for of, many in found[name].items()}
        for name in ("shard", "mps")
    ]
    return Shares(agreed[0], agreed[1], settings.given())


def _row(cluster: str, text: str, shares: Shares) -> Words:
    if text == UNREADABLE:
        return Words(cluster, text, None, None, None, None, None)
    counts = parse_words(text)
    return Words(cluster, text, kind(0, text), *counts, equivalents(0, text, shares))


def _counts(text: str) -> Iterator[tuple[str, int]]:
    """a100:4,v100:2 -> each with its number."""
    for word in filter(None, text.split(",")):
        name, _, count = word.rpartition(":")
        yield name, int(count)


def _untracked(db: sqlite3.Connection, cluster: str, nodes: Sequence[Node], settings: GpuSettings) -> list[Untracked]:
    """The times in which the queues with GPUs had runs of unknown GPUs."""
    with_gpus = [node for node in nodes if node.gpus]
    if not with_gpus or settings.tracked:
        return []
    runs = gpu_words.queues_of(db, cluster)
    known = frozenset().union(*(node.queues for node in nodes))
    half = list(_half_tracked(db, cluster, with_gpus, known, runs))
    queues = _of(runs, frozenset().union(*(node.queues for node in with_gpus)), known)
    spans = [(0, _EVER)] if settings.tracked is False else list(_spans(db, cluster, queues))
    whole = [Untracked(cluster, one.queue, since, until) for one in queues for since, until in spans]
    return whole + [row for row in half if not any(_same(row, one) for one in whole)]


def _same(row: Untracked, other: Untracked) -> bool:
    return row[:3] == other[:3]


def _of(runs: Sequence[Queue], wanted: Iterable[str], known: Iterable[str]) -> list[Queue]:
    """The queues with runs whose nodes are wanted ones, or that no node has."""
    names, there = set(wanted), set(known)
    return [one for one in runs if not (parts := set(one.queue.split(","))) <= there or parts & names]


def _spans(db: sqlite3.Connection, cluster: str, queues: Sequence[Queue]) -> Iterator[tuple[int, int]]:
    """When accounting had no GPUs: as slurm.conf said, and before it was looked at as the runs say."""
    seen = tracked(db, cluster)
    yield from _judged(db, cluster, queues, seen[0].since if seen else _EVER, bool(seen and seen[0].names))
    for number, look in enumerate(seen):
        if not look.names:
            yield seen[number - 1].until if number else look.since, _end(seen, number)


def _end(seen: Sequence[Look], number: int) -> int:
    return seen[number + 1].since if number + 1 < len(seen) else _EVER


def _judged(
    db: sqlite3.Connection, cluster: str, queues: Sequence[Queue], until: int, tracked_now: bool
) -> Iterator[tuple[int, int]]:
    """When no run named a GPU for longer than chance explains."""
    firsts = [one.first for one in queues if one.first is not None]
    first = min((at for at in firsts if at < until), default=None)
    if first is None:
        runs = sum(gpu_words.began_before(db, cluster, [one.queue], until) for one in queues)
        if runs and not (tracked_now and runs < _FEW):
            yield 0, until
        return
    named, runs = sum(one.named for one in queues), sum(one.runs for one in queues)
    before = gpu_words.began_before(db, cluster, [one.queue for one in queues], first)
    usual = (named + 1) / (max(runs - before, named) + 2)
    if (1 - usual) ** before < RARE:
        yield 0, first


#: Runs of which it may be chance that none names a GPU, where GPUs are tracked now.
_FEW: Final = 10


def _half_tracked(
    db: sqlite3.Connection, cluster: str, nodes: Sequence[Node], known: Iterable[str], runs: Sequence[Queue]
) -> Iterator[Untracked]:
    """Queues with GPUs of which accounting does not have all: types, shards and MPS that slurm.conf leaves out; before
    it was looked at, types that no run names though each run that names GPUs names types.
    """
    seen = tracked(db, cluster)
    for number, look in enumerate(seen):
        lacking = [node for node in nodes if _lacks(node, set(look.names))] if look.names else []
        yield from _of_nodes(cluster, lacking, known, runs, (look.since if number else 0, _end(seen, number)))
    if not seen and any(one.named for one in runs) and all(one.named == one.typed for one in runs):
        names = {name.lower() for name in gpu_words.types_of(db, cluster)} | {"shard", "mps"}
        lacking = [node for node in nodes if _lacks(node, names)]
        yield from _of_nodes(cluster, lacking, known, [one for one in runs if not one.named], (0, _EVER))


def _lacks(node: Node, names: set[str]) -> bool:
    """Whether accounting that tracks these names knows less than all GPUs of a node."""
    shared = {word.partition(":")[0] for word, _ in _counts(node.gpu_shares)}
    types = {name.lower() for name, _ in _counts(node.gpu_types)}
    return not (shared <= names and ("gpu" in names or types <= names))


def _of_nodes(
    cluster: str, nodes: Sequence[Node], known: Iterable[str], runs: Sequence[Queue], span: tuple[int, int]
) -> Iterator[Untracked]:
    wanted = {queue for node in nodes for queue in node.queues}
    for one in _of(runs, wanted, known):
        if set(one.queue.split(",")) & wanted:
            yield Untracked(cluster, one.queue, *span)


def _untyped(db: sqlite3.Connection, cluster: str) -> Iterator[Untracked]:
    """When queues had slices of MIG that accounting counted as GPUs of no type: slurm.conf has gres/gpu without their
    types; before it was looked at, no run names any of them.
    """
    slices = [(one, names) for one in gpu_words.types_of_nodes(db, cluster) if (names := _slices(one.gpu_types))]
    if not slices:
        return
    seen, named = tracked(db, cluster), {name.lower() for name in gpu_words.types_of(db, cluster)}
    looks = [(set(look.names), look.since if number else 0, _end(seen, number)) for number, look in enumerate(seen)]
    queues = [one.queue for one in gpu_words.queues_of(db, cluster)]
    found: dict[tuple[str, int], int] = {}
    for one, names in slices:
        hidden = [(since, until) for tracks, since, until in looks if "gpu" in tracks and not names <= tracks]
        if not looks and not named & names:
            hidden = [(0, _EVER)]
        for since, until in hidden:
            begin, end = max(since, one.since), min(until, _EVER if one.until is None else one.until)
            for queue in queues if begin < end else ():
                if set(queue.split(",")) & one.queues:
                    found[queue, begin] = max(found.get((queue, begin), 0), end)
    for (queue, begin), end in found.items():
        yield Untracked(cluster, queue, begin, end)


def _slices(types: str) -> set[str]:
    return {name.lower() for name, count in _counts(types) if count and is_slice(name)}
