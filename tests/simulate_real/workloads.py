"""The six workloads, each made of its seed alone: three sets of jobs, each under two policies.

They were committed before the first comparison with the simulator, and tests hold their digests: a change of a
workload makes its runs worthless.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from tests.simulate_real.shape import Nodes, Queue, Shape

#: Limits that people ask for, seconds.
ROUND: Final = (60, 120, 180, 300, 600, 900, 1800, 3600)
USERS: Final = ("games", "news", "backup", "www-data")


@dataclass(frozen=True, slots=True)
class Job:
    """What is submitted `offset` seconds after the beginning, and how long it sleeps."""

    number: int
    offset: int
    queues: tuple[str, ...]
    nodes: int
    cpus: int  # on each node, like the next three
    mem: int  # MiB
    gpus: int
    gpu_type: str  # "": any
    whole: bool  # its nodes are its alone
    limit: int  # seconds, whole minutes
    soft: int | None  # --time-min, seconds, whole minutes
    sleep: int
    user: str
    nice: int

    @property
    def work(self) -> int:
        """CPU seconds, of the nodes' share that it asks for."""
        return self.nodes * self.cpus * self.sleep


@dataclass(frozen=True, slots=True)
class Workload:
    """`pair` is the set of jobs: two workloads of one set differ by a policy alone."""

    name: str
    pair: str
    seed: int
    about: str
    shape: Shape
    jobs: tuple[Job, ...]
    oldest: tuple[int, int] = (22, 5)  # the first Slurm that it can run on
    favours: str = ""  # the queue that the policy is for

    @property
    def digest(self) -> str:
        """Of everything that a run depends on."""
        return hashlib.sha256(repr((self.shape, self.jobs)).encode()).hexdigest()[:16]


class Draw:
    """Choices from a seed. Random.random alone is the same in every Python."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def chance(self, share: float) -> bool:
        return self._random() < share

    def whole(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def one(self, *of: int) -> int:
        return of[int(self._random() * len(of))]

    def run(self, low: int = 5, high: int = 120) -> int:
        """Seconds; each factor of time is as frequent as the next."""
        return round(low * math.pow(high / low, self._random()))

    def delay(self) -> float:
        """Between two arrivals, of mean 1."""
        return -math.log(1 - self._random())


def _job(number: int, draw: Draw, queues: str, **of: int | bool | str) -> Job:
    """A job of one node, whose owner has chosen no limit yet."""
    usual = Job(number, 0, tuple(queues.split(",")), 1, 1, 1000, 0, "", False, 0, None, draw.run(), "", 0)
    return replace(usual, user=USERS[draw.whole(0, 3)], nice=draw.one(0, 0, 0, 20), **of)  # type: ignore[arg-type]


def _arrive(jobs: Sequence[Job], draw: Draw, span: int, together: float) -> list[Job]:
    """The jobs over `span` seconds; a share of them comes at the same second as the one before.

    Trap: sum() of floats is another from Python 3.12 on.
    """
    delays = [0.0 if draw.chance(together) else draw.delay() for _ in jobs]
    scale, now, found = span / math.fsum(delays), 0.0, []
    for job, delay in zip(jobs, delays, strict=True):
        now += delay * scale
        found.append(replace(job, offset=round(now)))
    return found


def _above(seconds: float) -> int:
    """The next limit that people ask for."""
    return next((limit for limit in ROUND if limit >= seconds), ROUND[-1])


def _longest(shape: Shape, job: Job) -> int:
    return min(shape.queue(name).max_limit for name in job.queues)


def _usual_limit(shape: Shape, job: Job, draw: Draw) -> int:
    """As people do: a third take the queue's maximum, few ask for too little, the others for up to five times."""
    longest, way, factor = _longest(shape, job), draw.whole(1, 100), 1.1 + 4 * draw.chance(0.5) * draw.delay()
    if way <= 33:
        return longest
    if way <= 45 and job.sleep > 75:
        return 60
    return min(longest, _above(job.sleep * factor))


#: What every site here sets: minutes instead of days. The rest is Slurm's default.
_SETTINGS: Final = {
    "PriorityWeightAge": 1000,
    "PriorityMaxAge": 60,  # minutes
    "PriorityCalcPeriod": 1,  # minutes
    "PriorityWeightJobSize": 40,
    "PriorityWeightPartition": 50,
    "KillWait": 3,
}

# one tier or two: mixed nodes with GPUs of two types, queues that overlap

