"""How many days a trial needs on this site: the trial's own test, asked of trials made of the site's own days."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from adminkit.stats.looks import Look, limits, signs, sums
from adminkit.stats.switchback import BLOCK, LEAST_HISTORY, MOST_DAYS, POWER, WEEK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Trials made for each number of days, and flips of signs of each.
_TRIALS: Final = 800
_DRAWS: Final = 1024
_SEED: Final = 17


def days_needed(history: Sequence[float | None], effect: float, power: float = POWER) -> int | None:
    """The fewest days, whole fortnights, after which a trial shows `effect` with a probability of `power`.

    `history` are the mean waits of consecutive days, `effect` the change of a day's mean wait, -0.2 for a fifth less.
    None where the history is too short (`known`), or MOST_DAYS are too few.
    """
    if not known(history):
        return None
    low, high = 0, MOST_DAYS // BLOCK
    if (power_at(history, effect, high * BLOCK) or 0.0) < power:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if (power_at(history, effect, middle * BLOCK) or 0.0) >= power else (middle, high)
    return high * BLOCK


def smallest_cut(history: Sequence[float | None], days: int) -> float | None:
    """The smallest cut of a day's mean wait, as a share, that a trial of `days` shows with a probability of POWER.

    None where the history is too short, or no cut would be shown.
    """
    if (power_at(history, -0.99, days) or 0.0) < POWER:
        return None
    low, high = 0.0, 0.99
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if (power_at(history, -middle, days) or 0.0) >= POWER else (middle, high)
    return high


def known(history: Sequence[float | None]) -> bool:
    """Whether enough days have waits to tell what a trial would show."""
    return sum(value is not None for value in history) >= LEAST_HISTORY and any(value for value in history)


def power_at(history: Sequence[float | None], effect: float, days: int) -> float | None:
    """The probability that a trial of `days` shows `effect` at any of its looks. None where the history is too short.

    Each trial takes a stretch of the history, so that quiet and busy weeks follow each other as they do. Where the
    history is shorter than a trial, fortnights of it are drawn instead. It begins and ends with days that have waits.
    """
    import numpy as np

    if not known(history):
        return None
    there = [place for place, value in enumerate(history) if value is not None]
    whole = history[there[0] : there[-1] + 1]
    past = np.array([np.nan if value is None else value for value in whole], np.float64)
    draw = np.random.default_rng(_SEED)
    fortnights = days // BLOCK
    if len(past) >= days:
        begins = draw.integers(0, len(past) - days + 1, (_TRIALS, 1)) + BLOCK * np.arange(fortnights)
    else:
        begins = draw.integers(0, len(past) - BLOCK + 1, (_TRIALS, fortnights))
    drawn = past[begins[..., None] + np.arange(BLOCK)]
    first = draw.integers(0, 2, (_TRIALS, fortnights, WEEK)).astype(np.bool_)
    one, other = drawn[..., :WEEK], drawn[..., WEEK:]
    on, off = np.where(first, one, other) * (1 + effect), np.where(first, other, one)
    flips: dict[int, Floats] = {}
    shown = sum(_shows(a, b, flips, effect) for a, b in zip(on, off, strict=True))
    return shown / _TRIALS


def _shows(on: Floats, off: Floats, flips: dict[int, Floats], effect: float) -> bool:
    """Whether any look shows a change in the direction of `effect`. A row is a fortnight; nan: unknown."""
    import numpy as np

    there = ~np.isnan(on + off)
    pairs = np.cumsum(there.sum(axis=1))
    looks = [Look(int(many), (nth + 1) / len(pairs)) for nth, many in enumerate(pairs)]
    last = looks[-1].pairs
    if not last:
        return False
    if last not in flips:
        flips[last] = signs(last, _DRAWS)
    paths = sums(flips[last], (on - off)[there], looks)
    outside = np.abs(paths[0]) > np.array(limits(np.abs(paths), [look.share for look in looks]))
    return bool((outside & (np.sign(paths[0]) == np.sign(effect))).any())
