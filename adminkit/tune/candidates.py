"""Which combinations are tried: drawn at random. The same seed draws the same.

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
