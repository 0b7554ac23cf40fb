"""The look-alike's users: what each runs, and when it is submitted.

A habit is one program of one user: its queue, GPUs, limit and name stay the same, its run times are similar, and it is
submitted during one campaign of days or weeks, in arrays, in loops or singly.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from itertools import accumulate
from random import Random
from typing import Final

from adminkit.demo.times import MODEL, apportion, run_times

USERS: Final = 64
ACTIVE: Final = 30  # at least 10 jobs a month on average

#: Multi-GPU jobs on one node by GPUs, multi-node jobs (whole nodes of 8 GPUs) by nodes.
MULTI_GPU: Final = {2: 246, 3: 8, 4: 407, 5: 6, 6: 5, 7: 2, 8: 1473}
MULTI_NODE: Final = {2: 273, 4: 28, 7: 1, 8: 22, 10: 5, 16: 9, 32: 5}

JST: Final = timezone(timedelta(hours=9), "JST")
FIRST_DAY: Final = date(2017, 7, 14)
DAYS: Final = 171  # to 31 December
BEGIN: Final = int(datetime(2017, 7, 14, tzinfo=JST).timestamp())
END: Final = BEGIN + DAYS * 86400

HOUR_WEIGHTS: Final = (
    4,
    3,
    2,
    1,
    1,
    1,
    1,
    2,
    4,
    8,
    12,
    13,
    10,
    12,
    14,
    15,
    15,
    15,
    14,
    11,
    9,
    8,
    7,
    6,
)  # 0 h … 23 h JST
WEEKDAY_WEIGHTS: Final = (1.0, 1.1, 1.1, 1.1, 1.0, 0.4, 0.35)  # Monday … Sunday
_HOLIDAYS: Final = {(7, 17), (8, 11), (9, 18), (10, 9), (11, 3), (11, 23)}
_OBON: Final = {(8, day) for day in range(12, 17)}
_YEAR_END: Final = {(12, day) for day in range(28, 32)}

_PROGRAMS: Final = (
    "train", "train.sh", "run.sh", "job", "resnet50", "vgg16", "cifar10", "imagenet", "mnist", "lstm", "seq2seq",
    "dcgan", "ssd", "yolo", "segnet", "dqn", "a3c", "finetune", "gridsearch", "eval", "word2vec", "speech", "pose",
    "unet", "chainer", "tf_main", "caffe", "md", "学習",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Habit:
    """One program of one user. `typical` and `jitter` order its runs among those with the same queue and limit."""

    user: int  # 0 is the busiest
    job_name: str
    queue: str
    nodes: int
    gpus_per_node: int
    time_limit: int
    jobs: int
    arrays: bool
    typical: float
    jitter: float


@dataclass(frozen=True, slots=True)
class Run:
    """A job before the cluster has seen it. An array's tasks share `batch`; `array_task` is None outside arrays."""

    habit: Habit
    submit_time: int
    batch: int
    array_task: int | None
    elapsed: int
    timed_out: bool


def runs(rng: Random) -> list[Run]:
    """Every job of the trace, in the order of submission."""
    found: list[Run] = []
    batch = 0
    for habit, times in _share_out(list(_habits(rng)), rng):
        days = min(60.0, rng.lognormvariate(math.log(5), 0.9) + habit.jobs / 20)
        day = bisect_right(_BUSY, rng.random() * _BUSY[-1]) / 24 - days / 2
        while times:
            size = min(len(times), _batch_size(habit, rng))
            together, times = times[:size], times[size:]
            last = END - 3 * 3600 - 2 * max(elapsed for elapsed, _ in together)
            submit = _submit_time(day, days, last, rng)
            for task, (elapsed, timed_out) in enumerate(together):
                found.append(Run(habit, submit, batch, task if habit.arrays else None, elapsed, timed_out))
                submit += 0 if habit.arrays else rng.randint(1, 20)
            batch += 1
    return sorted(found, key=lambda run: (run.submit_time, run.batch))


def _shapes(queue: str) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
    """(nodes, GPUs on each) -> jobs of one queue: single-GPU, then parallel.

    The study gives no queues for parallel jobs. Here a tenth of every GPU and node count runs in gq-short, a twentieth
    in gq-long (both rounded down), none in gq-middle (one GPU only) and the rest in gq.
    """
    single = {(1, 1): MODEL[queue].single[0]}
    if queue == "gq-middle":
        return single, {}
    parallel = {(1, gpus): jobs for gpus, jobs in MULTI_GPU.items()}
    parallel |= {(nodes, 8): jobs for nodes, jobs in MULTI_NODE.items()}
    return single, {shape: _part(queue, jobs) for shape, jobs in parallel.items()}


def _part(queue: str, jobs: int) -> int:
    short, long = jobs // 10, jobs // 20
    return {"gq": jobs - short - long, "gq-short": short, "gq-long": long}[queue]


