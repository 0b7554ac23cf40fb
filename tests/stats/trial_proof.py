"""Trials made of real days: how often nothing is called better, what the intervals hold, and whether plans are right.

    python -m tests.stats.trial_proof       writes docs/measured/trial-proof.md

The days are those of public traces (under $ADMINKIT_TRACES) and of the look-alike, with the waits that were recorded. A
trial takes a stretch of them, draws its calendar, and multiplies the waits of B's days by a factor: 1 in an A/A trial.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from adminkit.cli import demo
from adminkit.demo import generate
from adminkit.ingest.files import Import, import_file
from adminkit.stats.looks import LEVEL, Effect, Paths, effect, signs, sums
from adminkit.stats.switchback import BLOCK, Day, Pairs, calendar, paired
from adminkit.stats.trial_plan import power_at, smallest_cut
from adminkit.stats.waits import Waits, by_day, longest_p95, waits
from adminkit.trace.connect import reader
from tests.support.swf import public

DAY: Final = 86_400
TRIALS: Final = 400
#: Of a known effect, where only the tests are asked for.
POWERS: Final = 2000
LENGTHS: Final = (2 * BLOCK, 4 * BLOCK)
#: Flips of signs in each trial, as a plan has them; a result has four times as many.
_DRAWS: Final = 1024
#: Name in the page -> the file of the trace, the cluster, and hours by which its midnight is before UTC's.
FILES: Final = {
    "KTH-SP2": ("KTH-SP2-1996-2.swf.gz", "kth", 1),
    "RICC": ("RICC-2010-2.swf.gz", "ricc", 9),
    "look-alike": (None, generate.CLUSTER, 0),
}


@dataclass(frozen=True, slots=True)
class Site:
    """Values of consecutive days: the mean waits of all jobs, and of each size."""

    name: str
    carry_over: int
    jobs: int
    means: Sequence[float | None]
    sizes: dict[str, Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Null:
    """A/A trials: how many called B better at any look, found any difference, any size, and had no change inside."""

    site: str
    days: int
    trials: int
    better: int
    different: int
    sizes: int
    held: int


@dataclass(frozen=True, slots=True)
class Known:
    """Trials of a known effect. `planned` is the power that the plan said, from the days of `history`."""

    site: str
    history: str
    days: int
    change: float
    planned: float
    trials: int
    shown: int
    measured: int  # trials whose last interval was looked at
    held: int


def site(name: str, folder: Path) -> Site | None:
    """The days of one trace; None where its file is not there."""
    file, cluster, hours = FILES[name]
    path = folder / f"{name}.db"
    if file is None:
        demo.make(path)
    else:
        source = public(file)
        if source is None:
            return None
        import_file(Import(source, path, cluster=cluster), 0)
    with reader(path) as db:
        first, last = db.execute("SELECT min(eligible_time), max(eligible_time) FROM run").fetchone()
        found = waits(db, cluster, first, last + 1, last + 1)
        p95 = longest_p95(db, cluster, first, last) or DAY
    begin = -(-(first + hours * 3600) // DAY) * DAY - hours * 3600
    days = [Day(at, at + DAY, on=False) for at in range(begin, last - DAY, DAY)]
    carry_over = min(max(-(-p95 // 900) * 900, 3600), 12 * 3600)
    return Site(name, carry_over, len(found.wait), _means(found, days, carry_over), _sizes(found, days, carry_over))


def _means(found: Waits, days: Sequence[Day], carry_over: int) -> list[float | None]:
    return [day.mean for day in by_day(found, days, carry_over)]


def _sizes(found: Waits, days: Sequence[Day], carry_over: int) -> dict[str, Sequence[float | None]]:
    _, names = found.parts["size"]
    return {
        name: [day.mean for day in by_day(found, days, carry_over, found.group("size", name))]
        for name in names
        if found.group("size", name).any()
    }


def stretches(history: Sequence[object], days: int, trials: int, seed: int) -> Iterator[tuple[slice, list[bool]]]:
    """Which days each trial takes, and which of them are B's."""
    draw = np.random.default_rng([seed, days])
    for nth in range(trials):
        begin = int(draw.integers(0, len(history) - days + 1))
        yield slice(begin, begin + days), [day.on for day in calendar(range(days + 1), 1000 * seed + nth)]


