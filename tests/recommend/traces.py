"""Traces that nobody tuned on, drawn from a seed: users whose runs change, and users who submit in bursts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from adminkit.stats.runs import Kind, Run
from tests.support.builders import HOUR, MONDAY

DAY: Final = 24 * HOUR
ASKED: Final = (HOUR, 4 * HOUR, 12 * HOUR, DAY, 3 * DAY, 7 * DAY)
LENGTH: Final = 120 * DAY


@dataclass(frozen=True, slots=True)
class _Work:
    """One job name of a user: typical seconds, the spread of single runs (of their logarithms), whether as arrays."""

    name: str
    typical: float
    spread: float
    gpus: int
    arrays: bool


@dataclass(frozen=True, slots=True)
class _Person:
    number: int
    works: tuple[_Work, ...]
    since: float  # share of the trace after which they come


def draw(
    seed: int,
    many: int,
    people: int,
    *,
    arrays: float = 0.0,
    newcomers: int = 0,
    heavy: bool = False,
    factor: Callable[[int, float], float] = lambda person, at: 1.0,
) -> list[Run]:
    """About `many` runs by submission. `factor` says how much longer a person's runs are at that share of the trace."""
    luck = random.Random(seed)
    everybody = [_person(luck, number, 0.0, arrays) for number in range(people)]
    everybody += [_person(luck, people + number, luck.uniform(0.6, 0.7), arrays) for number in range(newcomers)]
    weights = [luck.paretovariate(1.6) for _ in everybody]
    made: list[Run] = []
    session = 0
    while len(made) < many:
        (person,) = luck.choices(everybody, weights)
        share = person.since + (1 - person.since) * luck.random()
        work, at = luck.choice(person.works), MONDAY + share * LENGTH
        typical = work.typical * factor(person.number, share) * luck.lognormvariate(0, 0.3)
        wished = typical * luck.choice((2, 5, 20))
        limit = next((most for most in ASKED if most >= wished), ASKED[-1])
        kind = Kind("aaic", f"user{person.number}", work.name, "gq", 1, 4 * work.gpus, work.gpus, limit)
        for _ in range(1 + int(luck.expovariate(0.25))):
            session += 1
            tasks, level = 1, typical
            if work.arrays:
                tasks, level = min(int(3 * luck.paretovariate(0.8)), 200), typical * luck.lognormvariate(0, 0.8)
            wait = luck.expovariate(1 / 1800)
            last = 0
            for _ in range(tasks):
                ratio = 0.6 * luck.paretovariate(1.3) if heavy else luck.lognormvariate(0, work.spread)
                last = max(int(level * ratio), 5)
                made.append(_run(luck, kind, session if work.arrays else None, int(at), int(wait), last))
            at += wait + luck.expovariate(1 / 3600) + (last if luck.random() < 0.6 else 0)
    return sorted(made, key=lambda run: run.submit_time)


def shifted(seed: int, many: int) -> list[Run]:
    """In the middle a third of the users turn to runs twice as long, a third to half as long; new users flood in."""
    return draw(
        seed, many, 60, arrays=0.1, newcomers=60, factor=lambda person, at: 1.0 if at < 0.5 else (2, 0.5, 1)[person % 3]
    )


def bursty(seed: int, many: int) -> list[Run]:
    """Arrays of up to 200 tasks, decided by one person at once; run times with a heavy tail."""
    return draw(seed, many, 40, arrays=0.9, heavy=True)


def _person(luck: random.Random, number: int, since: float, arrays: float) -> _Person:
    works = tuple(
        _Work(
            f"job{n}",
            120 * 400 ** luck.random(),
            luck.uniform(0.05, 0.9),
            luck.choice((1, 1, 2, 4)),
            luck.random() < arrays,
        )
        for n in range(luck.randint(1, 4))
    )
    return _Person(number, works, since)


def _run(luck: random.Random, kind: Kind, array: int | None, submit: int, wait: int, need: int) -> Run:
    state, elapsed, chance, limit = "COMPLETED", need, luck.random(), kind.req_limit or ASKED[-1]
    if chance < 0.08:
        state, elapsed = "CANCELLED" if chance < 0.03 else "FAILED", max(int(need * luck.random()), 1)
    if elapsed >= limit:
        state, elapsed = "TIMEOUT", limit
    return Run(kind, 1001, array, submit, submit + wait + elapsed, elapsed, state)
