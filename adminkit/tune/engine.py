"""Runs the replicates that the race asks for, or a share of them, on some of the trace's days."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Final, Protocol

from adminkit.simulate.answer import Effort, program_digest
from adminkit.simulate.core import simulate
from adminkit.simulate.replicates import Plan, Run, Tick, replicates
from adminkit.simulate.scenario import Scenario, prepare
from adminkit.tune.candidates import Choice, Value
from adminkit.tune.held_out import Part
from adminkit.tune.measured import Outcome, outcome

#: Summaries in memory at a time: each may have a hundred kilobytes.
_AT_ONCE: Final = 128

#: (number of the round from 1, of how many) -> what is told of it: evaluations done, of how many, jobs simulated.
Told = Callable[[tuple[int, int]], AbstractContextManager[Tick]]


class Lever(Protocol):
    """What a search has to know of a lever."""

    @property
    def name(self) -> str:
        """As in the file."""

    @property
    def values(self) -> tuple[Value, ...]:
        """What it is tried with, besides today's."""


class Space(Protocol):
    """What a search has to know of the levers together."""

    @property
    def levers(self) -> Sequence[Lever]:
        """In the order of a choice."""

    def scenario(self, choice: Choice) -> Scenario:
        """What the choice changes; not for that of today."""

    def fits(self, choice: Choice) -> str:
        """Why the combination contradicts itself; "" where it does not."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A share of one round, for one process of many: the `index`-th of `tasks`; the first round is 0."""

    round: int
    index: int
    tasks: int


class ShardDone(Exception):
    """The share of a round has been run: the others have not, so the race ends here."""


def nobody(place: tuple[int, int]) -> AbstractContextManager[Tick]:
    """Told where nobody watches."""
    return nullcontext(lambda done, total, jobs: None)


@dataclass(slots=True)
class Engine:
    """Has the outcomes of the combinations that may be asked for again."""

    space: Space
    effort: Effort
    part: Part
    rounds: int
    told: Told = nobody
    run: Run = simulate
    first: int = 0  # added to the seed: other days are seen with other chance
    drops: bool = False  # whether what a round leaves out is never asked for again
    shard: Shard | None = None
    outcomes: dict[Choice, list[Outcome]] = field(default_factory=dict)

    def evaluate(self, number: int, choices: Sequence[tuple[Choice, int]], seeds: int) -> list[list[Outcome]]:
        """As race.Evaluate has it. ShardDone where only a share of this round was to be run."""
        if self.shard is not None and self.shard.round == number:
            self._share(self.shard, choices, seeds)
            raise ShardDone
        todo = defaultdict[int, list[Choice]](list)
        for choice, _ in choices:
            todo[len(self.outcomes.get(choice, ()))].append(choice)
        batches = [(have, batch) for have, several in sorted(todo.items()) for batch in _batches(several, seeds - have)]
        total = sum(len(batch) * (seeds - have) for have, batch in batches)
        with self.told((number + 1, self.rounds)) as tick:
            done = 0
            for have, batch in batches:
                self._run(batch, range(have, seeds), _part_of(tick, done, len(batch) * (seeds - have), total))
                done += len(batch) * (seeds - have)
        if self.drops:
            wanted = {choice for choice, _ in choices}
            self.outcomes = {choice: found for choice, found in self.outcomes.items() if choice in wanted}
        return [self.outcomes[choice] for choice, _ in choices]

    def _share(self, shard: Shard, choices: Sequence[tuple[Choice, int]], seeds: int) -> None:
        """This process's replicates of the round: those of one seed together, for which today runs once."""
        pairs = [(seed, choice) for seed in range(seeds) for choice, have in choices if seed >= have]
        first, last = (len(pairs) * end // shard.tasks for end in (shard.index, shard.index + 1))
        by_seed = defaultdict[int, list[Choice]](list)
        for seed, choice in pairs[first:last]:
            by_seed[seed].append(choice)
        with self.told((shard.round + 1, self.rounds)) as tick:
            done = 0
            for seed, several in by_seed.items():
                for batch in _batches(several, 1):
                    self._run(batch, range(seed, seed + 1), _part_of(tick, done, len(batch), last - first))
                    done += len(batch)

    def _run(self, choices: Sequence[Choice], seeds: range, tick: Tick) -> None:
        scenarios = [self.space.scenario(choice) for choice in choices]
        given = prepare(scenarios, self.part.sources)
        own = range(*(self.effort.seed + self.first + end for end in (seeds.start, seeds.stop)))
        plan = Plan(self.part.sources.case, scenarios, given, self.part.groups, self.part.window, own)
        made = replicates(plan, self.effort.keep, program_digest(), tick, self.effort.cores, self.run)
        for choice, several in zip(choices, made, strict=True):
            self.outcomes.setdefault(choice, []).extend(outcome(one, self.part.frame) for one in several)


def _batches(choices: Sequence[Choice], each: int) -> Iterator[Sequence[Choice]]:
    """The choices in batches whose summaries fit in memory; none where no replicate is missing."""
    many = max(_AT_ONCE // max(each, 1), 1)
    yield from (choices[first : first + many] for first in range(0, len(choices) if each > 0 else 0, many))


def _part_of(tick: Tick, before: int, here: int, total: int) -> Tick:
    """The tick of one batch as that of a round, in evaluations: `before` are done, and this batch has `here`."""

    def told(done: float, whole: float | None, jobs: int) -> None:
        now = before + (here * done / whole if whole else 0)
        tick(now, total, int(now))

    return told
