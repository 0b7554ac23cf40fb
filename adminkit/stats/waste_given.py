"""Who gets the room of a gap: the first to be eligible, and the others what is left of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Parts of a place that are given away before what is over is forgotten.
MANY: Final = 8


class Part(NamedTuple):
    """GPUs and CPUs of a place that a run would have in [begin, until)."""

    begin: float
    until: float
    gpu: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Tries:
    """Gaps that have room for a run, in the order of the runs, and in that in which each looks at them.

    `gpu` and `cpu` are what the run needs in [begin, until) on the place, `gpu_free` and `cpu_free` what is free there
    all that time. `eligible_time` is since when the run could start.
    """

    run: NDArray[Any]
    eligible_time: NDArray[Any]
    place: NDArray[Any]
    begin: NDArray[Any]
    until: NDArray[Any]
    gpu: NDArray[Any]
    cpu: NDArray[Any]
    gpu_free: NDArray[Any]
    cpu_free: NDArray[Any]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One after the other."""
        return zip(*(getattr(self, one.name).tolist() for one in fields(self)), strict=True)


@dataclass(frozen=True, slots=True)
class Given:
    """What was given away on each place; it is kept from one block of time to the next."""

    on: dict[int, list[Part]] = field(default_factory=dict)

    def to(self, tries: Tries) -> list[int]:
        """The runs that get one of their gaps: each the first that has room beside what the runs before it got."""
        found: list[int] = []
        last = -1
        for run, eligible, place, begin, until, gpu, cpu, gpu_free, cpu_free in tries.rows():
            if run == last:
                continue
            its = self.on.get(place)
            if its is None:
                its = self.on[place] = []
            gpus_given = cpus_given = 0.0
            for since, end, gpus_of, cpus_of in its:
                if since < until and end > begin:
                    gpus_given += gpus_of
                    cpus_given += cpus_of
            if (gpu and gpu_free < gpu + gpus_given) or cpu_free < cpu + cpus_given:
                continue
            if len(its) >= MANY:  # nobody asks for earlier times any more
                its[:] = [one for one in its if one[1] > eligible]
            its.append(Part(begin, until, gpu, cpu))
            found.append(run)
            last = run
        return found
