"""Which combinations are tried: drawn at random, and then near those that did best. The same seed draws the same.

A choice has one value for each lever; None is what the lever is set to today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from math import prod
from random import Random
from typing import Final

Value = int | float | str | bool
Choice = tuple[Value | None, ...]
#: The values of each lever, in their order, without None.
Grid = Sequence[Sequence[Value]]

#: Draws in a row that bring nothing new, after which there is nothing new left.
_IN_VAIN: Final = 2000
#: Combinations up to which all are looked at, not drawn.
_ALL: Final = 1 << 14


def size(grid: Grid) -> int:
    """How many combinations there are, that of today included."""
    return prod(len(values) + 1 for values in grid)


def every(grid: Grid, fits: Callable[[Choice], bool]) -> Iterator[Choice]:
    """All that fit, but that of today."""
    for choice in product(*((None, *values) for values in grid)):
        if any(value is not None for value in choice) and fits(choice):
            yield choice


def drawn(grid: Grid, many: int, fits: Callable[[Choice], bool], seed: str, known: set[Choice]) -> list[Choice]:
    """`many` new ones at most: as many levers as chance says, each set to one of its values. `known` grows by them."""
    chance = Random(seed)
    if size(grid) <= _ALL:
        left = [one for one in every(grid, fits) if one not in known]
        if len(left) <= many:
            known.update(left)
            return left
    return list(islice(_new(lambda: _random(grid, chance), fits, known), many))


def near(
    grid: Grid, parents: Sequence[Choice], many: int, fits: Callable[[Choice], bool], seed: str, known: set[Choice]
) -> list[Choice]:
    """`many` new ones at most, each a step from one of `parents`, or made of two of them. `known` grows by them."""
    chance = Random(seed)
    if not parents:
        return drawn(grid, many, fits, seed, known)
    return list(islice(_new(lambda: _step(grid, parents, chance), fits, known), many))


def without_one(choice: Choice) -> list[Choice]:
    """The same with one lever as it is today, for each lever that differs; not that of today."""
    made = [(*choice[:at], None, *choice[at + 1 :]) for at, value in enumerate(choice) if value is not None]
    return [one for one in made if changed(one)]


def changed(choice: Choice) -> int:
    """How many levers differ from today."""
    return sum(value is not None for value in choice)


def _new(draw: Callable[[], Choice], fits: Callable[[Choice], bool], known: set[Choice]) -> Iterator[Choice]:
    in_vain = 0
    while in_vain < _IN_VAIN:
        choice = draw()
        if choice in known or not changed(choice) or not fits(choice):
            in_vain += 1
            continue
        in_vain = 0
        known.add(choice)
        yield choice


def _random(grid: Grid, chance: Random) -> Choice:
    which = set(chance.sample(range(len(grid)), chance.randint(1, len(grid))))
    return tuple(chance.choice(values) if at in which else None for at, values in enumerate(grid))


def _step(grid: Grid, parents: Sequence[Choice], chance: Random) -> Choice:
    """Two parents mixed in one of three draws; else one or two levers of a parent moved, set, or left as today."""
    parent = chance.choice(parents)
    if chance.random() < 1 / 3:
        other = chance.choice(parents)
        return tuple(chance.choice(pair) for pair in zip(parent, other, strict=True))
    moved = list(parent)
    for at in chance.sample(range(len(grid)), min(chance.choice((1, 1, 2)), len(grid))):
        moved[at] = _moved(grid[at], parent[at], chance)
    return tuple(moved)


def _moved(values: Sequence[Value], value: Value | None, chance: Random) -> Value | None:
    """The next value on either side, or that of today; from that of today, any."""
    if value is None:
        return chance.choice(values)
    place = values.index(value)
    sides = [values[near] for near in (place - 1, place + 1) if 0 <= near < len(values)]
    return chance.choice([*sides, *sides, None])
