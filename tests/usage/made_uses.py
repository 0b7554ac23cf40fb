"""Made jobs with idle phases, to replay rules on: no public trace has readings of each GPU of each job by the minute
that could be had, so what is published about such traces is what these jobs are made of. They are generated, not real.

Published: the run times and GPUs of the jobs of Microsoft's Philly clusters in 2017 (82,247 jobs, CC-BY-4.0; the
quantiles below are of those); the share of a job's minutes in which all its GPUs were at 0 %, 49 % of jobs below six
hours and 25 % of those above a day, and that 65 % of idle periods are within the job (affinode's analysis of the
per-minute readings of the same trace). Assumed, as nothing is published: how idle shares differ between jobs, and how
long a pause is. So there are three sets, whose pauses have longer and longer tails.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from adminkit.usage.recorded import Recorded, Span

#: Run times in seconds by share of jobs.
RUN_TIMES: Final = ((0.6, 1821), (0.7, 2549), (0.75, 2932), (0.8, 4244), (0.9, 11_266), (0.95, 43_648),
                    (0.99, 254_884), (0.999, 1_186_475))  # fmt: skip
GPUS: Final = ((0.9317, 1), (0.9538, 2), (0.9765, 4), (0.9965, 8), (1.0, 16))
#: Mean share of a job's time in which none of its GPUs is used, by its run time; the second is between the other two.
IDLE: Final = ((6 * 3600, 0.49), (24 * 3600, 0.37), (math.inf, 0.25))
#: The share of jobs whose idle time is mostly at their end: it is what makes 65 % of idle periods be within jobs.
STALLS: Final = 0.35
#: Minutes of a pause: the median, and the standard deviation of its logarithm.
PAUSE: Final = 5.0
TAILS: Final[Mapping[str, float]] = {"short": 1.0, "middle": 1.5, "long": 2.0}


def made(many: int, tail: str, seed: int = 1) -> Iterator[Recorded]:
    """`many` jobs of half an hour or more, whose pauses are of that tail."""
    luck = random.Random(f"{seed} {tail}")
    for number in range(1, many + 1):
        run_time = _run_time(luck)
        mean = next(share for most, share in IDLE if run_time < most)
        idle = luck.betavariate(1.2 * mean, 1.2 * (1 - mean)) * run_time
        used = _used(luck, run_time, idle, TAILS[tail])
        at = luck.randrange(300)
        place = luck.random()
        gpus = next(gpus for most, gpus in GPUS if place <= most)
        yield Recorded(str(number), at, at + run_time, [[(at + since, at + until) for since, until in used]] * gpus)


def _run_time(luck: random.Random) -> int:
    """Straight between the quantiles, of logarithms."""
    place = luck.uniform(RUN_TIMES[0][0], RUN_TIMES[-1][0])
    for (low, short), (high, long) in pairwise(RUN_TIMES):
        if place <= high:
            part = (place - low) / (high - low)
            return int(math.exp(math.log(short) + part * (math.log(long) - math.log(short))))
    raise AssertionError(place)


def _used(luck: random.Random, run_time: int, idle: float, tail: float) -> list[Span]:
    """When the GPUs are used: after a start, and between pauses, or until the job stalls."""
    start = int(min(_pause(luck, tail), idle))
    left, pauses = idle - start, list[int]()
    if luck.random() >= STALLS:
        while left >= 60:
            pauses.append(int(min(_pause(luck, tail), left)))
            left -= pauses[-1]
    busy = max(0, run_time - start - sum(pauses) - int(left))
    cuts = sorted(luck.randint(0, busy) for _ in pauses)
    spans, at, done = list[Span](), start, 0
    for cut, pause in zip([*cuts, busy], [*pauses, 0], strict=True):
        if cut > done:
            spans.append((at, at + cut - done))
        at += cut - done + pause
        done = cut
    return spans


def _pause(luck: random.Random, tail: float) -> int:
    return max(60, int(60 * PAUSE * math.exp(luck.gauss(0, tail))))
