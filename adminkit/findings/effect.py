"""Whether letters changed something, as far as the numbers can tell."""

from __future__ import annotations

from typing import Final, Literal

from adminkit.stats.effect import Change

Verdict = Literal["better", "worse", "no significant change", "too few users", "nobody to compare with"]

#: Fewer users say nothing about others; the bootstrap's interval is too narrow for them.
LEAST_USERS: Final = 10
LEAST_OTHERS: Final = 5


def verdict(change: Change) -> Verdict:
    """What the interval allows to say. Fewer unused hours are better, more accuracy is."""
    if change.users and not change.compared:
        return "nobody to compare with"
    if change.compared < LEAST_USERS or change.others < LEAST_OTHERS or change.low is None or change.high is None:
        return "too few users"
    if not (change.low > 0 or change.high < 0):
        return "no significant change"
    return "better" if (change.low > 0) == (change.measure == "accuracy") else "worse"
