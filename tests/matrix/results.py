"""What the cells of the matrix said, and the file they are kept in."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from tests.matrix.rows import ROOT, suites

FILE: Final = ROOT / "tests/data/matrix.json"
#: Written by the runs themselves, so they do not count as changes to what is run.
_OURS: Final = tuple(
    f":!{path}" for name, data in (("releases", "matrix"), ("reliability", "faults"))
    for path in (f"docs/{name}.md", f"tests/data/{data}.json")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """One suite on one row. `reasons`: why tests were skipped or failed, with how many for each.

    `state` is passed, failed or "not run"; a suite that did not run has its only reason there.
    """

    row: str
    suite: str
    commit: str
    state: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: int = 0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ground:
    """What a row's container holds, as its own programs say it."""

    row: str
    slurm: str
    system: str
    python: str
    lua: str
    cgroups: str


@dataclass(frozen=True, slots=True)
class Table:
    grounds: tuple[Ground, ...] = ()
    cells: tuple[Cell, ...] = ()

    def cell(self, row: str, suite: str) -> Cell | None:
        return next((one for one in self.cells if (one.row, one.suite) == (row, suite)), None)

    def with_cell(self, new: Cell) -> Table:
        """`new` in the place of the one before."""
        kept = (one for one in self.cells if (one.row, one.suite) != (new.row, new.suite))
        return Table(self.grounds, (*kept, new))

    def with_ground(self, new: Ground) -> Table:
        return Table((*(one for one in self.grounds if one.row != new.row), new), self.cells)


def from_junit(text: str, row: str, suite: str, commit: str, seconds: float) -> Cell:
    """pytest's --junitxml. No test at all is "not run": a suite that vanished is never passed."""
    cases = list(ElementTree.fromstring(text).iter("testcase"))
    wrong = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    left = [case for case in cases if case.find("skipped") is not None]
    good = len([case for case in cases if case not in wrong and case not in left])
    state = "failed" if wrong else "passed" if good else "not run"
    said = [f"failed: {case.get('name')}" for case in wrong] + _counted(_reason(case) for case in left)
    return Cell(row, suite, commit, state, good, len(wrong), len(left), round(seconds), tuple(said or _nothing(state)))


def not_run(row: str, suite: str, commit: str, reason: str) -> Cell:
    return Cell(row, suite, commit, "not run", reasons=(reason,))


def commit() -> str:
    """The commit that is run, with a + where files differ from it."""
    head = _git("rev-parse", "--short=10", "HEAD")
    return head + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", ".", *_OURS) else "")


def taken(ours: Table, base: Table, theirs: Table) -> Table:
    """Ours with every cell that they ran since `base`."""
    for cell in theirs.cells:
        if cell != base.cell(cell.row, cell.suite):
            ours = ours.with_cell(cell)
    return ours


def load(path: Path = FILE) -> Table:
    """An empty table where nothing was run yet."""
    return parse(path.read_text()) if path.exists() else Table()


def at(revision: str) -> Table:
    """What a commit has."""
    return parse(_git("show", f"{revision}:{FILE.relative_to(ROOT)}"))


def common(revision: str) -> str:
    """The commit that this one and another go back to."""
    return _git("merge-base", "HEAD", revision)


def parse(text: str) -> Table:
    """The text of the file."""
    raw = json.loads(text)
    cells = (
        Cell(row, suite, **{**one, "reasons": tuple(one["reasons"])})
        for suite, rows in raw["cells"].items()
        for row, one in rows.items()
    )
    return Table(tuple(Ground(row, **one) for row, one in raw["grounds"].items()), tuple(cells))


def save(table: Table, path: Path = FILE) -> None:
    """A line for each cell, the rows of a suite together, and a place for each suite that there is: two who run
    different suites change neither the same line nor neighbours."""
    names = sorted({suite.name for suite in suites()} | {one.suite for one in table.cells})
    of = {name: [one for one in table.cells if one.suite == name] for name in names}
    cells = {name: {one.row: _without(one, "row", "suite") for one in rows} for name, rows in of.items()}
    drawn = ",\n".join(f"  {json.dumps(name)}: {_lines(rows, 3)}" for name, rows in cells.items())
    grounds = _lines({one.row: _without(one, "row") for one in table.grounds}, 2)
    fresh = path.with_suffix(".new")
    fresh.write_text(f'{{\n "grounds": {grounds},\n "cells": {{\n{drawn}\n }}\n}}\n')
    fresh.replace(path)


def _without(one: Cell | Ground, *names: str) -> dict[str, Any]:
    return {name: value for name, value in asdict(one).items() if name not in names}


def _lines(things: Mapping[str, object], depth: int) -> str:
    """An object of JSON with a line for each of its members."""
    lines = (f"{' ' * depth}{json.dumps(name)}: {json.dumps(things[name])}" for name in sorted(things))
    return "{\n" + ",\n".join(lines) + "\n" + " " * (depth - 1) + "}"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _reason(case: ElementTree.Element) -> str:
    found = case.find("skipped")
    said = "" if found is None else found.get("message") or ""
    return re.sub(r"\s+", " ", said) or "no reason given"


def _counted(reasons: Iterable[str]) -> list[str]:
    found: dict[str, int] = {}
    for reason in reasons:
        found[reason] = found.get(reason, 0) + 1
    return [f"{count} skipped: {reason}" for reason, count in found.items()]


def _nothing(state: str) -> tuple[str, ...]:
    return ("it holds no test for this row",) if state == "not run" else ()