def pairs_of(values: Sequence[float | None], on: Sequence[bool], factor: float) -> Pairs:
    """The pairs of a trial whose days of B have `factor` times the wait."""
    changed = [None if one is None else one * (factor if b else 1.0) for one, b in zip(values, on, strict=True)]
    return paired(changed, on, len(on))


def tests(pairs: Pairs, draws: int = _DRAWS) -> list[Paths]:
    """The test of each look."""
    flips = signs(len(pairs.on), draws)
    on, off = (sums(flips, np.asarray(one), pairs.looks) for one in (pairs.on, pairs.off))
    shares = tuple(look.share for look in pairs.looks)
    return [Paths(on[:, :nth], off[:, :nth], shares[:nth]) for nth in range(1, len(shares) + 1)]


def directions(pairs: Pairs) -> set[int]:
    """Of the looks that reject: -1 where B has less, 1 where it has more."""
    return {int(np.sign(one.on[0, -1] - one.off[0, -1])) for one in tests(pairs) if one.rejects(1.0)}


def null(one: Site, days: int, trials: int = TRIALS) -> Null:
    better = different = sizes = held = 0
    for which, on in stretches(one.means, days, trials, 1):
        pairs = pairs_of(one.means[which], on, 1.0)
        found = directions(pairs)
        better += -1 in found
        different += bool(found)
        each = [tests(pairs_of(values[which], on, 1.0)) for values in one.sizes.values()]
        sizes += any(look.rejects(1.0, LEVEL / len(each)) for looks in each for look in looks)  # Holm's first step
        held += _holds(effect(pairs.on, pairs.off, pairs.looks, _DRAWS), 0.0)
    return Null(one.name, days, trials, better, different, sizes, held)


def _holds(found: Effect | None, true: float) -> bool:
    """Whether an interval has the truth; what is not known excludes nothing."""
    return found is None or found.low - 1e-9 <= true <= found.high + 1e-9


def known(
    one: Site, days: int, history: Sequence[float | None], later: Sequence[float | None], said: str, share: float = 1.0
) -> Known | None:
    """Trials of `later` with `share` of the smallest cut that a plan by `history` promises to show."""
    cut = smallest_cut(history, days)
    if cut is None:
        return None
    change = -share * cut
    planned = power_at(history, change, days)
    assert planned is not None
    shown = held = 0
    for nth, (which, on) in enumerate(stretches(later, days, POWERS, 2)):
        pairs = pairs_of(later[which], on, 1 + change)
        shown += -1 in directions(pairs)
        held += nth < TRIALS and _holds(effect(pairs.on, pairs.off, pairs.looks, _DRAWS), change)
    return Known(one.name, said, days, change, planned, POWERS, shown, TRIALS, held)


SAME: Final = "the same days"
HALF: Final = "the first half, for the second"


def powers(one: Site) -> Iterator[Known]:
    """Plans by the days of which the trials are made, and by the half before them."""
    half = len(one.means) // 2
    for days in LENGTHS:
        for share in (1.0, 0.6):
            if found := known(one, days, one.means, one.means, SAME, share):
                yield found
        if half >= days and (found := known(one, days, one.means[:half], one.means[half:], HALF)):
            yield found


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share: Wilson, "Probable inference", JASA 22 (1927) 209."""
    z, share = 1.959964, hits / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    reach = z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return middle - reach, middle + reach


def sites(folder: Path) -> list[Site]:
    return [found for name in FILES if (found := site(name, folder)) is not None]


def main() -> None:
    from tests.stats.trial_proof_page import write

    with tempfile.TemporaryDirectory() as folder:
        found = sites(Path(folder))
    write(
        found, [null(one, days) for one in found for days in LENGTHS], [each for one in found for each in powers(one)]
    )


if __name__ == "__main__":
    main()
