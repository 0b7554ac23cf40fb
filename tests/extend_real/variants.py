"""What other keys of [extend] would do with the days, in the simulator; docs/measured/extend-real.md shows it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from functools import cache
from typing import Final

import numpy as np

from tests.extend_real.arms import DEFAULT, Rule
from tests.extend_real.simulated import REPLICATES, Replicate, bounds, simulated
from tests.extend_real.workloads import RISKS, SEEDS
from tests.matrix.rows import ROOT

Range = tuple[float, float, float]

DATA: Final = ROOT / "tests/data/extend_variants.csv"

#: What the page calls each rule.
VARIANTS: Final = {
    "as it ran: `most` 2, `step` 25 %, `lead` 20 s": DEFAULT,
    "`most` 3": Rule(most=3),
    "`most` 4": Rule(most=4),
    "`most` 6": Rule(most=6),
    "`most` 6, `times` 40": Rule(most=6, times=40),
    "`step` 50 %": Rule(share=0.5),
    "`step` 100 %": Rule(share=1.0),
    "`lead` 10 s": Rule(lead=10),
    "`lead` 40 s": Rule(lead=40),
    "`most` 3, `step` 50 %": Rule(share=0.5, most=3),
    "`most` 4, `lead` 40 s": Rule(most=4, lead=40),
}
_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class Outcome:
    """All days at one risk, against none extended: (mean, low, high) of the replicates, the bounds of 95 % of them.

    `lost`: change of the GPU hours lost at limits; `fit`: the same, of jobs that need no more than their queue allows;
    `others` and `everybody`: change of the mean wait of the jobs that got no more time, and of all, seconds. `left` and
    `given` are GPU hours: lost in spite of extending, and taken beyond the limits asked for.
    """

    lost: Range
    fit: Range
    others: Range
    everybody: Range
    left: float
    given: float


@cache
def outcome(risk: int, rule: Rule) -> Outcome:
    nths = range(REPLICATES)
    old = [[simulated(seed, risk, None)[nth] for seed in SEEDS] for nth in nths]
    new = [[simulated(seed, risk, rule)[nth] for seed in SEEDS] for nth in nths]
    pairs = list(zip(old, new, strict=True))
    return Outcome(
        bounds([_lost(after) / _lost(before) - 1 for before, after in pairs]),
        bounds([_fit(after) / _fit(before) - 1 for before, after in pairs]),
        bounds([_waited(before, after, others=True) for before, after in pairs]),
        bounds([_waited(before, after, others=False) for before, after in pairs]),
        float(np.mean([_lost(one) for one in new])) / _HOUR,
        float(np.mean([sum(day.given for day in one) for one in new])) / _HOUR,
    )


def floor(risk: int) -> float:
    """The change of the hours lost that a rule gives which finishes every job that its queue lets finish, and no other
    job: the most that any rule can do.
    """
    days = [day for seed in SEEDS for day in simulated(seed, risk, None)]
    return sum(day.unfit for day in days) / _lost(days) - 1


def _lost(days: list[Replicate]) -> float:
    return sum(day.lost for day in days)


def _fit(days: list[Replicate]) -> float:
    return sum(day.lost - day.unfit for day in days)


def _waited(before: list[Replicate], after: list[Replicate], others: bool) -> float:
    changes = [(new.waits - old.waits)[~new.raised | (not others)] for old, new in zip(before, after, strict=True)]
    return float(np.concatenate(changes).mean())


#: Numbers of a line after the risk and the rule's name: three of each range, `left` and `given`.
_NUMBERS: Final = 14


def save() -> None:
    """Simulate every rule at every risk, and keep what came of it: some minutes, on a core for each risk."""
    with ProcessPoolExecutor(len(RISKS)) as pool, DATA.open("w", newline="") as out:
        for lines in pool.map(_lines, RISKS):
            csv.writer(out, lineterminator="\n").writerows(lines)


def _lines(risk: int) -> list[list[str]]:
    return [
        [str(risk), name, *(f"{number:.6f}" for number in _flat(outcome(risk, rule)))]
        for name, rule in VARIANTS.items()
    ]


def kept() -> dict[tuple[int, str], Outcome]:
    """What was kept, by risk and rule."""
    with DATA.open(newline="") as lines:
        return {(int(line[0]), line[1]): _outcome([float(cell) for cell in line[2:]]) for line in csv.reader(lines)}


def _flat(of: Outcome) -> Iterator[float]:
    for value in astuple(of):
        yield from value if isinstance(value, tuple) else (value,)


def _outcome(numbers: list[float]) -> Outcome:
    if len(numbers) != _NUMBERS:
        raise ValueError(f"{len(numbers)} numbers instead of {_NUMBERS}")
    lost, fit, others, everybody = ((numbers[at], numbers[at + 1], numbers[at + 2]) for at in range(0, 12, 3))
    return Outcome(lost, fit, others, everybody, *numbers[12:])
