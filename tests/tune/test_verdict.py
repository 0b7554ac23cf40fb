"""The held-out days: what carries over, what does not, and what does harm there."""

from __future__ import annotations

import pytest

from adminkit.tune.race import Goal, standing_of
from adminkit.tune.verdict import Word, judged
from tests.tune.outcomes import FRAME, outcomes

GOAL = Goal(parts=("size",))


@pytest.mark.parametrize(
    ("share", "word", "harm", "why"),
    [
        ((0.7, 0.8), "better", [], "all wait less"),
        ((1.0, 1.0), "no change", [], "nothing has changed"),
        ((1.2, 1.2), "no change", ["small", "wide"], "all wait longer: not better, whatever else it is"),
        ((0.3, 1.3), "harm", ["wide"], "better in the mean, and wide jobs pay for it"),
    ],
)
def test_the_last_days_decide(share: tuple[float, float], word: Word, harm: list[str], why: str) -> None:
    pick = standing_of((1,), outcomes((0.7, 0.7), 20), GOAL, FRAME)
    found = judged(pick, outcomes(share, 20, first=100), GOAL, FRAME)
    assert (found.word, [one.value for one in found.harm]) == (word, harm), why
    assert found.carries_over == (word == "better")
    assert found.standing.choice == pick.choice
