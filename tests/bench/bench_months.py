"""Months in Parquet: what writing them costs, and what keeping them adds to an import of later jobs."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from tests.bench import pairs, sample
from tests.bench.bench_reports import SPACING, trace
from tests.bench.tools import adminkit, fresh

#: Seconds of processor time that a million runs may take to write.
WRITING = 10.0
#: Of an import with months kept, against one without.
KEEPING = 1.05


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    spacing = SPACING[-1]
    none = trace(rows, folder, spacing)
    kept, ours = fresh(folder / "months.db"), folder / "ours.db"
    shutil.copy(none, kept)
    seconds = pairs.processor(adminkit("trace", "months", "--write", "--db", kept))
    target = WRITING * rows / 1_000_000
    print(
        f"writing the months of {rows} runs: {seconds:.1f} s of processor time, target {target:g} s"
        f" {'met' if seconds <= target else 'MISSED'}",
        flush=True,
    )
    later = sample.write(folder / f"sacct-later-{rows}.txt", rows + rows // 10, spacing=spacing)

    def load(into: Path) -> float:
        fresh(ours)
        shutil.copy(into, ours)
        if (files := into.with_name(f"{into.name}.months")).is_dir():
            shutil.copytree(files, ours.with_name(f"{ours.name}.months"))
        return pairs.processor(adminkit("import", later, "--db", ours))

    what = f"import of {rows // 10} later jobs with {rows} known ones: months kept, against none"
    ratio = pairs.compare(what, partial(load, kept), partial(load, none), KEEPING, at_most=True)
    for made in (none, kept, ours, later):
        fresh(made)
    return [ratio]
