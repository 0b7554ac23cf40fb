"""Reports of a trace: from months against DuckDB over the same files, and from SQLite of ten times the jobs.

Seconds are CPU's, of one thread on each side: both sides compute, and neither waits. Start and tables are apart.
DuckDB answers the sums, quantiles and counts of each report; the sample has no steps, so neither side reads any.
`--rows 10000000` is the size of the target of memory, 400 MB from SQLite. Every report, and the page of all, is
measured once in a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adminkit.reports.catalogue import SPECS
from tests.bench import pairs, sample
from tests.bench.rival_reports import QUERIES
from tests.bench.tools import adminkit, fresh

#: From months against DuckDB's own SQL over the same files; from SQLite of ten times the jobs.
RIVAL, LINEAR = 1.6, 11.0
#: Of a report from SQLite and of the page, over ten million jobs.
MEMORY = 400
#: Seconds between submissions of the larger and of the smaller trace, which have the same span.
SPACING = (3, 30)
NAMES = tuple(QUERIES)
#: What is added up for all reports together: without their start and tables; and all that a process takes but for
#: Python's own start, which is the same for both.
_SUMS = {
    "all": lambda side: sum(side["spent"].values()),
    "all, with modules, opening and tables": lambda side: (
        sum(side["spent"].values()) + side["modules"] + side["opening"] + side["drawing"]
    ),
}


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    kept = fresh(folder / f"reports-months-{rows}.db")
    shutil.move(trace(rows, folder, SPACING[1]), kept)  # as many files as it has months
    large, small = trace(rows, folder, SPACING[0]), trace(rows // 10, folder, SPACING[1])
    subprocess.run(adminkit("trace", "months", "--write", "--db", kept), check=True, stdout=subprocess.DEVNULL)
    ratios = from_months(kept, rows)
    ratios += against(
        f"from SQLite over {rows}, against {rows // 10}",
        lambda: ours(large, NAMES),
        lambda: ours(small, NAMES),
        LINEAR,
    )
    costs(large, small, rows)
    for made in (large, small, kept):
        fresh(made)
    return ratios


def from_months(kept: Path, rows: int) -> list[pairs.Ratio]:
    """Of a trace with months in files, against DuckDB."""
    what = f"from months over {rows}, against DuckDB"
    return against(what, lambda: ours(kept, NAMES), lambda: rival(kept), RIVAL)


def trace(rows: int, folder: Path, spacing: int) -> Path:
    """A trace of so many rows, without files of months."""
    text, db = folder / f"sacct-{rows}-{spacing}.txt", fresh(folder / f"reports-{rows}.db")
    subprocess.run(
        adminkit("import", sample.write(text, rows, spacing=spacing), "--db", db),
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    text.unlink()
    sample.add_machine(db, spacing)
    return db


def costs(large: Path, small: Path, rows: int) -> None:
    """What each report and the page take from SQLite: CPU over both traces, and the peak of memory over the larger."""
    for spec in SPECS:
        mine, other = (ours(db, (spec.name,)) for db in (large, small))
        print(
            _cost(spec.name, mine["spent"][spec.name], other["spent"][spec.name], mine["megabytes"], rows), flush=True
        )
    window = ("--since", f"@{sample.START}", "--until", f"@{sample.START + 365 * sample.DAY}")
    mine_page, other_page = (
        pairs.cost(adminkit("report", "all", "--db", db, "--html", f"{db}.html", *window)) for db in (large, small)
    )
    print(_cost("the page of all", mine_page[0], other_page[0], mine_page[1] / 2**20, rows), flush=True)


def _cost(name: str, seconds: float, tenth: float, megabytes: float, rows: int) -> str:
    target = f", target {MEMORY} MB {'met' if megabytes <= MEMORY else 'MISSED'}" if rows == 10_000_000 else ""
    return (
        f"{name}: from SQLite over {rows}: {seconds:.2f} s of CPU, {seconds / tenth:.1f} times a tenth of the jobs,"
        f" peak {megabytes:.0f} MB{target}"
    )


def ours(db: Path, names: Sequence[str]) -> dict[str, Any]:
    return _spent("tests.bench.report_once", str(db), *names)


def rival(db: Path) -> dict[str, Any]:
    return _spent("tests.bench.rival_reports", f"{db}.months/*/*/run.parquet", *NAMES)


def _spent(module: str, *words: str) -> dict[str, Any]:
    one = {**os.environ, "ADMINKIT_MONTHS_THREADS": "1"}
    done = subprocess.run([sys.executable, "-m", module, *words], check=True, capture_output=True, text=True, env=one)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def against(what: str, mine: Any, theirs: Any, target: float) -> list[pairs.Ratio]:
    """A ratio for all reports in one process, and a line for each."""
    told: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for number in range(pairs.PAIRS):
        sides = [mine, theirs] if number % 2 == 0 else [theirs, mine]
        one, other = (side() for side in sides)
        told.append((one, other) if number % 2 == 0 else (other, one))
    ratios = []
    for name in (*told[0][0]["spent"], *_SUMS):
        seconds = [[_SUMS[name](side) if name in _SUMS else side["spent"][name] for side in pair] for pair in told]
        mine_of, theirs_of = zip(*seconds, strict=True)
        ratio = pairs.Ratio(f"{name}: {what}", mine_of, theirs_of, target, at_most=True)
        print(ratio.line(), flush=True)
        ratios.append(ratio)
    for place, side in enumerate(("ours", "theirs")):
        last = told[-1][place]
        parts = ", ".join(f"{part} {last[part]:.2f} s" for part in ("python", "modules", "opening", "drawing"))
        print(f"  {side}: {parts}, peak {last['megabytes']:.0f} MB", flush=True)
    return ratios
