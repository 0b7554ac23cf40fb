"""Two months after the look-alike's five: a crowded machine, failures, users with habits, and a rule since February.
Then four weeks on nodes with a meter: two in March, two in April with a queue on some nights.

The jobs of the study stay as they are and come first. The others are their programs again, in random streams of their
own, submitted to a machine that is full. docs/demo.md says who does what.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from random import Random
from typing import Final

from adminkit.demo import generate, nights, training
from adminkit.demo.backfill import Wish, starts
from adminkit.demo.generate import CPUS_PER_GPU, QUEUES, SEED, node_list
from adminkit.demo.used import BUNDLE
from adminkit.demo.users import END, HOUR_WEIGHTS, JST, WEEKDAY_WEIGHTS
from adminkit.job import Job
from adminkit.trace.comment_words import RECORD

DAYS: Final = 59  # January and February 2018
JOBS: Final = 20_000
#: From then on single-GPU jobs of gq get at most RULE_LIMIT.
RULE: Final = int(datetime(2018, 2, 1, tzinfo=JST).timestamp())
RULE_LIMIT: Final = 24 * 3600
#: From then on, a Monday, nodes have a meter: every job before it has ended.
METER: Final = int(datetime(2018, 3, 19, tzinfo=JST).timestamp())
METER_DAYS: Final = 14
METER_JOBS: Final = 2_000

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_MENU: Final = tuple(hours * _HOUR for hours in (1, 2, 4, 8, 12, 24, 48, 72, 120, 168, 336))
#: What users do with limits, by how busy they are, over and over.
_WAYS: Final = ("same", "maximum", "improving", "default")
_EPILOG: Final = 8


@dataclass(frozen=True, slots=True)
class Program:
    """A program of one user in the five months: its jobs, and a run time that 90 % of them stay below."""

    jobs: Sequence[Job]
    need: int
    way: str


def jobs(seed: int = SEED) -> Iterator[Job]:
    """Every job of the study, of the two months, of the two weeks in March and in April, in the order of job_id_raw."""
    study = list(generate.jobs(seed))
    yield from study
    later = list(after(study, seed))
    yield from later
    metered = list(with_meter(study, later, seed))
    yield from metered
    yield from with_nights(study, [*later, *metered], seed)


def after(study: Sequence[Job], seed: int) -> Iterator[Job]:
    """The jobs of the two months."""
    rng = Random(seed + 2)
    programs = _programs(study)
    usual = _usual(programs, JOBS, lambda: _moment(END, DAYS, rng), rng)
    yield from _placed([*usual, *_special(programs, rng)], study)


def with_meter(study: Sequence[Job], later: Sequence[Job], seed: int) -> Iterator[Job]:
    """The jobs of the two weeks in March; their energy is 0 until meter.metered() knows what all of them used."""
    rng = Random(seed + 3)

    def moment() -> int:
        return _moment(METER, METER_DAYS, rng)

    programs = _programs(study)
    usual = _usual(programs, METER_JOBS, moment, rng)
    trained = []
    for old, elapsed in training.runs(_first(programs, training.RANK, 1), rng):
        job = _one(old, training.NAME, moment(), elapsed)
        trained.append([replace(job, admin_comment=f"{job.admin_comment} {old.admin_comment}")])
    for job in _placed([*usual, *trained], [*study, *later]):
        yield replace(job, energy=0)


def with_nights(study: Sequence[Job], earlier: Sequence[Job], seed: int) -> Iterator[Job]:
    """The jobs of the two weeks in April; their energy is 0, as that of with_meter()."""
    rng = Random(seed + 4)
    programs = _programs(study)
    small = [one for one in programs if one.jobs[0].nodes == 1]
    batches = list(_usual(small, nights.JOBS, lambda: _moment(nights.BEGIN, nights.DAYS, rng), rng))
    whole = _first(programs, nights.TRAINING_RANK, nights.TRAINING_GPUS)
    for submit, elapsed in nights.trainings(rng):
        batches.append([_one(whole, nights.TRAINING, submit, elapsed, limit=nights.TRAINING_LIMIT)])
    single = _first(programs, nights.PIPELINE_RANK, 1)
    for submit, lengths in nights.arrays(rng):
        batches.append([_one(single, nights.PIPELINE, submit, one, queue="gq-short", task=0) for one in lengths])
    for job in _placed(batches, [*study, *earlier]):
        yield replace(job, energy=0)


def _placed(batches: Sequence[list[Job]], before: Sequence[Job]) -> Iterator[Job]:
    """Numbered behind the jobs `before`, and started by a queue of their own."""
    number, index = before[-1].job_id_raw + 1000, len(before)
    made: list[Job] = []
    for batch in sorted(batches, key=lambda batch: batch[0].submit_time):
        for task, one in enumerate(batch):
            array = one.array_task is not None
            raw = number if task + 1 == len(batch) or not array else number + 1 + task
            if not array:
                number += 1
            index += 1
            ids = {"job_id": f"{number}_{task}", "array_job": number, "array_task": task} if array else {}
            none = {"job_id": str(raw), "array_job": None, "array_task": None}
            made.append(replace(one, job_id_raw=raw, db_index=index, **(ids or none)))
        number += len(batch) + 1 if batch[0].array_task is not None else 1
    placed = starts([_wish(one) for one in made])
    for one, (start, nodes) in sorted(zip(made, placed, strict=True), key=lambda pair: pair[0].job_id_raw):
        yield replace(
            one, start_time=start, end_time=start + (one.elapsed or 0), node_list=node_list(nodes),
            priority=1000 + (start - (one.eligible_time or 0)) // 60,
        )  # fmt: skip


def _wish(job: Job) -> Wish:
    nodes = job.nodes or 1
    ready = (job.eligible_time or 0) + 1
    held = (job.cpus or 0) // CPUS_PER_GPU // nodes  # a job with all CPUs of a node leaves no GPU to others
    return Wish(ready, (job.elapsed or 0) + _EPILOG, job.time_limit or 0, nodes, held)


def _programs(study: Sequence[Job]) -> list[Program]:
    """The programs by user, the busiest first."""
    by_user: defaultdict[str, int] = defaultdict(int)
    found: defaultdict[tuple[str, ...], list[Job]] = defaultdict(list)
    for job in study:
        by_user[job.user or ""] += 1
        found[job.user or "", job.queue or "", job.job_name or "", f"{job.nodes}x{job.gpus}"].append(job)
    ranks = {user: rank for rank, user in enumerate(sorted(by_user, key=lambda user: (-by_user[user], user)))}
    programs = []
    for (user, *_), runs in sorted(found.items(), key=lambda one: (ranks[one[0][0]], one[0])):
        need = sorted(run.elapsed or 0 for run in runs)[len(runs) * 9 // 10]
        programs.append(Program(runs, need, _WAYS[ranks[user] % len(_WAYS)]))
    return programs


def _usual(programs: Sequence[Program], count: int, moment: Callable[[], int], rng: Random) -> Iterator[list[Job]]:
    """Batches of old programs; those of several GPUs come more often than before."""
    weights = list(
        accumulate(len(one.jobs) ** 0.7 * (3 if 1 < (one.jobs[0].gpus or 1) <= 32 else 1) for one in programs)
    )
    left = count
    while left > 0:
        program = rng.choices(programs, cum_weights=weights)[0]
        array = program.jobs[0].array_task is not None
        size = rng.randint(4, 40) if array else 1 if rng.random() < 0.6 else rng.randint(2, 12)
        submit = moment()
        yield [_again(program, submit + (0 if array else 7 * nth), array, rng) for nth in range(size)]
        left -= size


def _moment(begin: int, days: int, rng: Random) -> int:
    """A moment of these days, the first of which is a Monday; likelier in busy hours and on working days."""
    while True:
        day, hour = rng.randrange(days), rng.choices(range(24), HOUR_WEIGHTS)[0]
        if rng.random() * max(WEEKDAY_WEIGHTS) < WEEKDAY_WEIGHTS[day % 7]:
            return begin + day * _DAY + hour * _HOUR + rng.randrange(_HOUR)


def _again(program: Program, submit: int, array: bool, rng: Random) -> Job:
    """One more run of a program: as long as one of its runs was, with the limit that its user asks for by now."""
    old = rng.choice(program.jobs)
    elapsed, queue = old.elapsed or 0, old.queue or ""
    if submit >= RULE and queue == "gq" and old.gpus == 1 and elapsed >= RULE_LIMIT:
        queue = "gq-middle"  # the rule sends long ones there
    limit = _limit(program, old, queue, submit, rng)
    return _made(old, queue, limit, elapsed, submit, 0 if array else None, rng)


def _limit(program: Program, old: Job, queue: str, submit: int, rng: Random) -> int:
    default, most, _ = QUEUES[queue]
    asked = max(old.time_limit or most, default if queue != old.queue else 0)
    if program.way == "maximum":
        asked = most
    elif program.way == "default" and program.need <= default:
        asked = default
    elif program.way == "improving" and rng.random() < (submit - END) / (RULE - END):
        asked = next(limit for limit in _MENU if limit >= min(1.2 * max(program.need, 600), _MENU[-1]))
    if submit >= RULE and queue == "gq" and old.gpus == 1:
        asked = min(asked, RULE_LIMIT)
    return min(asked, most)


def _made(old: Job, queue: str, limit: int, elapsed: int, submit: int, task: int | None, rng: Random) -> Job:
    """A job before it starts; how it will end is drawn here."""
    typed = limit != QUEUES[queue][0]
    state, code, signal = ("TIMEOUT", 0, 0) if elapsed >= limit else ("COMPLETED", 0, 0)
    luck = rng.random()
    if luck < 0.06:  # wrong parameters: it ends at once
        state, code, elapsed = "FAILED", rng.choice((1, 2, 127)), rng.randint(1, 50)
    elif luck < 0.075:
        state, code, elapsed = "FAILED", 1, max(61, int(elapsed * rng.random()))
    elif luck < 0.1:
        state, signal, elapsed = "CANCELLED", 15, max(2, int(elapsed * rng.random()))
    elif luck < 0.102:
        state, code, elapsed = "NODE_FAIL", 1, max(61, int(elapsed * rng.random()))
    held = int(rng.lognormvariate(math.log(_HOUR), 1)) if rng.random() < 0.01 and task is None else 0
    return replace(
        old, queue=queue, submit_time=submit, eligible_time=submit + held, elapsed=min(elapsed, limit), suspended=0,
        state=state, exit_code=code, exit_signal=signal, derived_exit_code=code, array_task=task,
        time_limit=limit, limit_original=limit if typed else None, limit_source="explicit" if typed else "default",
        admin_comment=f"{RECORD.prefix}:lim={limit if typed else 'none'},src={'e' if typed else 'd'}",
    )  # fmt: skip


def _first(programs: Sequence[Program], rank: int, gpus: int) -> Job:
    """A job of gq with `gpus` GPUs, as the user of that rank would have it."""
    users = list(dict.fromkeys(program.jobs[0].user for program in programs))
    own = next(one.jobs[0] for one in programs if one.jobs[0].user == users[rank])
    shape = next(one.jobs[0] for one in programs if one.jobs[0].gpus == gpus and one.jobs[0].queue == "gq")
    return replace(shape, user=users[rank], uid=own.uid, group=own.group, account=own.account, suspended=0)


def _one(
    old: Job,
    name: str,
    submit: int,
    elapsed: int,
    state: str = "",
    queue: str = "gq",
    limit: int | None = None,
    task: int | None = None,
) -> Job:
    """A job of that name that ends in `state`; without `limit` it asks for the maximum."""
    most = QUEUES[queue][1] if queue != "gq" or submit < RULE or old.gpus != 1 else RULE_LIMIT
    job = _made(replace(old, job_name=name), queue, limit or most, elapsed, submit, task, Random(submit))
    code = 1 if state == "FAILED" else 0
    return replace(
        job, elapsed=elapsed, state=state or "COMPLETED", exit_code=code, derived_exit_code=code,
        exit_signal=9 if state == "OUT_OF_MEMORY" else 0,
    )  # fmt: skip


def _special(programs: Sequence[Program], rng: Random) -> Iterator[list[Job]]:
    """A name that fails, one that runs out of memory, a flood, and bundles that look parallel; of four users."""
    for rank, name, state in ((3, "nan_loss.sh", "FAILED"), (6, "bigbatch.sh", "OUT_OF_MEMORY")):
        for _ in range(60):
            yield [
                _one(
                    _first(programs, rank, 1),
                    name,
                    _moment(END, DAYS, rng),
                    rng.randint(900, 9000),
                    state if rng.random() < 0.7 else "",
                )
            ]
    for _ in range(40):
        yield [_one(_first(programs, 4, 8), BUNDLE, _moment(END, DAYS, rng), rng.randint(2 * _HOUR, 8 * _HOUR))]
    flood, begin = _first(programs, 10, 1), END + 16 * _DAY + 10 * _HOUR
    for nth in range(700):
        yield [_one(flood, "sweep.sh", begin + 5 * nth, rng.randint(30, 90), queue="gq-short")]
