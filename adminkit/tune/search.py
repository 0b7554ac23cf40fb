"""A search from beginning to end: the race on the first days, the pick, and one look at the last ones."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from adminkit.simulate.answer import Effort, program_digest
from adminkit.simulate.change import Sources
from adminkit.simulate.core import simulate
from adminkit.simulate.replicates import Run, digests, refuse_somebody_elses
from adminkit.tune.candidates import Grid, drawn
from adminkit.tune.engine import Engine, Shard, ShardDone, Space, Told, nobody
from adminkit.tune.held_out import Part, split
from adminkit.tune.keep import Kept
from adminkit.tune.race import LEAST, SEEDS, Goal, Round, Standing, best, race
from adminkit.tune.verdict import Verdict, judged

#: Combinations that are run, for each core, to learn what an evaluation costs here.
_MEASURED: Final = 8


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of which days: `train` are searched on, `held` are looked at once."""

    space: Space
    goal: Goal
    train: Part
    held: Part

    @property
    def grid(self) -> Grid:
        """The values of each lever."""
        return [lever.values for lever in self.space.levers]


def question(
    sources: Sources, space: Space, goal: Goal, held_out: Fraction = Fraction(1, 3), force: bool = False
) -> Question:
    """What is asked. AdminkitError where a month cannot be held out, unless it is forced."""
    tail = goal.objective == "p95_wait"
    return Question(space, goal, *split(sources, held_out, goal.parts, tail=tail, force=force))


@dataclass(frozen=True, slots=True)
class Found:
    """The answer: every combination that was tried, the pick if any, and what the held-out days say of it."""

    tried: Sequence[Standing]
    pick: Standing | None
    verdict: Verdict | None
    looks: int = 1  # searches that have looked at the held-out days, this one with them


def search(asked: Question, effort: Effort, rounds: Sequence[Round], told: Told = nobody, run: Run = simulate) -> Found:
    """The answer. The same question, seed and rounds have the same one, whatever was kept of them.

    AdminkitError for what does not go with the site or the trace.
    """
    many = len(rounds) + 1
    tried = _raced(asked, effort, rounds, Engine(asked.space, effort, asked.train, many, told, run, drops=True))
    pick = best(tried)
    if pick is None:
        return Found(tried, None, None)
    engine = Engine(asked.space, effort, asked.held, many, told, run, first=SEEDS[-1])
    outcomes = engine.evaluate(len(rounds), [(pick.choice, 0)], SEEDS[-1])[0]
    verdict = judged(pick, outcomes, asked.goal, asked.held.frame)
    return Found(tried, pick, verdict, kept_of(asked, effort).look(_days(asked.held), [repr(rounds)]))


def work_on(asked: Question, effort: Effort, rounds: Sequence[Round], shard: Shard, told: Told = nobody) -> None:
    """Do one share of one round, before which all earlier rounds have been done. What is kept is the result."""
    engine = Engine(asked.space, effort, asked.train, len(rounds) + 1, told, shard=shard)
    with suppress(ShardDone):
        _raced(asked, effort, rounds[: shard.round + 1], engine)


def evaluations_in(budget: float, asked: Question, effort: Effort, clock: Callable[[], float] = time.monotonic) -> int:
    """How many evaluations take `budget` seconds here; what was kept of an earlier answer counts first."""
    kept = kept_of(asked, effort)
    if (known := kept.evaluations(budget)) is not None:
        return known
    few = _MEASURED * (effort.cores or len(os.sched_getaffinity(0)))
    choices = drawn(asked.grid, few, lambda choice: not asked.space.fits(choice), f"{effort.seed} 0", set())
    engine = Engine(asked.space, replace(effort, keep=None), asked.train, 1)
    begin = clock()
    engine.evaluate(0, [(choice, 0) for choice in choices], 1)
    each = max(clock() - begin, 1e-3) / max(len(choices), 1)
    jobs = [part.sources.case.count for part in (asked.train, asked.held)]
    look = 2 * SEEDS[-1] * each * jobs[1] / max(jobs[0], 1)  # the pick and today, on all days
    made = max(int((budget - look) / each), LEAST)
    kept.keep_evaluations(budget, made)
    return made


def _days(part: Part) -> str:
    """What stands for these days, whoever searches."""
    return hashlib.sha256(digests(part.sources.case)[1] + repr(part.window).encode()).hexdigest()


def kept_of(asked: Question, effort: Effort) -> Kept:
    """Where this search keeps what it finds, by a name that stands for all that it follows from."""
    if effort.keep is not None:
        refuse_somebody_elses(effort.keep)
    digest = hashlib.sha256(program_digest())
    for part in (asked.train, asked.held):
        digest.update(digests(part.sources.case)[1] + part.groups.to_bytes() + repr(part.window).encode())
    levers = [(lever.name, lever.values, _meanings(asked.space, at)) for at, lever in enumerate(asked.space.levers)]
    digest.update(repr((asked.goal, effort.seed, levers)).encode())
    return Kept(effort.keep, digest.hexdigest())


def _meanings(space: Space, place: int) -> list[str]:
    """What each value of a lever does without the others, in the keys of scenarios."""
    several = []
    for value in space.levers[place].values:
        choice = tuple(value if at == place else None for at in range(len(space.levers)))
        steps = () if space.fits(choice) else space.scenario(choice).steps
        several.append(repr([(one.kind.name, one.keys.model_dump_json(exclude={"name"}), one.value) for one in steps]))
    return several


def _raced(asked: Question, effort: Effort, rounds: Sequence[Round], engine: Engine) -> list[Standing]:
    def fits(choice: tuple[int | float | str | bool | None, ...]) -> bool:
        return not asked.space.fits(choice)

    frame = asked.train.frame
    return race(asked.grid, fits, asked.goal, rounds, effort.seed, frame, engine.evaluate, kept_of(asked, effort))
