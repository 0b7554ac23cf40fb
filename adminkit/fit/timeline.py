"""What a node has free from now on, as running jobs, reservations and planned jobs leave it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from adminkit.slurm.room import RoomNode, Vector
from adminkit.slurm.shares import Shares, cards, gpu_type, matching, of_whole, per_gpu
from adminkit.slurm.site import UNTYPED

#: Epoch seconds that do not come.
NEVER: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class Need:
    """What a request takes of one node; `shares`: shards or MPS of one GPU, of the kind `share`; `whole`: all its CPUs
    and memory, so that nothing else may be there, and `mem_cpu` bytes have to be there for each of these CPUs.
    """

    cpus: int
    mem: int
    gpus: int
    gpu_type: str | None
    seconds: int
    whole: bool = False
    mem_cpu: int = 0
    share: str = ""
    shares: int = 0

    def on(self, node: RoomNode) -> Vector:
        """The same on this node: in whole cores; `mem` 0 with `whole` is all of it."""
        cpus = -(-self.cpus // node.threads) * node.threads
        gpus: dict[str, int] = {self.gpu_type or UNTYPED: self.gpus} if self.gpus else {}
        shares: Shares = of_whole(gpus, node.has.shares, node.has.gpus) if node.has.shares else {}
        if self.shares and (keys := matching(self.share, node.has.shares)):
            gpus, shares = {gpu_type(keys[0], node.has.gpus): 1}, {keys[0]: self.shares}
        if self.whole:
            return Vector(max(cpus, node.has.cpus), max(self.mem, node.has.mem), gpus, shares)
        return Vector(cpus, self.mem, gpus, shares)


def holds(free: Vector, need: Need, node: RoomNode) -> bool:
    """Whether that much of the node is free. GPUs without a type may be of any; of a type, within all that are free.

    A page asks it some hundred thousand times, so it makes no Vector.
    """
    if -(-need.cpus // node.threads) * node.threads > free.cpus or need.mem > free.mem:
        return False
    if need.whole and (node.has.cpus > free.cpus or max(node.has.mem, need.mem_cpu * node.has.cpus) > free.mem):
        return False
    if need.shares:
        return any(_shares(free, need.shares, key, node) for key in matching(need.share, node.has.shares))
    if not need.gpus:
        return True
    if need.gpus > sum(free.gpus.values()):
        return False
    return need.gpu_type in (None, UNTYPED) or need.gpus <= free.gpus.get(need.gpu_type or "", 0)


def _shares(free: Vector, many: int, key: str, node: RoomNode) -> bool:
    """Whether one GPU has as many of them free for sure: one that is not cut, or one of those that are."""
    each, left, kind = (
        per_gpu(key, node.has.shares, node.has.gpus),
        free.shares.get(key, 0),
        gpu_type(key, node.has.gpus),
    )
    if many > each or many > left:
        return False
    uncut = sum(free.gpus.values())
    uncut = uncut if kind == UNTYPED else min(uncut, free.gpus.get(kind, 0))
    if uncut > 0:
        return True
    sure = -(-left // max(1, node.cut.get(kind, 0) or cards(key, node.has.gpus)))  # on the one that has the most
    now = node.has.shares[key] - node.taken.shares.get(key, 0)
    return many <= max(sure, node.widest.get(key, 0) if left >= now else 0)


def less(free: Vector, used: Vector) -> Vector:
    """What is left. A node of types that is used without one is short of any: UNTYPED goes below zero."""
    gpus = Counter(free.gpus)
    gpus.subtract(used.gpus)
    if not free.shares:
        return Vector(free.cpus - used.cpus, free.mem - used.mem, dict(gpus))
    shares = {key: many - used.shares.get(key, 0) for key, many in free.shares.items()}
    return Vector(free.cpus - used.cpus, free.mem - used.mem, dict(gpus), shares)


def gpus_left(gpus: Mapping[str, int]) -> dict[str, int]:
    """Those above zero. Trap: where AccountingStorageTRES has gres/gpu and no type, jobs have GPUs of no type on a node
    that has types; then nobody knows of which type the rest is.
    """
    if gpus.get(UNTYPED, 0) < 0:
        gpus = {UNTYPED: sum(gpus.values())}
    return {kind: many for kind, many in gpus.items() if many > 0}


@dataclass(frozen=True, slots=True)
class Use:
    """A part of a node that is taken from `starts` to `ends`, epoch seconds."""

    starts: int
    ends: int
    what: Vector


@dataclass(slots=True)
class Timeline:
    """One node from `now` on."""

    node: RoomNode
    now: int
    uses: list[Use] = field(default_factory=list)
    _steps: list[tuple[int, Vector]] | None = None
    _first: dict[Need, int] = field(default_factory=dict)  # many requests are alike

    def add(self, use: Use) -> None:
        self.uses.append(use)
        self._steps = None
        self._first.clear()

    def copy(self) -> Timeline:
        return Timeline(self.node, self.now, list(self.uses), self._steps)

    def steps(self) -> list[tuple[int, Vector]]:
        """(from when, what is free then), the first beginning now."""
        if self._steps is None:
            moments = {self.now} | {at for use in self.uses for at in (use.starts, use.ends) if self.now < at < NEVER}
            self._steps = [(at, self._free(at)) for at in sorted(moments)]
        return self._steps

    def _free(self, at: int) -> Vector:
        free = self.node.has
        for use in self.uses:
            if max(use.starts, self.now) <= at < use.ends:
                free = less(free, use.what)
        return free

    def windows(self, need: Need) -> Iterator[tuple[int, int]]:
        """The times (from, to) between which the need is free without a break, in order."""
        begin: int | None = None
        for at, free in self.steps():
            if holds(free, need, self.node):
                begin = at if begin is None else begin
            elif begin is not None:
                yield begin, at
                begin = None
        if begin is not None:
            yield begin, NEVER

    def earliest(self, need: Need) -> int:
        """When the need fits for its whole time; NEVER where it does not come to that."""
        found = self._first.get(need)
        if found is None:
            fits = (begin for begin, end in self.windows(need) if begin + need.seconds <= end)
            found = self._first[need] = next(fits, NEVER)
        return found

    def free_for(self, need: Need) -> int:
        """The seconds from now for which the need is free."""
        first = next(iter(self.windows(need)), None)
        return 0 if first is None or first[0] > self.now else first[1] - self.now
