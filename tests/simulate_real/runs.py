"""What a run of a workload on a real Slurm left, and its file: tests/data/simulate/ROW-WORKLOAD-RUN.csv."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.matrix.rows import ROOT
from tests.support import run_file

DATA: Final = ROOT / "tests/data/simulate"


@dataclass(frozen=True, slots=True)
class Row:
    """One job as slurmctld had it in the end. Seconds are counted from the run's beginning."""

    number: int
    submit: int
    eligible: int
    start: int
    end: int
    state: str
    priority: int  # at first
    by: str  # which loop started it, main or backfill
    nodes: str  # as Slurm writes them


@dataclass(frozen=True, slots=True)
class Run:
    """`head` has commit, release, workload, digest, date, what sdiag counted and the like."""

    head: Mapping[str, str]
    rows: tuple[Row, ...]

    @property
    def workload(self) -> str:
        return self.head["workload"]

    @property
    def release(self) -> str:
        """As the simulator has it: 2605."""
        year, month = self.head["release"].split(".")[:2]
        return f"{year}{month}"


def text(run: Run) -> str:
    """The text of its file."""
    return run_file.text(run.head, run.rows, Row)


def parse(words: str) -> Run:
    """The run of a file's text; ValueError for another text."""
    return Run(*run_file.parse(words, Row))


def load(folder: Path = DATA) -> list[Run]:
    """Every run that was kept, in the order of the files' names."""
    return [parse(path.read_text()) for path in sorted(folder.glob("*.csv"))]
