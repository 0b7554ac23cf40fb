"""The look-alike's limits and run times: for every queue, which limits are asked for and how long such jobs run.

Nothing here is drawn at random: a distribution is met by taking its quantiles at (i + 0.5) / n. So the study's means,
medians and shares hold for every seed; chance decides only which job gets which run time (users.py).
The constants were fitted once, by least squares, to the study's table of accuracies and its sentences on the queues.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 3600
#: Every job of the study ran for longer than a minute.
SHORTEST: Final = 61


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue: its limits (seconds), its popular limits, how long its jobs run, how many are counted.

    Some of the jobs that ask for one limit run into it; a share of the others is `quick` (tests, early ends), whose
    run time has nothing to do with the limit, and the rest are real runs: `run_median` for those that ask for the
    maximum, shorter with shorter limits by (limit / maximum) ** run_slope. Both are log-normal, cut at the limit;
    a spread is the standard deviation of the run time's logarithm.
    """

    default_limit: int
    max_limit: int
    menu: dict[int, float]  # minutes asked for -> its share of the jobs; the first is the maximum
    quick: float
    quick_median: float
    quick_spread: float
    run_median: float
    run_spread: float
    run_slope: float
    single: tuple[int, int]  # single-GPU jobs: how many, and how many of them ran into the limit
    parallel_timeouts: int = 0  # the same for multi-GPU and multi-node jobs together


MODEL: Final = {
    "gq": Queue(
        default_limit=1 * _HOUR,
        max_limit=72 * _HOUR,
        menu={
            4320: 0.700, 4319: 0.002, 3600: 0.004, 2880: 0.060, 2160: 0.008, 1440: 0.100, 1439: 0.001, 1200: 0.002,
            720: 0.042, 600: 0.007, 480: 0.005, 360: 0.023, 300: 0.004, 240: 0.007, 180: 0.007, 150: 0.001,
            120: 0.007, 60: 0.016, 45: 0.001, 30: 0.003,
        },
        quick=0.43, quick_median=360, quick_spread=1.0,
        run_median=20_300, run_spread=1.07, run_slope=0.92,
        single=(49_938, 1_307), parallel_timeouts=163,
    ),
    "gq-short": Queue(
        default_limit=1 * _HOUR,
        max_limit=3 * _HOUR,
        menu={180: 0.800, 120: 0.060, 60: 0.090, 30: 0.030, 90: 0.010, 100: 0.005, 15: 0.005},
        quick=0.567, quick_median=72, quick_spread=0.67,
        run_median=2_600, run_spread=0.2, run_slope=0.3,
        single=(2_137, 8), parallel_timeouts=2,
    ),
    "gq-middle": Queue(
        default_limit=72 * _HOUR,
        max_limit=168 * _HOUR,
        menu={10080: 0.62, 4320: 0.16, 7200: 0.06, 5760: 0.06, 6000: 0.03, 2880: 0.03, 1440: 0.04},
        quick=0.33, quick_median=1_900, quick_spread=1.1,
        run_median=174_000, run_spread=1.0, run_slope=0.34,
        single=(446, 68),
    ),
    "gq-long": Queue(
        default_limit=72 * _HOUR,
        max_limit=336 * _HOUR,
        menu={20160: 0.58, 4320: 0.10, 10080: 0.10, 14400: 0.04, 7200: 0.10, 5760: 0.08},
        quick=0.086, quick_median=1_850, quick_spread=1.3,
        run_median=156_000, run_spread=0.43, run_slope=0.31,
        single=(116, 41), parallel_timeouts=50,
    ),
}  # fmt: skip


def apportion(total: int, shares: Sequence[float]) -> list[int]:
    """Split `total` into whole numbers in proportion to `shares`: the largest remainders are rounded up (Hamilton)."""
    exact = [total * share / math.fsum(shares) for share in shares]
    whole = [int(x) for x in exact]
    by_remainder = sorted(range(len(shares)), key=lambda i: whole[i] - exact[i])
    for i in by_remainder[: total - sum(whole)]:
        whole[i] += 1
    return whole


def lognormal(count: int, median: float, spread: float, limit: int) -> list[int]:
    """`count` run times in seconds, ascending, of at least SHORTEST and at most `limit`: quantiles, not draws."""
    normal = NormalDist(math.log(median), spread)
    below = normal.cdf(math.log(limit - SHORTEST))
    return [SHORTEST + int(math.exp(normal.inv_cdf((i + 0.5) / count * below))) for i in range(count)]


def run_times(queue: Queue, count: int, timeouts: int) -> dict[int, list[int]]:
    """The times of `count` jobs of a queue: limit in seconds -> the run times of those that ask for it, ascending.

    Those that ran into their limit are last and have it as their run time.
    """
    asked = apportion(count, list(queue.menu.values()))
    cut = apportion(timeouts, asked)
    found: dict[int, list[int]] = {}
    for minutes, jobs, over in zip(queue.menu, asked, cut, strict=True):
        limit = minutes * _MINUTE
        quick = round((jobs - over) * queue.quick)
        median = queue.run_median * (limit / queue.max_limit) ** queue.run_slope
        ended = lognormal(quick, queue.quick_median, queue.quick_spread, limit)
        ended += lognormal(jobs - over - quick, median, queue.run_spread, limit)
        found[limit] = sorted(min(t, limit - 1) for t in ended) + [limit] * over
    return found
