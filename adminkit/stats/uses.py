"""What runs used, as columns: of each resource only the runs of which a use may be known, where files of months answer.

SQLite reads all of it in one scan, as its rows take longer to find than to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from adminkit.sqlite import sqlite3
from adminkit.stats.select import Selection
from adminkit.stats.taken import Alike, alike, taken
from adminkit.trace.columns import Texts
from adminkit.trace.months.door import columns, reads_files

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[Any]

_MEM: Final = "coalesce(mem, req_mem)"
_BUSY: Final = "CASE WHEN gpu_kind = 'whole' THEN measured_gpu_seconds END"
_TOLD: Final = "measured_monitored_gpu"
_THERE: Final = "measured_monitored_gpu_there"
#: SQL: the run had GPUs, and ran.
HAD_GPUS: Final = "CASE WHEN elapsed > 0 AND size_gpus > 0 THEN 1 ELSE 0 END"


def _of_time(elapsed: Column, size: Column, used: Column) -> tuple[Column, Column]:
    reserved = _positive(elapsed) * size
    return used / reserved, reserved


def _of_mem(elapsed: Column, mem: Column, used: Column) -> tuple[Column, Column]:
    return used / mem, _positive(elapsed) * mem


def _of_gpus(elapsed: Column, gpus: Column, busy: Column, told: Column) -> tuple[Column, Column]:
    """What Jobstats says counts before what Slurm's plugin saw busy."""
    import numpy as np

    had = _had(elapsed, gpus)
    return np.where(np.isnan(told), busy / had, told), had


def _of_gpu_mem(elapsed: Column, gpus: Column, used: Column, there: Column) -> tuple[Column, Column]:
    import numpy as np

    return used / there, np.where(_had(elapsed, gpus) > 0, elapsed * there, 0)


def _had(elapsed: Column, gpus: Column) -> Column:
    """GPU-seconds."""
    import numpy as np

    found: Column = np.where(gpus > 0, _positive(elapsed) * gpus, 0)
    return found


def _positive(elapsed: Column) -> Column:
    import numpy as np

    found: Column = np.where(elapsed > 0, elapsed, 0)
    return found


class _Use(NamedTuple):
    """SQL over the view run of what a use is computed of, SQL that holds where it is known, and the share that was used
    of what was reserved, and that, from float64.
    """

    numbers: Sequence[str]
    known: str
    shares: Callable[..., tuple[Column, Column]]


_USES: Final[Mapping[str, _Use]] = {
    "cpu": _Use(("elapsed", "size_cpus", "cpu_time"), "cpu_time >= 0", _of_time),
    "mem": _Use(("elapsed", _MEM, "measured_mem"), "measured_mem >= 0", _of_mem),
    "gpu": _Use(
        ("elapsed", "size_gpus", _BUSY, _TOLD),
        f"size_gpus > 0 AND (measured_gpu_seconds >= 0 OR {_TOLD} >= 0)",
        _of_gpus,
    ),
    "gpu_mem": _Use(
        ("elapsed", "size_gpus", "measured_monitored_gpu_used", _THERE), "measured_monitored_gpu_used >= 0", _of_gpu_mem
    ),
    "node_mem": _Use(
        ("elapsed", _MEM, "measured_node_mem * coalesce(size_nodes, 1)"), "measured_node_mem >= 0", _of_mem
    ),
}


@dataclass(frozen=True, slots=True)
class Used:
    """Runs, among them all those of which the use of a resource is known. `texts` as they were asked for."""

    texts: Sequence[Texts]
    numbers: Sequence[Column]
    shares: Callable[..., tuple[Column, Column]]

    def of(self, block: slice) -> tuple[Column, Column]:
        """The share that each run of the block used, and what it had reserved; NaN for what is unknown."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            return self.shares(*(one[block].astype(np.float64) for one in self.numbers))

    def told(self, block: slice) -> Column:
        """Whether Jobstats measured the GPUs of each run."""
        import numpy as np

        found: Column = ~np.isnan(self.numbers[3][block].astype(np.float64))
        return found


def uses(db: sqlite3.Connection, selection: Selection, texts: Sequence[str]) -> tuple[Alike, dict[str, Used]]:
    """The jobs that `selection` takes by `texts` and HAD_GPUS, and by resource what they used. The caller holds a
    transaction.
    """
    numbers = list(dict.fromkeys(sql for use in _USES.values() for sql in use.numbers))
    rest = f"FROM run WHERE {selection.plain}"
    if reads_files(db, (*texts, *numbers, *(use.known for use in _USES.values())), rest, selection.params):
        jobs = alike(db, selection, texts, (HAD_GPUS,))
        return jobs, {
            name: Used(*columns(db, texts, use.numbers, f"{rest} AND ({use.known})", selection.params), use.shares)
            for name, use in _USES.items()
        }
    return _of_sqlite(db, selection, texts, numbers)


def _of_sqlite(
    db: sqlite3.Connection, selection: Selection, texts: Sequence[str], numbers: Sequence[str]
) -> tuple[Alike, dict[str, Used]]:
    import numpy as np

    found = taken(db, selection, texts, numbers)
    of = dict(zip(numbers, found.numbers, strict=True))
    had = ((of["elapsed"] > 0) & (of["size_gpus"] > 0)).astype(np.int8)
    ones = np.broadcast_to(np.int64(1), found.jobs)
    jobs = Alike(found.texts, [had], ones, (), (), found.jobs, found.excluded)
    return jobs, {name: Used(found.texts, [of[sql] for sql in use.numbers], use.shares) for name, use in _USES.items()}
