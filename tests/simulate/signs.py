"""Calibrates generated sites, and asks of each that is trusted whether the sign of a change is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from adminkit.simulate.calibrate import calibrate
from tests.simulate.generated import CAUSES, CHANGES, Cause, effect, generated


@dataclass
class Signs:
    """What came of many sites. `asked` are significant changes that were foretold under *trust*."""

    verdicts: Counter[str] = field(default_factory=Counter)
    recorded: list[str] = field(default_factory=list)  # verdicts of sites of which nothing is hidden
    asked: int = 0
    wrong: list[str] = field(default_factory=list)


def causes_of(number: int) -> list[Cause]:
    """None for every fourth site, two for every fourth, else one: each cause alone and with others."""
    first, second = CAUSES[number % len(CAUSES)], CAUSES[(5 * number + 2) % len(CAUSES)]
    return [[], [first], [first], [first, second] if first is not second else [first]][number % 4]


def signs(numbers: Iterable[int], replicates: int, jobs: int, changes: Sequence[int] = range(len(CHANGES))) -> Signs:
    """Make each site, calibrate what is known of it, and compare the effects of changes with the true ones."""
    found = Signs()
    for number in numbers:
        hidden = causes_of(number)
        one = generated(number, hidden, jobs)
        calibration = calibrate(one.subject(one.known))
        found.verdicts[calibration.verdict] += 1
        if not hidden:
            found.recorded.append(calibration.verdict)
        if calibration.verdict != "trust":
            continue
        for change in (CHANGES[place] for place in changes):
            foretold = effect(one, one.known, change(one.known), replicates)
            if foretold.significant:
                true = effect(one, one.real, change(one.real), replicates)
                found.asked += 1
                if (foretold.mean > 0) != (true.mean > 0):
                    found.wrong.append(
                        f"{one.name}, {change.__name__}: {foretold.mean:+.0f} s, truly {true.mean:+.0f} s"
                    )
    return found
