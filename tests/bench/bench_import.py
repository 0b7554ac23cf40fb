"""Import, as safe as in production, against the sqlite3 shell's .import into an untyped table."""

from __future__ import annotations

import shutil
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
    check_killed(source, folder)
    return results