_MIXED: Final = (
    Nodes("c", 10, 16, 32_000, weight=1),
    Nodes("f", 4, 32, 128_000, weight=5),
    Nodes("a", 2, 16, 64_000, 8, "a100", weight=10),
    Nodes("v", 2, 16, 64_000, 8, "v100", weight=10),
)


def _mixed(tier: int) -> Shape:
    """`tier` is that of the queue of short jobs, which has every node."""
    queues = (
        Queue("batch", ("c", "f"), 3600, factor=2),
        Queue("fat", ("f",), 3600, factor=2),
        Queue("gpu", ("a", "v"), 1800, factor=2),
        Queue("any", ("c", "f", "a", "v"), 1800, factor=1),
        Queue("short", ("c", "f", "a", "v"), 180, tier=tier, factor=4, max_nodes=2),
    )
    return Shape(_MIXED, queues, {"bf_interval": 5}, _SETTINGS)


def _mixed_job(number: int, draw: Draw) -> Job:
    kind = draw.whole(1, 100)
    if kind <= 46:
        job = _job(number, draw, "batch", cpus=draw.one(1, 2, 4), mem=draw.one(500, 1000, 2000, 4000))
        if job.sleep <= 45 and draw.chance(0.6):
            return replace(job, queues=("short",))
        return replace(job, queues=("any", "batch")) if draw.chance(0.3) else job
    if kind <= 54:
        return _job(number, draw, "fat", cpus=draw.one(4, 8, 16), mem=draw.one(20_000, 30_000, 50_000))
    if kind <= 70:
        return _job(number, draw, "batch", nodes=draw.whole(2, 4), cpus=draw.one(4, 8), mem=4000)
    if kind <= 73:
        return _job(number, draw, "batch", nodes=draw.whole(2, 6), whole=True)
    gpus = draw.one(1, 1, 2, 4)
    job = _job(number, draw, "gpu", cpus=gpus * draw.one(1, 2), gpus=gpus, mem=2000 * gpus)
    if kind <= 78:
        return replace(job, nodes=2)
    if kind <= 88:
        return replace(job, gpu_type="a100" if draw.chance(0.5) else "v100")
    return replace(job, queues=("short",)) if job.sleep <= 45 and draw.chance(0.5) else job


def _mixed_jobs(shape: Shape, seed: int) -> tuple[Job, ...]:
    draw = Draw(seed)
    jobs = _arrive([_mixed_job(number, draw) for number in range(420)], draw, 140, 0.3)
    return tuple(replace(job, limit=_usual_limit(shape, job, draw)) for job in jobs)


# bad or good estimates: CPU nodes of two sizes, many jobs of several nodes


def _plain() -> Shape:
    queues = (Queue("batch", ("c", "f"), 3600), Queue("small", ("c",), 900, factor=2, max_nodes=4))
    nodes = (Nodes("c", 14, 16, 32_000, weight=1), Nodes("f", 4, 32, 64_000, weight=5))
    return Shape(nodes, queues, {"bf_interval": 5, "bf_resolution": 10}, _SETTINGS)


def _plain_job(number: int, draw: Draw) -> Job:
    kind = draw.whole(1, 100)
    sleep = draw.whole(5, 30) if draw.chance(0.6) else draw.whole(50, 120)
    if kind <= 69:
        job = _job(number, draw, "batch", cpus=draw.one(1, 2, 4, 8), mem=draw.one(500, 1000, 4000), sleep=sleep)
        return replace(job, queues=("small",)) if draw.chance(0.3) else job
    if kind <= 94:
        job = _job(number, draw, "batch", nodes=draw.whole(2, 4), cpus=draw.one(2, 4, 8), mem=3000, sleep=sleep)
        return replace(job, queues=("small",)) if draw.chance(0.3) else job
    return _job(number, draw, "batch", nodes=draw.whole(4, 8), cpus=8, mem=4000, sleep=sleep)


def _plain_jobs(shape: Shape, seed: int, good: bool) -> tuple[Job, ...]:
    draw = Draw(seed)
    jobs = _arrive([_plain_job(number, draw) for number in range(360)], draw, 190, 0.2)
    return tuple(replace(job, limit=_above(job.sleep * 1.05 + 3) if good else _longest(shape, job)) for job in jobs)


# a deep queue, without or with soft limits: nearly everything is there after two minutes


def _deep(soft: bool) -> Shape:
    queues = (Queue("batch", ("c", "f"), 3600), Queue("fat", ("f",), 3600))
    nodes = (Nodes("c", 14, 16, 32_000, weight=1), Nodes("f", 4, 32, 128_000, weight=5))
    scheduler = {"bf_interval": 5, "bf_max_job_test": 120, "default_queue_depth": 30}
    if soft:
        scheduler["time_min_as_soft_limit"] = True
    return Shape(nodes, queues, scheduler, _SETTINGS)


