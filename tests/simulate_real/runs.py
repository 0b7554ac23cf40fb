"""What a run of a workload on a real Slurm left, and its file: tests/data/simulate/ROW-WORKLOAD-RUN.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from tests.matrix.rows import ROOT

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
    """A comment of a line for each word of the head, then the table."""
    out = io.StringIO()
    out.writelines(f"# {key}: {value}\n" for key, value in run.head.items())
    table = csv.DictWriter(out, [field.name for field in fields(Row)], lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(row) for row in run.rows)
    return out.getvalue()


def parse(words: str) -> Run:
    """The text of a file; ValueError where it is none."""
    lines = words.splitlines()
    head = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    table = csv.DictReader(line for line in lines if not line.startswith("# "))
    numbers = {field.name for field in fields(Row) if field.type == "int"}
    rows = ({name: int(cell) if name in numbers else cell for name, cell in line.items()} for line in table)
    return Run(head, tuple(Row(**row) for row in rows))  # type: ignore[arg-type]


def load(folder: Path = DATA) -> list[Run]:
    """Every run that was kept, in the order of the files' names."""
    return [parse(path.read_text()) for path in sorted(folder.glob("*.csv"))]
