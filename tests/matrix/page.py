"""The table at the end of a run, and docs/releases.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.matrix.differences import DIFFERENCES
from tests.matrix.results import Cell, Table
from tests.matrix.rows import ROOT, ROWS

PAGE: Final = ROOT / "docs/releases.md"
_FIRST: Final = ("build", "packages", "installed", "unit")
_HEAD: Final = """# Releases of Slurm

<!-- Made by `make matrix` and `make docs` from tests/data/matrix.json and tests/matrix/; do not edit. -->

adminkit is run on each Slurm below with the real daemons, every suite in a container of its own, plugins built against
that Slurm's headers. `make matrix` repeats it ([CONTRIBUTING](../CONTRIBUTING.md)). A number counts tests; "not run"
has its reason below, and `-` was never tried.
"""

_NO_V2: Final = """cgroup v2: not run, as the host of this run offers v1 only.
"""
_PYSLURM: Final = """## pyslurm

adminkit needs none: scontrol tells the same. Where one is installed it is used for the local cluster's queues, if its
number is that of the Slurm that is there: pyslurm 25.11.2 goes with Slurm 25.11 and no other, as it is compiled against
that release's library. PyPI has 25.11.0 and 25.11.2, and 17.11 and 18.8 for Slurms of those years; others (22.5, 23.11,
24.11, 25.5, 26.5) are tags of its source, to be built on the host. `adminkit doctor` says which is used, and why one is
not. A test compares both ways wherever one can be imported; "skipped" above says that none could.
"""


def text(table: Table) -> str:
    """A line for each suite, a column for each row; then each reason."""
    lines = [["suite", *_names(table)], *_lines(table)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    drawn = ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*drawn, "", *(f"{cell.row} {cell.suite}: {said}" for cell, said in _reasons(table))])


def cell_text(cell: Cell) -> str:
    """12 passed, 1 skipped"""
    counts = ((cell.failed, "FAILED"), (cell.passed, "passed"), (cell.skipped, "skipped"))
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "not run"


def markdown(table: Table) -> str:
    """docs/releases.md."""
    parts = [_HEAD, "## What was run\n", _grounds(table), _drawn(["suite", *_names(table)], _lines(table))]
    commits = sorted({cell.commit for cell in table.cells})
    minutes = sum(cell.seconds for cell in table.cells) / 60
    parts.append(
        f"Run on commit {', '.join(commits)}, in {minutes:.0f} minutes on two cores; a `+` had changes not yet in it.\n"
    )
    if not any(one.cgroups == "v2" for one in table.grounds):
        parts.append(_NO_V2)
    reasons = [f"- {cell.row}, {cell.suite}, on {cell.commit}: {said}" for cell, said in _reasons(table)]
    parts.append("\n".join(reasons or ["Nothing was skipped."]) + "\n")
    parts.append("## Differences\n\nWhat adminkit minds, each in one place, with the release it came in.\n")
    rows = ([one.since, one.what, f"`{one.place}`"] for one in DIFFERENCES)
    return "\n".join([*parts, _drawn(["since", "what", "minded in"], rows), _PYSLURM])


def write(table: Table, path: Path = PAGE) -> None:
    path.write_text(markdown(table))


def _names(table: Table) -> list[str]:
    grounds = {one.row: one.slurm for one in table.grounds}
    return [f"{row.name} {grounds.get(row.name, row.slurm)}" for row in ROWS]


def _lines(table: Table) -> list[list[str]]:
    found = []
    for suite in _suites(table):
        cells = [table.cell(row.name, suite) for row in ROWS]
        found.append([suite, *("-" if cell is None else cell_text(cell) for cell in cells)])
    return found


def _grounds(table: Table) -> str:
    about = {row.name: row.about for row in ROWS}
    order = [row.name for row in ROWS]
    grounds = sorted(table.grounds, key=lambda one: order.index(one.row))
    rows = ([one.row, one.slurm, about[one.row], one.python, one.lua, one.cgroups] for one in grounds)
    return _drawn(["row", "Slurm", "from", "Python", "Lua", "cgroups"], rows)


def _drawn(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def _suites(table: Table) -> list[str]:
    """The suites that were run, those without a Slurm first."""
    names = {cell.suite for cell in table.cells}
    return [*(name for name in _FIRST if name in names), *sorted(names - set(_FIRST))]


def _reasons(table: Table) -> Iterator[tuple[Cell, str]]:
    for row in ROWS:
        for suite in _suites(table):
            cell = table.cell(row.name, suite)
            if cell is not None:
                yield from ((cell, said) for said in cell.reasons)