def _deep_job(number: int, draw: Draw) -> Job:
    kind = draw.whole(1, 100)
    if kind <= 70:
        return _job(number, draw, "batch", cpus=draw.one(1, 2, 4), mem=draw.one(500, 1000, 4000))
    if kind <= 78:
        return _job(number, draw, "fat", cpus=draw.one(4, 8, 16), mem=draw.one(16_000, 30_000))
    if kind <= 97:
        return _job(number, draw, "batch", nodes=draw.whole(2, 4), cpus=draw.one(2, 4, 8), mem=3000)
    return _job(number, draw, "batch", nodes=draw.whole(4, 8), cpus=8, mem=4000)


def _deep_jobs(shape: Shape, seed: int, soft: bool) -> tuple[Job, ...]:
    """A soft limit is what the job needs and some more; one in eight is too short."""
    draw = Draw(seed)
    jobs = []
    for job in _arrive([_deep_job(number, draw) for number in range(420)], draw, 110, 0.2):
        limit = _longest(shape, job) if draw.chance(0.6) else _above(job.sleep * 1.1 + 600)
        short, known = draw.chance(0.125), draw.chance(0.85)
        plan = 60 if short else _above(job.sleep * 1.1 + 3)
        jobs.append(replace(job, limit=limit, soft=plan if soft and known else None))
    return tuple(jobs)


def _workloads() -> tuple[Workload, ...]:
    tiers = _mixed_jobs(_mixed(1), 1601)
    found = [
        Workload("one-tier", "tiers", 1601, "mixed nodes and GPUs, overlapping queues of one tier", _mixed(1), tiers),
        Workload(
            "two-tiers", "tiers", 1601, "the same, with short jobs in a higher tier", _mixed(2), tiers, favours="short"
        ),
    ]
    for name, good, about in (
        ("bad-estimates", False, "many jobs on several nodes; each job asks for its queue's maximum"),
        ("good-estimates", True, "the same, but each job asks for the next round limit above its need"),
    ):
        found.append(Workload(name, "estimates", 1602, about, _plain(), _plain_jobs(_plain(), 1602, good)))
    for name, soft, about in (
        ("deep-queue", False, "several hundred jobs wait, with limits far above their needs"),
        ("soft-limits", True, "the same, but backfill plans with --time-min"),
    ):
        jobs = _deep_jobs(_deep(soft), 1603, soft)
        oldest = (25, 11) if soft else (22, 5)
        found.append(Workload(name, "deep", 1603, about, _deep(soft), jobs, oldest))
    return tuple(found)


def _short() -> Workload:
    """Half a minute for `make test`: jobs of long limits hold back wide ones, and backfill has room for short ones."""
    shape = Shape(
        (Nodes("c", 3, 4, 8000), Nodes("a", 1, 4, 8000, 2, "a100", weight=10)),
        (Queue("batch", ("c", "a"), 3600), Queue("short", ("c", "a"), 180, tier=2)),
        {"bf_interval": 2, "bf_resolution": 5},
        _SETTINGS,
    )
    draw = Draw(1600)

    def job(offset: int, sleep: int, **of: int | str) -> Job:
        queues = str(of.pop("queues", "batch"))
        return replace(_job(0, draw, queues, cpus=1, mem=500, sleep=sleep, limit=60), offset=offset, nice=0, **of)  # type: ignore[arg-type]

    jobs = [job(0, 18, nodes=2, cpus=2, limit=1800), job(0, 18, nodes=2, cpus=2, limit=1800)]
    jobs += [job(1, 16, gpus=1, limit=1800), job(3, 3, nodes=3, cpus=4, limit=600), job(5, 2, nodes=4, cpus=2)]
    jobs += [job(4 + number // 3, draw.whole(2, 5), cpus=draw.one(1, 2)) for number in range(24)]
    jobs += [job(6 + number, 3, queues="short") for number in range(4)]
    jobs += [job(8, 3, gpus=1, gpu_type="a100"), job(9, 3, gpus=1), job(12, 2, nodes=2, cpus=4)]
    ordered = sorted(jobs, key=lambda job: job.offset)
    numbered = tuple(replace(job, number=number) for number, job in enumerate(ordered))
    return Workload("short", "short", 1600, "a run of half a minute", shape, numbered)


WORKLOADS: Final = _workloads()
SHORT: Final = _short()


def workload(name: str) -> Workload:
    return next(one for one in (*WORKLOADS, SHORT) if one.name == name)
