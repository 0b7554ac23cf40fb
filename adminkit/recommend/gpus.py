"""How many GPUs a training should ask for: time and energy of each number against what it asks for now.

Made of what the user's own runs say of themselves, else of a measured curve. Numbers of GPUs between measured ones are
the model's, with its error; beyond them nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from adminkit.power.scaling import Error, Model, Point, model
from adminkit.stats.progress import Ran
from adminkit.stats.student import CONFIDENCE, quantile

#: The numbers that are always looked at.
COUNTS: Final = (1, 2, 4, 8)
#: A difference below this share does not justify a change: it is "about the same".
SMALL: Final = 0.05


@dataclass(frozen=True, slots=True)
class Known:
    """One measured number of GPUs: of an iteration, or another piece of work that is the same for all numbers.

    `each_…` are the values of single runs, for intervals; a measured curve has none.
    """

    gpus: int
    seconds: float
    joules: float | None = None
    runs: int = 0
    each_seconds: Sequence[float] = field(default=(), repr=False)
    each_joules: Sequence[float] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A value against the present number's; its 95 % interval where both have runs enough."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def sure(self) -> bool:
        """Whether it is a difference: 1 is outside the interval. Without one it is taken as it is."""
        return self.low is None or self.high is None or not self.low <= 1 <= self.high


@dataclass(frozen=True, slots=True)
class Choice:
    """A number of GPUs; what is None is not known. `off` is the model's error where it is the model's."""

    gpus: int
    how: Literal["measured", "model", "not known"]
    runs: int = 0
    seconds: float | None = None
    joules: float | None = None
    time: Ratio | None = None
    energy: Ratio | None = None
    gpu_hours: float | None = None
    off: Error | None = None


@dataclass(frozen=True, slots=True)
class GpuAdvice:
    """`best` is the present number where nothing that is known is better."""

    present: int
    best: Choice
    choices: Sequence[Choice]
    by_energy: bool  # else by GPU-hours: the energy of what may be compared is not known
    fitted: Model | None


def known_of(ran: Sequence[Ran]) -> list[Known]:
    """What runs say of themselves, by number of GPUs."""
    return [
        Known(
            one.gpus,
            one.pace,
            one.joules_each,
            len(one.seconds),
            one.seconds,
            one.joules,
        )
        for one in ran
    ]


def advise(known: Sequence[Known], present: int, max_slower: float) -> GpuAdvice | None:
    """The least energy at no more than 1 + `max_slower` of the present time; None where the present is not measured.

    Without energy the fewest GPU-hours. A gain below SMALL, below the model's error, or not certain, does
    not justify a change.
    """
    base = next((one for one in known if one.gpus == present), None)
    if base is None:
        return None
    fitted = model([Point(one.gpus, 1.0, one.seconds, _watts(one)) for one in known])
    numbers = sorted({*COUNTS, *(one.gpus for one in known)})
    choices = [_choice(gpus, known, base, fitted) for gpus in numbers]
    now = next(one for one in choices if one.gpus == present)
    quick = [one for one in choices if one.time is not None and one.time.value <= 1 + max_slower]
    by_energy = base.joules is not None and any(one.energy is not None and one is not now for one in quick)

    def cost(one: Choice) -> float:
        value = (one.energy.value if one.energy else math.inf) if by_energy else one.gpu_hours
        return math.inf if value is None else value

    best = min(quick, key=lambda one: (cost(one), one.gpus))
    gained = best.energy if by_energy else _hours(best, present)
    if cost(best) > 1 - max(SMALL, best.off.median if best.off else 0.0) or not (gained and gained.sure):
        best = now
    return GpuAdvice(present, best, choices, by_energy, fitted)


def _hours(one: Choice, present: int) -> Ratio | None:
    """GPU-hours: the time's change times that of the GPUs."""
    if one.time is None:
        return None
    more = one.gpus / present
    low, high = (None if end is None else end * more for end in (one.time.low, one.time.high))
    return Ratio(one.time.value * more, low, high)


def _choice(gpus: int, known: Sequence[Known], base: Known, fitted: Model | None) -> Choice:
    one = next((one for one in known if one.gpus == gpus), None)
    if one is not None:
        time = _ratio(one.seconds, base.seconds, one.each_seconds, base.each_seconds)
        energy = None
        if one.joules is not None and base.joules is not None:
            energy = _ratio(one.joules, base.joules, one.each_joules, base.each_joules)
        hours = one.seconds * gpus / (base.seconds * base.gpus)
        return Choice(gpus, "measured", one.runs, one.seconds, one.joules, time, energy, hours)
    numbers = [one.gpus for one in known]
    if fitted is None or not min(numbers) < gpus < max(numbers):
        return Choice(gpus, "not known")
    seconds, watts = fitted.seconds(gpus, 1.0), fitted.watts(gpus, 1.0)
    joules = None if watts is None else watts * seconds
    return Choice(
        gpus,
        "model",
        0,
        seconds,
        joules,
        Ratio(seconds / base.seconds),
        Ratio(joules / base.joules) if joules is not None and base.joules else None,
        seconds * gpus / (base.seconds * base.gpus),
        fitted.error,
    )


def _watts(one: Known) -> float | None:
    return None if one.joules is None else one.joules / one.seconds


def _ratio(value: float, base: float, each: Sequence[float], others: Sequence[float]) -> Ratio:
    """With the interval of the ratio of geometric means, by Welch's t with the fewer degrees of freedom of the two."""
    least = min(len(each), len(others))
    if least < 2 or each is others:
        return Ratio(value / base)
    (mean, spread), (other, wide) = (_of_logs(values) for values in (each, others))
    reach = quantile((1 + CONFIDENCE) / 2, least - 1) * math.sqrt(spread / len(each) + wide / len(others))
    return Ratio(value / base, math.exp(mean - other - reach), math.exp(mean - other + reach))


def _of_logs(values: Sequence[float]) -> tuple[float, float]:
    """Mean and variance (n - 1) of the logarithms."""
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    return mean, math.fsum((one - mean) ** 2 for one in logs) / (len(logs) - 1)
