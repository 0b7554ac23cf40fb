"""What to ask for after a run was cut off: the next limit, the next memory. Pure; the words are the letters'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.recommend.menu import round_up

GIB: Final = 2**30
MIB: Final = 2**20
#: Memory is sampled, so a run that completed may have needed up to this times what was seen.
HEADROOM: Final = 1.25
#: Without any run to learn from.
GROWTH: Final = 2


@dataclass(frozen=True, slots=True)
class NextMemory:
    """Bytes per node. `limit` is None where no node has more than the run had.

    `why`: used (what a completed run used, with headroom), had (what a completed run had), doubled, node (all
    that a node has).
    """

    limit: int | None
    why: str
    runs: int = 0  # completed runs whose memory is known


def next_limit(limit: int, menu: Sequence[int], most: int | None) -> int | None:
    """The next limit of the menu after `limit`, seconds, at most the queue's maximum; None where that is reached."""
    step = round_up(limit + 1, menu)
    if most is None or step <= most:
        return step
    return most if most > limit else None


def next_memory(had: int, past: Sequence[tuple[int | None, int | None]], most: int | None) -> NextMemory:
    """After a run with `had` bytes per node ran out of them.

    `past`: of runs that completed, the memory they had and used. `most`: what the largest node has; None: unknown.
    """
    enough = [(needed, why) for mem, used in past for needed, why in _enough(mem, used)]
    wanted, why = max(enough, default=(0, ""))
    if wanted <= had:
        wanted, why = GROWTH * had, "doubled"
    wanted = _round_up(wanted)
    if most is not None and wanted > most:
        wanted, why = most // MIB * MIB, "node"
    return NextMemory(wanted if wanted > had else None, why, len(enough))


def _enough(mem: int | None, used: int | None) -> list[tuple[int, str]]:
    """The memory that was enough for a run that completed: what it used with headroom, and never more than it had."""
    if used is not None and (mem is None or used * HEADROOM < mem):
        return [(int(used * HEADROOM), "used")]
    return [] if mem is None else [(mem, "had")]


def _round_up(size: int) -> int:
    """Round up to whole GiB, below one to whole MiB."""
    unit = GIB if size >= GIB else MIB
    return -(-size // unit) * unit


def show_memory(size: int) -> str:
    """Write it as --mem takes it: 96G, 393000M."""
    return f"{size // GIB}G" if size % GIB == 0 else f"{size // MIB}M"
