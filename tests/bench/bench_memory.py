"""Peak memory of `adminkit report accuracy`."""

from __future__ import annotations

from pathlib import Path

from tests.bench import pairs
from tests.bench.bench_report import trace
from tests.bench.tools import adminkit

LIMITS = {1_000_000: 250, 10_000_000: 400}


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    peak = pairs.peak_memory(adminkit("report", "accuracy", "--db", trace(rows, folder))) / 2**20
    limit = LIMITS.get(rows)
    said = f"target < {limit} MB {'met' if limit and peak < limit else 'MISSED'}" if limit else "no target"
    print(f"peak memory of report accuracy over {rows} rows: {peak:.0f} MB, {said}")
    return []
