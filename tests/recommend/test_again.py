"""What to ask for after a run was cut off."""

from __future__ import annotations

import pytest

from adminkit.recommend.again import GIB, MIB, NextMemory, next_limit, next_memory, show_memory
from adminkit.recommend.menu import DAY, HOUR, MENU


@pytest.mark.parametrize(
    ("limit", "most", "expected", "why"),
    [
        (6 * HOUR, None, 12 * HOUR, "the next of the menu"),
        (6 * HOUR - 60, None, 6 * HOUR, "one that is not on the menu"),
        (72 * HOUR, None, 5 * DAY, "days"),
        (14 * DAY, None, 15 * DAY, "beyond the menu whole days"),
        (60 * HOUR, 3 * DAY, 3 * DAY, "just the queue's maximum"),
        (50 * HOUR, 60 * HOUR, 60 * HOUR, "no more than the maximum"),
        (72 * HOUR, 72 * HOUR, None, "it is reached"),
        (80 * HOUR, 72 * HOUR, None, "it was lowered since"),
        (1, None, 900, "the least of the menu"),
    ],
)
def test_the_next_limit(limit: int, most: int | None, expected: int | None, why: str) -> None:
    assert next_limit(limit, MENU, most) == expected, why


@pytest.mark.parametrize(
    ("had", "past", "most", "expected", "why"),
    [
        (48, [], None, (96, "doubled", 0), "nothing to learn from"),
        (48, [(None, None)], None, (96, "doubled", 0), "runs that say nothing"),
        (48, [(64, None)], None, (64, "had", 1), "what a run had was enough"),
        (48, [(64, None), (80, None)], None, (80, "had", 2), "the largest"),
        (48, [(128, 60)], None, (75, "used", 1), "its use and a quarter more"),
        (48, [(70, 60)], None, (70, "had", 1), "never more than it had"),
        (48, [(None, 60)], None, (75, "used", 1), "what it had is unknown"),
        (48, [(64, 10), (48, 30)], None, (96, "doubled", 2), "they used less than this one had"),
        (48, [(200, 150)], 100, (100, "node", 1), "a node has no more"),
        (60, [], 100, (100, "node", 0), "the double is too much"),
        (100, [], 100, (None, "node", 0), "it had all of a node"),
        (120, [], 100, (None, "node", 0), "nodes were larger once"),
    ],
)
def test_the_next_memory(
    had: int,
    past: list[tuple[int | None, int | None]],
    most: int | None,
    expected: tuple[int | None, str, int],
    why: str,
) -> None:
    """In GiB."""
    known = [(mem and mem * GIB, used and used * GIB) for mem, used in past]
    limit, reason, runs = expected
    found = next_memory(had * GIB, known, None if most is None else most * GIB)
    assert found == NextMemory(limit and limit * GIB, reason, runs), why


@pytest.mark.parametrize(
    ("size", "shown", "why"),
    [
        (96 * GIB, "96G", "whole GiB"),
        (393_000 * MIB, "393000M", "a node's odd size"),
        (900 * MIB, "900M", "less than a GiB"),
    ],
)
def test_memory_as_sbatch_takes_it(size: int, shown: str, why: str) -> None:
    assert show_memory(size) == shown, why


def test_sizes_are_rounded_up() -> None:
    assert next_memory(3 * GIB // 4, [], None).limit == 2 * GIB
    assert next_memory(100 * MIB, [(None, 120 * MIB + 1)], None).limit == 151 * MIB
    assert next_memory(GIB, [], 1_500 * MIB + 7).limit == 1_500 * MIB
