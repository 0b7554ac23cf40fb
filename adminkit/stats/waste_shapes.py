"""What was free in a shape that nobody can use: GPUs without CPUs or memory, CPUs without GPUs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from adminkit.stats.waste_room import Room

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Free memory below which nothing can be started, bytes.
LITTLE: Final = 2**30
SHAPES: Final = ("gpus_without_cpus", "gpus_without_memory", "cpus_without_gpus")


@dataclass(slots=True)
class Shapes:
    """Sums by place over blocks of time: `add` each of them, then ask."""

    every: NDArray[Any]  # whether a place counts for all queues together
    up: float = 0.0  # node-seconds of these that were up
    unclear: float = 0.0  # of these, nobody knows what was free
    _what: dict[str, NDArray[Any]] = field(default_factory=dict)
    _node: dict[str, NDArray[Any]] = field(default_factory=dict)
    _whole: dict[str, NDArray[Any]] = field(default_factory=dict)  # whether anything is known of the place

    def add(self, free: Room, until: int) -> None:
        """Count the room of a block of time, as far as that goes. Somebody else can tell whole ones only."""
        import numpy as np

        long = np.maximum(np.minimum(free.end, until) - free.begin, 0)
        known = free.gpu_known & free.cpu_known
        no_cpu = known & (free.gpu >= 1) & (free.cpu < 1)
        no_mem = known & free.mem_known & (free.gpu >= 1) & (free.cpu >= 1) & (free.mem < LITTLE)
        no_gpu = known & (free.has_gpu > 0) & (free.gpu < 1) & (free.cpu >= 1)
        masks, columns = (no_cpu, no_mem, no_gpu), (free.gpu, free.gpu, free.cpu)
        for kind, mask, what in zip(SHAPES, masks, columns, strict=True):
            at, seconds = free.place[mask], long[mask]
            told = known & free.mem_known if kind == "gpus_without_memory" else known
            self._add(self._what, kind, at, np.floor(what[mask]) * seconds)
            self._add(self._node, kind, at, seconds)
            self._add(self._whole, kind, free.place[told], None)
        mine = self.every[free.place] & free.up
        self.up += float(long[mine].sum())
        self.unclear += float(long[mine & ~known].sum())

    def _add(self, sums: dict[str, NDArray[Any]], kind: str, at: NDArray[Any], weights: NDArray[Any] | None) -> None:
        import numpy as np

        sums[kind] = sums.get(kind, 0) + np.bincount(at, weights, len(self.every))

    def of(self, kind: str, mine: NDArray[Any]) -> tuple[float | None, float | None]:
        """The seconds of what was free on the places `mine`, and of these; unknown where nothing is known of any."""
        whole = mine & (self._whole[kind] > 0) if self._whole else mine & False
        if not whole.any():
            return None, None
        return float(self._what[kind][whole].sum()), float(self._node[kind][whole].sum())