def _habits(rng: Random) -> Iterator[Habit]:
    """Habits whose jobs add up to the study's counts, with exactly as many jobs of each limit as the model has."""
    usual: dict[tuple[int, str], int] = {}  # (user, queue) -> the limit this user asks for unless there is a reason
    for queue, model in MODEL.items():
        limits, popularity = [minutes * 60 for minutes in model.menu], list(model.menu.values())
        for kind, shapes in enumerate(_shapes(queue)):
            left = dict(zip(limits, apportion(sum(shapes.values()), popularity), strict=True))
            for (nodes, gpus), jobs in shapes.items():
                for user, size in _campaigns(queue, kind, jobs, rng):
                    own = usual.setdefault((user, queue), rng.choices(limits, popularity)[0])
                    for limit, part in _limits(size, own, left, rng):
                        yield Habit(
                            user, _name(rng), queue, nodes, gpus, limit, part,
                            arrays=part >= 5 and rng.random() < 0.3,
                            typical=rng.gauss(0, 1),
                            jitter=rng.uniform(0.15, 0.7),
                        )  # fmt: skip


def _limits(size: int, own: int, left: dict[int, int], rng: Random) -> Iterator[tuple[int, int]]:
    """(limit, jobs) for `size` jobs of a user whose usual limit is `own`, taken out of what is `left`."""
    while size:
        usual = left[own] and rng.random() < 0.75
        limit = own if usual else rng.choices(list(left), list(left.values()))[0]
        part = min(size, left[limit])
        left[limit] -= part
        size -= part
        yield limit, part


def _name(rng: Random) -> str:
    return rng.choice(_PROGRAMS) + rng.choice(("", "", f"_{rng.randint(1, 40)}", f"-v{rng.randint(2, 9)}"))


def _campaigns(queue: str, kind: int, jobs: int, rng: Random) -> Iterator[tuple[int, int]]:
    """(user, jobs) until there are `jobs` of them. Active users share them Zipf-like; the others have a few in gq."""
    everybody = queue == "gq" and kind == 0
    if everybody:
        floor = [(user, rng.randint(80, 120)) for user in range(ACTIVE)]
        floor += [(user, rng.randint(1, 40)) for user in range(ACTIVE, USERS)]
        yield from floor
        jobs -= sum(size for _, size in floor)
    fans = range(ACTIVE) if everybody else sorted(rng.sample(range(ACTIVE), 12))
    weights = [1 / (user + 2) for user in fans]
    largest = max(1, min(600, jobs // 12))
    while jobs:
        size = min(jobs, largest, 1 + int(rng.lognormvariate(math.log(25), 1.2)))
        jobs -= size
        yield rng.choices(fans, weights)[0], size


def _share_out(habits: list[Habit], rng: Random) -> Iterator[tuple[Habit, list[tuple[int, bool]]]]:
    """Each habit with its runs' (elapsed, timed out), in the order they are submitted.

    Among the jobs of one queue, class and limit the model says which run times there are; who has the longer program
    gets the longer ones. One run in twelve ends early, as runs with a mistake in them do.
    """
    groups: defaultdict[tuple[str, bool, int], list[tuple[float, int, int]]] = defaultdict(list)
    for number, habit in enumerate(habits):
        group = groups[habit.queue, habit.nodes * habit.gpus_per_node > 1, habit.time_limit]
        for nth in range(habit.jobs):
            score = habit.typical + rng.gauss(0, habit.jitter) - (2 if rng.random() < 1 / 12 else 0)
            group.append((score, number, nth))
    shares: list[list[tuple[int, bool]]] = [[(0, False)] * habit.jobs for habit in habits]
    for queue, model in MODEL.items():
        for parallel in (False, True):
            jobs = sum(h.jobs for h in habits if h.queue == queue and (h.nodes * h.gpus_per_node > 1) == parallel)
            if jobs == 0:
                continue
            timeouts = model.parallel_timeouts if parallel else model.single[1]
            for limit, times in run_times(model, jobs, timeouts).items():
                for (_, number, nth), elapsed in zip(sorted(groups[queue, parallel, limit]), times, strict=True):
                    over = rng.randint(0, min(30, limit // 2500)) if elapsed == limit else 0
                    shares[number][nth] = (elapsed + over, elapsed == limit)
    return zip(habits, shares, strict=True)


def _batch_size(habit: Habit, rng: Random) -> int:
    if habit.arrays:
        return rng.randint(4, 60)
    return 1 if rng.random() < 0.6 else rng.randint(2, 12)


def _calendar() -> list[float]:
    """How busy each hour of the period is, added up."""
    weights = []
    for number in range(DAYS):
        day = FIRST_DAY + timedelta(days=number)
        weight = WEEKDAY_WEIGHTS[day.weekday()]
        if (day.month, day.day) in _HOLIDAYS:
            weight = min(weight, 0.4)
        if (day.month, day.day) in _OBON:
            weight *= 0.35
        if (day.month, day.day) in _YEAR_END:
            weight *= 0.35
        weights += [weight * hour for hour in HOUR_WEIGHTS]
    return list(accumulate(weights))


_BUSY: Final = _calendar()


def _submit_time(day: float, days: float, last: int, rng: Random) -> int:
    """A moment in the campaign of `days` from `day` on, likelier in busy hours, not after `last`."""
    end = max(24, min(int((day + days) * 24), (last - BEGIN) // 3600, len(_BUSY) - 1))
    begin = max(0, min(int(day * 24), end - 24))
    low = _BUSY[begin - 1] if begin else 0.0
    hour = bisect_right(_BUSY, low + rng.random() * (_BUSY[end] - low))
    return BEGIN + min(hour, end) * 3600 + rng.randrange(3600)
