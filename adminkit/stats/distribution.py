"""The distribution of a number over jobs, each value once with how many jobs have it: quantiles, mean, deviation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Distribution:
    """`many[i]` jobs have `values[i]`; values ascend. It does not depend on the order in which jobs were read, so
    neither do its floats.
    """

    values: NDArray[Any]
    many: NDArray[Any]

    @property
    def jobs(self) -> int:
        return int(self.many.sum())

    def mean(self) -> float:
        """ValueError for no job."""
        if not len(self.values):
            raise ValueError("the mean of no job")
        return float((self.values * self.many).sum()) / self.jobs

    def deviation(self) -> float | None:
        """The standard deviation of a sample (n - 1); None for one job."""
        jobs = self.jobs
        if jobs < 2:
            return None
        return math.sqrt(float(((self.values - self.mean()) ** 2 * self.many).sum()) / (jobs - 1))

    def quantiles(self, levels: Sequence[float]) -> list[float]:
        """Interpolated linearly: type 7 of Hyndman and Fan, The American Statistician 50 (1996) 361, as np.quantile()
        has them of each job by itself.
        """
        import numpy as np

        upto = np.cumsum(self.many)
        at = np.asarray(levels, np.float64) * (upto[-1] - 1)
        below = np.floor(at)
        low = self.values[np.searchsorted(upto, below, "right")].astype(np.float64)
        high = self.values[np.searchsorted(upto, np.ceil(at), "right")].astype(np.float64)
        part, apart = at - below, high - low
        found = np.where(part < 0.5, low + apart * part, high - apart * (1 - part))
        return [float(one) for one in found]

    def share_within(self, most: float) -> float:
        """The share of jobs with this value or a lower one."""
        import numpy as np

        upto = int(np.searchsorted(self.values, most, "right"))
        return int(self.many[:upto].sum()) / self.jobs


def distribution(values: NDArray[Any], many: NDArray[Any] | None = None) -> Distribution:
    """Put rows in any order into one; each has `many` jobs, or one."""
    import numpy as np

    if many is None:
        many = np.broadcast_to(np.int64(1), len(values))
    if int(many.sum()) <= 2 * len(values):  # sorting values takes a third of the time of sorting their places
        ascending = np.sort(np.repeat(values, many))
        bounds = np.append(_changes(ascending), len(ascending))
        return Distribution(ascending[bounds[:-1]], bounds[1:] - bounds[:-1])
    order = np.argsort(values)
    ascending = values[order]
    first = _changes(ascending)
    return Distribution(ascending[first], np.add.reduceat(many[order].astype(np.int64, copy=False), first))


def _changes(ascending: NDArray[Any]) -> NDArray[Any]:
    """The places of values that differ from the one before."""
    import numpy as np

    differs = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=differs[1:])
    return np.flatnonzero(differs)


def distributions(
    number: NDArray[Any], groups: int, values: NDArray[Any], many: NDArray[Any]
) -> Iterator[Distribution]:
    """That of each group: `number` is the group of each row."""
    from adminkit.stats.taken import splits

    for mine, counts in splits(number, groups, values, many):
        yield distribution(mine, counts)


def merged(parts: Sequence[Distribution]) -> Distribution:
    """That of the jobs of all parts together."""
    import numpy as np

    if not parts:
        return distribution(np.zeros(0))
    return distribution(np.concatenate([p.values for p in parts]), np.concatenate([p.many for p in parts]))
