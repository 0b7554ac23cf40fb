"""One recommendation with the risk it has carried so far, measured on the runs it is about.

Each earlier run of the group is tried: the limit that would have been recommended just before it, as the outcomes of
the same person's runs had steered it by then (control.py), against its need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.recommend.control import Steered
from adminkit.recommend.menu import Offer, round_up
from adminkit.recommend.online import online
from adminkit.recommend.predict import LEVELS, Recommendation, Rule, at_limit, getter, needed
from adminkit.stats.runs import Kind, Run

#: Batches of past tries that a risk is measured on.
TRIED_BATCHES: Final = 50


@dataclass(frozen=True, slots=True)
class Advice:
    """`limit` is on the menu; None where nothing is recommended. `risk` is None where nothing could be tried."""

    given: Recommendation
    limit: int | None
    risk: float | None
    tried: int  # runs before which a limit would have been recommended
    over: int  # of these, runs for which it would have been too short
    batches: int  # in which the tried runs were submitted
    copy: int = 0  # seconds of `limit` that are for the copy of the data to the nodes


@dataclass(slots=True)
class _Try:
    """The runs of one batch that were tried."""

    array_job: int | None
    submit_time: int
    runs: int = 0
    over: int = 0


class Tried:
    """The last tries of one group, by batch: a thousand tasks of an array fail or succeed together."""

    __slots__ = ("batches",)

    def __init__(self) -> None:
        self.batches: list[_Try] = []

    def add(self, run: Run, limit: int, rule: Rule) -> None:
        """Count a try; runs come by submission."""
        batch = self.batches[-1] if self.batches else None
        if batch is None or not (
            run.submit_time - batch.submit_time <= rule.batch_gap
            or (run.array_job is not None and run.array_job == batch.array_job)
        ):
            batch = _Try(run.array_job, run.submit_time)
            self.batches.append(batch)
            del self.batches[:-TRIED_BATCHES]
        batch.runs += 1
        batch.over += too_short(run, limit)

    def counts(self) -> tuple[int, int, int]:
        """Runs tried, runs over, batches."""
        return sum(one.runs for one in self.batches), sum(one.over for one in self.batches), len(self.batches)

    def risk(self, rule: Rule) -> float | None:
        """The share over. A batch of n counts as sqrt(n) runs.

        The run not yet seen counts as over, so that it is never 0; None where nothing was tried.
        """
        if not self.batches:
            return None
        total = over = rule.unseen
        for batch in self.batches:
            weight = math.sqrt(batch.runs)
            total += weight
            over += weight * batch.over / batch.runs
        return over / total


def too_short(run: Run, limit: int) -> bool:
    """Whether `limit` would have been too short, or may have been: its own limit cut the run off before."""
    return needed(run) > limit or at_limit(run)


def levels_for(given: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """LEVELS with only what is `given`, each once."""
    known = set(given)
    kept = (tuple(name for name in level if name in known) for level in LEVELS)
    return tuple(dict.fromkeys(level for level in kept if level))


def levels_of(kind: Kind) -> tuple[tuple[str, ...], ...]:
    """LEVELS with only what is known of the job."""
    return levels_for(name for name, value in zip(Kind._fields, kind, strict=True) if value is not None)


def walltime(
    runs: Iterable[Run],
    kind: Kind,
    offer: Offer,
    most: int | None = None,
    risk: float | None = None,
    copy: int = 0,
) -> Advice:
    """A limit for the next job of `kind`; fields of it that are None are ignored. `runs` come by submission.

    `copy`: seconds that the next job may wait for its data. Past runs may have found theirs on the nodes.

    No limit above `most`, the queue's maximum, is recommended. `risk` is the site's control's for
    this user; without it only `runs` steer the risk.
    """
    rule, menu = Rule(risk=offer.risk), offer.menu
    levels = levels_of(kind)
    steered = Steered(rule, levels)
    wanted = [values(level, kind) for level in levels]
    tried = [Tried() for _ in levels]
    for has_ended, run in online(runs):
        if has_ended:
            steered.ended(run)
            continue
        before = on_menu(steered.submitted(run).safe, menu, most)
        if before is not None:
            for number, level in enumerate(levels):
                if values(level, run.kind) == wanted[number]:
                    tried[number].add(run, before, rule)
    given = steered.next(kind, risk)
    past = tried[levels.index(given.level)]
    safe = None if given.safe is None else given.safe + copy
    return Advice(given, on_menu(safe, menu, most), past.risk(rule), *past.counts(), copy)


class History:
    """One person's runs, tried once: advice about each kind of job is then a look at the tries.

    As `walltime` of the same runs, which all are of one user and cluster; they are held in memory.
    """

    def __init__(
        self, runs: Iterable[Run], offer: Offer, levels: Sequence[tuple[str, ...]], risk: float | None = None
    ) -> None:
        self._rule = Rule(risk=offer.risk)
        self._risk = risk
        self._menu = offer.menu
        self._steered = Steered(self._rule, levels)
        self._tries: list[tuple[Run, int]] = []
        for has_ended, run in online(runs):
            if has_ended:
                self._steered.ended(run)
            elif (safe := self._steered.submitted(run).safe) is not None:
                self._tries.append((run, safe))

    def advice(self, kind: Kind, most: int | None = None) -> Advice:
        """A limit for the next job of `kind`, none above `most`."""
        given, past, menu = self._steered.next(kind, self._risk), Tried(), self._menu
        of_level = getter(given.level)
        wanted = of_level(kind)
        for run, safe in self._tries:
            if of_level(run.kind) == wanted and (before := on_menu(safe, menu, most)) is not None:
                past.add(run, before, self._rule)
        return Advice(given, on_menu(given.safe, menu, most), past.risk(self._rule), *past.counts())


def on_menu(safe: int | None, menu: Sequence[int], most: int | None = None) -> int | None:
    """The limit to type; None where `safe` is None or above `most`."""
    if safe is None or (most is not None and safe > most):
        return None
    limit = round_up(safe, menu)
    return limit if most is None else min(limit, most)


def values(level: tuple[str, ...], kind: Kind) -> tuple[object, ...]:
    """The values that the level compares."""
    return tuple(getattr(kind, name) for name in level)
