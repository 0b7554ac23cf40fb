"""The part of a run, or of any stretch of time, that belongs to a window.

For whatever counts hours by when they were used: use per day, week or month, charges, capacity. A run of 14 days
belongs to many days, and its end says nothing about the first of them. What judges a limit does so once, when the run
is over, and does not clip: the window of a report (select.py), letters' weeks (weeks.py), points' days (incentives.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs as columns: start, end (of open ones now) and elapsed in seconds, size in GPUs, CPUs or nodes."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    elapsed: NDArray[np.float64]
    size: NDArray[np.float64]


def overlap(begin: int, end: int, since: int, until: int) -> int:
    """The seconds of [begin, end) in [since, until); 0 where one of them is empty."""
    return max(min(end, until) - max(begin, since), 0)


def use(runs: Runs, edges: Sequence[int]) -> NDArray[np.float64]:
    """What runs used, elapsed times size, in each part between two neighbours of `edges`.

    Nobody knows when a run was suspended, so its run time is spread evenly from start to end. A run whose end is not
    after its start counts where it started. The time it takes grows with the runs and the parts, not with
    the parts that a run belongs to: a run adds its rate where it starts and takes it away where it ends.
    """
    import numpy as np

    at = np.asarray(edges, np.float64)
    first, last = at[0], at[-1]
    found = np.zeros(len(at) - 1)
    length = runs.end - runs.start
    point = (length <= 0) & (runs.start >= first) & (runs.start < last)
    np.add.at(found, np.searchsorted(at, runs.start[point], "right") - 1, (runs.elapsed * runs.size)[point])
    some = (length > 0) & (runs.end > first) & (runs.start < last)
    rate = (runs.elapsed * runs.size)[some] / length[some]
    slope = np.zeros(len(at))
    for moved, change in ((runs.start[some], rate), (runs.end[some], -rate)):
        inside = np.clip(moved, first, last)
        place = np.minimum(np.searchsorted(at, inside, "right") - 1, len(found) - 1)
        # After that moment: the rest of its part, and every part that follows.
        np.add.at(found, place, change * (at[place + 1] - inside))
        np.add.at(slope, place + 1, change)
    return found + np.cumsum(slope[:-1]) * np.diff(at)
