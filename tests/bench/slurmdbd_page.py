"""docs/measured/slurmdbd.md, made of tests/data/slurmdbd_bench.json, which `python -m tests.bench slurmdbd` writes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.pairs import Ratio

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "tests/data/slurmdbd_bench.json"
PAGE: Final = ROOT / "docs/measured/slurmdbd.md"
_HEAD: Final = """# What reading slurmdbd's database costs

<!-- Made by `python -m tests.bench slurmdbd` from tests/data/slurmdbd_bench.json; do not edit. -->

`adminkit sync --source slurmdbd` against `sacct` with the same fields over the same windows, its output to /dev/null,
and against the database's client with the same questions, its output to /dev/null, followed by an import of the same
records from files. Each job has one step. *Reading* ends with the whole answer in a file. *The whole pass* also stores
the rows in the trace, which sacct's side does not do. Processor time is that of all processes of either side, of
slurmdbd and of the database server. A ratio is met if the whole interval of its median is.

"""


@dataclass(frozen=True, slots=True)
class Found:
    """A ratio. `ours` and `theirs`: medians, seconds. `ground`: on what it was measured."""

    what: str
    middle: float
    low: float
    high: float
    target: float
    at_most: bool
    ours: float
    theirs: float
    rounds: int
    ground: str

    @classmethod
    def of(cls, ratio: Ratio, ground: str) -> Found:
        seconds = [round(median(side), 2) for side in (ratio.ours, ratio.theirs)]
        middle, low, high = (round(one, 2) for one in (ratio.middle, *ratio.interval))
        return cls(ratio.what, middle, low, high, ratio.target, ratio.at_most, *seconds, len(ratio.ours), ground)

    @property
    def met(self) -> bool:
        return self.high <= self.target if self.at_most else self.low >= self.target


@dataclass(frozen=True, slots=True)
class Memory:
    """What all processes of a whole sync had resident at once, bytes, and its processor time, seconds."""

    jobs: int
    peak: int
    most: float
    processor: float
    ground: str


def ground_of(slurm: str, server: str) -> str:
    """Slurm, the server, and how busy this host is now."""
    when = time.strftime("%Y-%m-%d", time.gmtime())
    return f"{slurm}, {server}, {os.cpu_count()} cores with a load of {os.getloadavg()[2]:.0f}, {when}"


def keep(found: Sequence[Found] = (), memory: Sequence[Memory] = ()) -> None:
    """Write these results in the place of earlier ones of the same name, and the page."""
    before = read() if RESULTS.exists() else ([], [])
    ratios = {one.what: one for one in (*before[0], *found)}
    sizes = {one.jobs: one for one in (*before[1], *memory)}
    kept = {
        "ratios": [asdict(one) for one in ratios.values()],
        "memory": [asdict(sizes[jobs]) for jobs in sorted(sizes)],
    }
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(page(*read()))


def read() -> tuple[list[Found], list[Memory]]:
    """The results that are kept."""
    kept = json.loads(RESULTS.read_text())
    return [Found(**one) for one in kept["ratios"]], [Memory(**one) for one in kept["memory"]]


def page(found: Sequence[Found], memory: Sequence[Memory]) -> str:
    """The whole page."""
    rows = [("what", "ratio", "interval", "target", "met", "adminkit", "the other side", "rounds")]
    rows += [("---",) * len(rows[0])]
    rows += [
        (
            one.what,
            f"{one.middle:.2f}",
            f"{one.low:.2f} to {one.high:.2f}",
            f"{'≤' if one.at_most else '≥'} {one.target:g}",
            _yes(one.met),
            f"{one.ours:.1f} s",
            f"{one.theirs:.1f} s",
            str(one.rounds),
        )
        for one in found
    ]
    sizes = [("jobs with a step each", "memory of all processes at the peak", "target", "met", "processor time")]
    sizes += [("---",) * len(sizes[0])]
    sizes += [
        (
            f"{one.jobs:,}",
            f"{one.peak / 1e6:.0f} MB",
            f"≤ {one.most / 1e6:.0f} MB",
            _yes(one.peak <= one.most),
            f"{one.processor:.0f} s",
        )
        for one in memory
    ]
    tables = ["\n".join(f"| {' | '.join(row)} |" for row in table) for table in (rows, sizes)]
    grounds = sorted({one.ground for one in (*found, *memory)})
    whole = f"The whole command, `adminkit sync --steps`:\n\n{tables[1]}\n\n" if memory else ""
    return f"{_HEAD}{tables[0]}\n\n{whole}Measured on {'; '.join(grounds)}.\n"


def _yes(met: bool) -> str:
    return "yes" if met else "no"
