"""Outcomes made by hand: forty days of two sizes of jobs, whose waits a choice makes longer or shorter."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from adminkit.stats.bootstrap import days_drawn
from adminkit.tune.candidates import Choice
from adminkit.tune.measured import DRAWS, Frame, Outcome

DAYS = 40
NAMES = (("all", "(all)"), ("size", "small"), ("size", "wide"))
FRAME = Frame(NAMES, ("size",), DAYS, 1, days_drawn(DAYS, 1, DRAWS).astype(float))
#: Jobs of a day, and their mean wait today, seconds.
JOBS = np.array([[80.0], [20.0]]) * np.ones(DAYS)
WAIT = np.array([[600.0], [3600.0]]) * np.ones(DAYS)

#: (choice) -> the wait of the small and of the wide jobs as a share of today's.
Effect = Callable[[Choice], tuple[float, float]]


def outcome_of(
    share: tuple[float, float], seed: int, noise: float = 0.01, whole: Mapping[str, tuple[float, float]] | None = None
) -> Outcome:
    """One replicate; `noise` is the spread of a day, which today and then have apart."""
    rng = np.random.default_rng(seed)
    waits = [WAIT * (1 + noise * rng.standard_normal(WAIT.shape)) for _ in range(2)]
    then = waits[1] * np.array(share)[:, None]
    rows = [JOBS, JOBS * waits[0], JOBS * then]
    both = np.array([np.vstack([row.sum(axis=0), row]) for row in rows])
    zeros = {name: np.zeros(DAYS) for name in ("lost_today", "lost", "late_today", "late")}
    slow = {"slowdown_today": both[1][0] / 100, "slowdown": both[2][0] / 100}
    use = {"utilization": (0.8, 0.8), "p95_wait": (7200.0, 7200.0 * share[1]), "killed": (0.0, 0.0)}
    return Outcome(both, {**zeros, **slow}, None, np.full((2, 120), 0.8), {**use, **(whole or {})})


def outcomes(share: tuple[float, float], many: int, noise: float = 0.01, first: int = 1) -> list[Outcome]:
    """Replicates of different chance."""
    return [outcome_of(share, seed, noise) for seed in range(first, first + many)]


class World:
    """Evaluates choices by an effect, and remembers what was asked of it."""

    def __init__(self, effect: Effect, noise: float = 0.01) -> None:
        self.effect, self.noise = effect, noise
        self.asked: list[tuple[int, int, int]] = []  # round, choices, replicates wanted
        self.evaluations = 0

    def evaluate(self, number: int, choices: Sequence[tuple[Choice, int]], seeds: int) -> list[list[Outcome]]:
        self.asked.append((number, len(choices), seeds))
        self.evaluations += sum(seeds - have for _, have in choices)
        own = [zlib.crc32(repr(self.effect(choice)).encode()) % 10_000 for choice, _ in choices]
        return [outcomes(self.effect(choice), seeds, self.noise, 1 + 100 * first)
                for (choice, _), first in zip(choices, own, strict=True)]  # fmt: skip


class Nothing:
    """Keeps no standings."""

    def recall(self, number: int, choices: Sequence[Choice], seeds: int) -> None:
        return None

    def keep(self, number: int, standings: object, seeds: int) -> None:
        return None
