"""`python -m tests.matrix [--row ROW]… [--suite SUITE]…`: run cells of the matrix, then print its table.

What ran goes into tests/data/matrix.json and docs/releases.md with the commit, what ran earlier stays there.
"""

from __future__ import annotations

import argparse
import signal
import sys

from tests.matrix import engine, page, results
from tests.matrix.results import Table
from tests.matrix.rows import ROWS, suites


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("--row", action="append", choices=[row.name for row in ROWS], help="default: every row")
    parser.add_argument("--suite", action="append", choices=[suite.name for suite in suites()], help="default: all")
    parser.add_argument("--table", action="store_true", help="print the table of earlier runs and run nothing")
    parser.add_argument("--take", metavar="REVISION", help="take the cells that were run there, and run nothing")
    options = parser.parse_args(argv)
    # Trap: a killed client leaves its container, and a Slurm in it.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if options.take:
        _take(options.take)
    elif not options.table:
        _run(options.row, options.suite)
    table = results.load()
    print(page.text(table))
    return int(any(cell.state == "failed" for cell in table.cells))


def _run(rows: list[str] | None, wanted: list[str] | None) -> None:
    """Every cell goes into the file as soon as it is known."""
    for row in ROWS:
        if rows and row.name not in rows:
            continue
        chosen = [suite for suite in suites() if row.takes(suite.name) and suite.name in (wanted or [suite.name])]
        print(f"== {row.name}: image", file=sys.stderr, flush=True)
        try:
            engine.image(row)
            ground = engine.ground(row)
            _keep(results.load().with_ground(ground))
        except engine.NotRun as why:
            for suite in chosen:
                _keep(results.load().with_cell(results.not_run(row.name, suite.name, results.commit(), str(why))))
            continue
        for suite in chosen:
            try:
                cell = engine.run(row, suite, results.commit())
            except engine.NotRun as why:
                cell = results.not_run(row.name, suite.name, results.commit(), str(why))
            print(
                f"== {row.name}: {suite.name}: {page.cell_text(cell)} ({cell.seconds} s)", file=sys.stderr, flush=True
            )
            _keep(results.load().with_cell(cell))


def _take(revision: str) -> None:
    """Trap: in the midst of a merge the file may hold both sides, so ours is that of the last commit."""
    base = results.common(revision)
    _keep(results.taken(results.at("HEAD"), results.at(base), results.at(revision)))


def _keep(table: Table) -> None:
    """File and page together: a suite that is copied next compares them."""
    results.save(table)
    page.write(table)


if __name__ == "__main__":
    sys.exit(main())
