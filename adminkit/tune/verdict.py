"""The last word: the held-out days are looked at once, for the pick only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adminkit.tune.measured import Change, Frame, Outcome, widened
from adminkit.tune.race import Goal, Standing, standing_of

#: "better": recommended. "no change": the interval of the objective holds no change, or it is worse. "harm": some group
#: waits longer, or a measure that was to be kept is worse, all of them judged together.
Word = Literal["better", "no change", "harm"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the held-out days say of the pick."""

    word: Word
    standing: Standing
    harm: Sequence[Change] = ()

    @property
    def carries_over(self) -> bool:
        """Whether it is recommended."""
        return self.word == "better"


def judged(pick: Standing, outcomes: Sequence[Outcome], goal: Goal, frame: Frame) -> Verdict:
    """Judge these replicates of the pick, which are of the held-out days."""
    found = standing_of(pick.choice, outcomes, goal, widened(outcomes, frame))
    harm = found.clearly_broken
    word: Word = "no change" if not found.objective.is_less else "harm" if harm else "better"
    return Verdict(word, found, harm)
