"""How good one limit was for what the run needed, and whether another is worth typing."""

from __future__ import annotations

from typing import Final, Literal

#: cut: ran into its limit. over: most of the time was not used. well: a good part was. none: it had no limit.
Verdict = Literal["cut", "over", "well", "none"]

#: A run that used this share of its limit did well: the menu's steps are about so far apart.
WELL: Final = 0.5
#: A recommended limit is worth typing where it is at most this share of the one that was asked for.
WORTH: Final = 0.8
#: A limit that is too short for more than this share of runs is no advice.
RISKY: Final = 0.25


def verdict(elapsed: int, limit: int | None, state: str | None) -> Verdict:
    """Judge a run's limit; seconds."""
    if not limit:
        return "none"
    if state == "TIMEOUT" or elapsed >= limit:
        return "cut"
    return "well" if elapsed >= WELL * limit else "over"


def safe_enough(risk: float | None) -> bool:
    """Whether a limit of that measured risk may be recommended to somebody; None where it was not tried."""
    return risk is None or risk <= RISKY


def worth_typing(recommended: int, asked: int | None, judged: Verdict) -> bool:
    """Whether people gain by the recommended limit: a much shorter one, or a longer one after a run was cut off."""
    if asked is None:
        return True
    return recommended > asked if judged == "cut" else recommended <= WORTH * asked
