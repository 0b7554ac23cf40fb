"""The calendar of a switchback experiment: whole days of A and of B, drawn at random, and the pairs that they form.

- The design, and why days are the units and the hours after a switch do not count: Bojinov, Simchi-Levi, Zhao, "Design
  and analysis of switchback experiments", Management Science 69 (2023) 3759.
- Each day is paired with the same day of the next week; chance says which of the two is on. So each weekday is on as
  often as off, and under no effect the sign of each pair's difference is a coin's: Fisher, The Design of Experiments
  (1935), chapter 3. The days may depend on each other as they like.
- What their difference shows is in looks.py.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from adminkit.errors import UsageError
from adminkit.stats.looks import Look

WEEK: Final = 7
#: Days of a block: each weekday twice, once B's and once A's.
BLOCK: Final = 2 * WEEK
MOST_DAYS: Final = 26 * BLOCK
#: The probability with which a plan promises that an effect is shown.
POWER: Final = 0.8
#: Days with waits below which the variance from day to day is not known.
LEAST_HISTORY: Final = 2 * BLOCK
#: A switch takes a moment: seconds after midnight within which a day's side must be in place, at least.
GRACE: Final = 900
#: More seeds than anybody can try, and few enough for JSON's numbers.
_SEED_BYTES: Final = 6


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a trial, [since, until) in epoch seconds; `on`: it is B's."""

    since: int
    until: int
    on: bool


def check_days(days: int) -> None:
    """UsageError for a number of days that is not a whole number of fortnights, or too large."""
    if days < BLOCK or days % BLOCK or days > MOST_DAYS:
        nearest = min(max(round(days / BLOCK) * BLOCK, BLOCK), MOST_DAYS)
        raise UsageError(
            f"a trial of {days} days cannot give each weekday to A as often as to B",
            f"choose whole fortnights, {BLOCK} to {MOST_DAYS} days: --days {nearest}",
        )


def any_seed() -> int:
    """A seed that nobody can guess: from the date, users could work out the days."""
    return int.from_bytes(os.urandom(_SEED_BYTES))


def calendar(midnights: Sequence[int], seed: int) -> list[Day]:
    """The days between `midnights`, on and off at random: the same seed gives the same days."""
    days = len(midnights) - 1
    check_days(days)
    draw = Random(seed).random  # trap: of Random's methods only this one is the same in every release of Python
    on = [False] * days
    for block in range(0, days, BLOCK):
        for day in range(block, block + WEEK):
            on[day] = draw() < 0.5
            on[day + WEEK] = not on[day]
    return [Day(*one) for one in zip(midnights, midnights[1:], on, strict=False)]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The values of B's and A's days, pair by pair, and the looks at them so far: one after each whole fortnight."""

    on: Sequence[float]
    off: Sequence[float]
    looks: Sequence[Look]


def paired(values: Sequence[float | None], on: Sequence[bool], planned: int) -> Pairs:
    """The pairs of the calendar in the whole fortnights that `values` have; a day without a value drops its pair.

    `planned` are the days that the trial was begun for.
    """
    ons: list[float] = []
    offs: list[float] = []
    looks = []
    for block in range(0, len(values) - BLOCK + 1, BLOCK):
        for day in range(block, block + WEEK):
            pair = {on[place]: values[place] for place in (day, day + WEEK)}
            first, second = pair.get(True), pair.get(False)
            if first is not None and second is not None:
                ons.append(first)
                offs.append(second)
        looks.append(Look(len(ons), min(1.0, (block + BLOCK) / planned)))
    return Pairs(ons, offs, looks)


def held(days: Sequence[Day], placed: Sequence[tuple[int, str]], carry_over: int) -> list[bool]:
    """Whether each day had its own side in place while its waits count, and nearly all of the carry-over before.

    `placed` is what was in place from when (epoch seconds; "a", "b", or "" for neither), in the order of time, each
    until the next one.
    """
    grace = max(GRACE, carry_over // 4)
    found = []
    for day in days:
        before = ["", *(side for since, side in placed if since <= day.since + grace)]
        sides = {before[-1], *(side for since, side in placed if day.since + grace < since < day.until)}
        found.append(sides == {"b" if day.on else "a"})
    return found
