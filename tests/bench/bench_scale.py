"""Reports of up to a hundred million runs whose months are files only: seconds of the clock and of CPU, and memory.

A month has a million runs (many_months.py). A hundred take 4 GB of disk and twenty minutes to make; where there is less
room, as many as fit are made, and where there is hardly any, none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.bench import many_months, pairs
from tests.bench.bench_reports import SPACING, trace
from tests.bench.tools import adminkit, fresh

#: Reports in the order of the targets: the first five have them.
NAMES: Final = ("accuracy", "users", "wait", "states", "parallelism", "efficiency", "frameworks", "names")
TARGETED: Final = 5
MILLIONS: Final = (1, 10, 100)
#: Millions of runs up to which job names are measured: their run times by name take memory as the runs do.
MOST_NAMES: Final = 10
#: Of a report of a hundred million runs on two cores, and the megabytes at its peak.
SECONDS: Final = 30.0
MEGABYTES: Final = 1000
#: Bytes of disk that a month takes, and that stay free.
_ROOM: Final = 50 << 20
_FREE: Final = 8 << 30


class Cost(NamedTuple):
    """What one report took, the only one of its process: all but Python's start and the loading of modules."""

    millions: int
    name: str
    clock: float  # seconds
    spent: float  # seconds of CPU
    megabytes: float

    @property
    def is_met(self) -> bool:
        return self.clock <= SECONDS and self.megabytes <= MEGABYTES

    def line(self) -> str:
        target = ""
        if self.millions == MILLIONS[-1] and self.name in NAMES[:TARGETED]:
            target = f"  target ≤ {SECONDS:g} s, ≤ {MEGABYTES} MB {'met' if self.is_met else 'MISSED'}"
        return (
            f"{self.name} of {self.millions} million runs: {self.clock:.1f} s, {self.spent:.1f} s of CPU,"
            f" peak {self.megabytes:.0f} MB{target}"
        )


def run(_: int, folder: Path) -> list[pairs.Ratio]:
    if made := made_trace(folder):
        for cost in costs(*made):
            print(cost.line(), flush=True)
        fresh(made[0])
    return []


def made_trace(folder: Path) -> tuple[Path, int] | None:
    """A trace, and how many months it has; None where there is no room."""
    many = min(MILLIONS[-1], (shutil.disk_usage(folder).free - _FREE) // _ROOM)
    if many < 1:
        print("reports of a hundred million runs: not run: less than 8 GB of disk are free")
        return None
    base, into = fresh(folder / "scale-base.db"), fresh(folder / "scale.db")
    shutil.move(trace(1_000_000, folder, SPACING[1]), base)
    subprocess.run(adminkit("trace", "months", "--write", "--db", base), check=True, stdout=subprocess.DEVNULL)
    many_months.make(base, into, many)
    fresh(base)
    return into, many


def costs(trace: Path, many: int) -> Iterator[Cost]:
    """Of every report, at each size that the trace has."""
    for millions in sorted({min(one, many) for one in MILLIONS}):
        many_months.only(trace, millions)
        for name in NAMES if millions <= MOST_NAMES else NAMES[:-1]:
            told = _once(trace, name)
            spent = told["opening"] + told["spent"][name] + told["drawing"]
            yield Cost(millions, name, told["clock"], spent, told["megabytes"])


def _once(trace: Path, name: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "tests.bench.report_once", str(trace), name]
    env = {**os.environ, "ADMINKIT_MONTHS_THREADS": str(len(pairs.CORES))}
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=env)
    told: dict[str, Any] = json.loads(done.stdout)
    return told
