"""The interval of a ratio of means of values that depend on those before them: waits of jobs in one queue do.

Circular block bootstrap: Politis, D. N. and Romano, J. P. (1992), A circular block-resampling procedure for stationary
data. The length of the blocks is found in the data: Politis, D. N. and White, H. (2004), Automatic block-length
selection for the dependent bootstrap, with the correction of Patton, Politis and White (2009).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS: Final = 2000
#: The confidence level of the interval.
LEVEL: Final = 0.95
#: Blocks that are drawn at a time: some MB.
_AT_ONCE: Final = 1 << 16
_SEED: Final = 16
_DAYS_SEED: Final = 18


def ratio_interval(over: Floats, under: Floats, draws: int = DRAWS) -> tuple[float, float]:
    """The percentile interval of mean(over) / mean(under); the two are values of the same things, in their order in
    time. `under` has a mean above 0. The same values have the same interval.
    """
    import numpy as np

    count = len(over)
    ratio = over.mean() / under.mean()
    length = block_length(over - ratio * under)
    blocks = -(-count // length)
    rng = np.random.default_rng(_SEED)
    sums = [np.concatenate([[0.0], np.cumsum(np.concatenate([values, values[:length]]))]) for values in (over, under)]
    found = np.empty(draws)
    at_once = max(1, _AT_ONCE // blocks)
    for begin in range(0, draws, at_once):
        first = rng.integers(0, count, (min(at_once, draws - begin), blocks))
        last = first + length
        last[:, -1] -= blocks * length - count
        above, below = ((total[last] - total[first]).sum(axis=1) for total in sums)
        found[begin : begin + at_once] = np.divide(above, below, out=np.full(len(first), math.inf), where=below > 0)
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    return float(low), float(high)


def block_length(values: Floats) -> int:
    """How long blocks have to be to keep the dependence of `values`, which are in their order in time."""
    import numpy as np

    count = len(values)
    longest = max(1, math.ceil(min(3 * math.sqrt(count), count / 3)))
    quiet = max(5, math.ceil(math.sqrt(math.log10(max(count, 2)))))
    most = min(math.ceil(math.sqrt(count)) + quiet, count - 1)
    covariance = _autocovariance(values, most)
    if count < 4 or covariance[0] <= 0:
        return 1
    small = np.abs(covariance[1:] / covariance[0]) < 2 * math.sqrt(math.log10(count) / count)
    runs = np.convolve(small, np.ones(quiet), "valid") == quiet if len(small) >= quiet else np.zeros(0, dtype=bool)
    beyond = int(np.argmax(runs)) if runs.any() else most
    bandwidth = min(max(2 * beyond, 1), most)
    lag = np.arange(1, bandwidth + 1)
    weight = np.minimum(1.0, 2 * (1 - lag / bandwidth))
    spread = covariance[0] + 2 * float((weight * covariance[lag]).sum())
    slope = 2 * float((weight * lag * covariance[lag]).sum())
    if spread <= 0:
        return longest
    best = (2 * slope**2 / (4 / 3 * spread**2)) ** (1 / 3) * count ** (1 / 3)
    return int(min(max(1, math.ceil(best)), longest))


def _autocovariance(values: Floats, most: int) -> Floats:
    """At the lags 0 to `most`."""
    import numpy as np

    centred = values - values.mean()
    size = 1 << (2 * len(values) - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    whole: Floats = np.fft.irfft(spectrum * spectrum.conj(), size)[: most + 1] / len(values)
    return whole


def days_drawn(days: int, length: int, draws: int) -> NDArray[np.float32]:
    """How often each day is in each of `draws` draws of blocks of `length` days; the last day is before the first."""
    import numpy as np

    rng = np.random.default_rng(_DAYS_SEED)
    first = rng.integers(0, days, (draws, -(-days // length)))
    drawn = (first[:, :, None] + np.arange(length)).reshape(draws, -1)[:, :days] % days
    counts = np.bincount((drawn + np.arange(draws)[:, None] * days).ravel(), minlength=draws * days)
    return counts.reshape(draws, days).astype(np.float32)
