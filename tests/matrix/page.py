"""The table at the end of a run, and docs/releases.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.matrix.results import Cell, Table
from tests.matrix.rows import ROOT, ROWS, suites

PAGE: Final = ROOT / "docs/releases.md"
_NEVER: Final = "-"


def text(table: Table) -> str:
    """A line for each suite, a column for each row; then each reason."""
    grounds = {one.row: one.slurm for one in table.grounds}
    head = ["suite", *(f"{row.name} {grounds.get(row.name, row.slurm)}" for row in ROWS)]
    lines = [head, *([name, *(_text(table, row.name, name) for row in ROWS)] for name in _suites(table))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    drawn = ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*drawn, "", *(f"{cell.row} {cell.suite}: {said}" for cell, said in _reasons(table))])


def cell_text(cell: Cell) -> str:
    """passed 12, skipped 1 (34 s)"""
    if cell.state == "not run":
        return "not run"
    words = [f"{name} {count}" for name, count in _counts(cell) if count]
    return f"{', '.join(words)} ({cell.seconds} s)"


def write(table: Table, path: Path = PAGE) -> None:
    path.write_text(markdown(table))


def markdown(table: Table) -> str:
    raise NotImplementedError


def _counts(cell: Cell) -> tuple[tuple[str, int], ...]:
    return (("passed", cell.passed), ("failed", cell.failed), ("skipped", cell.skipped))


def _text(table: Table, row: str, suite: str) -> str:
    cell = table.cell(row, suite)
    return _NEVER if cell is None else cell_text(cell)


def _suites(table: Table) -> list[str]:
    """The suites there are, in their order, then those that only an earlier run had."""
    there = [suite.name for suite in suites()]
    return [*there, *sorted({cell.suite for cell in table.cells} - set(there))]


def _reasons(table: Table) -> Iterator[tuple[Cell, str]]:
    for row in ROWS:
        for suite in _suites(table):
            cell = table.cell(row.name, suite)
            if cell is not None:
                yield from ((cell, said) for said in cell.reasons)
