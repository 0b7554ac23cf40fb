"""Import, as safe as in production, against the sqlite3 shell's .import into an untyped table."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from tests.bench import pairs, sample
from tests.bench.tools import adminkit, check_killed, fresh, shell


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    source = sample.write(folder / f"sacct-{rows}.txt", rows)
    ours, theirs = folder / "ours.db", folder / "theirs.db"
    base = folder / "base.db"
    loading = shell(theirs, ".separator |", f".import {source} job")

    def shell_import() -> float:
        fresh(theirs)
        return pairs.timed(loading, cores=pairs.CORES)

    def first() -> float:
        return pairs.timed(adminkit("import", source, "--db", fresh(ours)), cores=pairs.CORES)

    results = [pairs.compare(f"first import of {rows} rows, against .import", first, shell_import, 1.3)]

    other = sample.write(folder / "sacct-1000.txt", 1000)
    fresh(base)
    pairs.timed(adminkit("import", other, "--db", base))

    def into() -> float:
        fresh(ours)
        shutil.copy(base, ours)
        return pairs.timed(adminkit("import", source, "--db", ours), cores=pairs.CORES)

    results.append(pairs.compare("import into an existing trace, against .import", into, shell_import, 1.1))

    def again() -> float:
        return pairs.timed(adminkit("import", source, "--db", ours), cores=pairs.CORES)

    results.append(pairs.compare("the same file again (nothing changed), against .import", again, shell_import, 2.0))
    results += keeping_rollups(source, base, folder)
    check_killed(source, folder)
    return results


def keeping_rollups(source: Path, base: Path, folder: Path) -> list[pairs.Ratio]:
    """What keeping rollups adds to the processor time of an import: into a trace without a run, and into `base`."""
    ours, results = folder / "ours.db", []
    for what, target in (("first import", 1.1), ("import into an existing trace", 1.15)):
        none, kept = fresh(folder / "none.db"), fresh(folder / "kept.db")
        shutil.copy(base, none)
        if what == "first import":
            pairs.timed(shell(none, "DELETE FROM job", "VACUUM"))
        shutil.copy(none, kept)
        pairs.timed(adminkit("trace", "rollups", "--rebuild", "--db", kept))

        def load(into: Path) -> float:
            fresh(ours)
            shutil.copy(into, ours)
            return pairs.processor(adminkit("import", source, "--db", ours))

        ratio = pairs.compare(
            f"keeping rollups, against keeping none: {what}",
            partial(load, kept),
            partial(load, none),
            target,
            at_most=True,
        )
        print(f"  least of {len(ratio.ours)}: {min(ratio.ours):.2f} s, {min(ratio.theirs):.2f} s, processor time")
        results.append(ratio)
    return results
