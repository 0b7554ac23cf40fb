"""What one run of a day left, and its file: tests/data/soft_real/SEED-ARM.csv, -2 of a second pair."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from tests.matrix.rows import ROOT

DATA: Final = ROOT / "tests/data/soft_real"
ARMS: Final = ("off", "on")


@dataclass(frozen=True, slots=True)
class Row:
    """One job as slurmctld had it in the end. Seconds; moments are counted from the run's beginning."""

    number: int
    submit: int
    eligible: int
    start: int
    end: int
    state: str
    priority: int  # at first
    by: str  # which loop started it, main or backfill
    nodes: str  # as Slurm writes them
    limit: int  # in the end
    soft: int | None  # TimeMin
    promised: int | None  # the start that Slurm first planned for it while it was the head of the queue


@dataclass(frozen=True, slots=True)
class Run:
    """`head` has seed, arm, digest, release, commit, date, what the guard did and what sdiag counted."""

    head: Mapping[str, str]
    rows: tuple[Row, ...]

    @property
    def seed(self) -> int:
        return int(self.head["seed"])

    @property
    def number(self) -> int:
        """2 for a run of the day's second pair."""
        return int(self.head.get("number", "1"))

    @property
    def arm(self) -> str:
        return self.head["arm"]


def name(seed: int, arm: str, number: int) -> str:
    """Of a run's file."""
    return f"{seed}-{arm}{'' if number == 1 else f'-{number}'}.csv"


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
    kinds = {field.name: str(field.type) for field in fields(Row)}
    return Run(head, tuple(Row(**{name: _cell(kinds[name], cell) for name, cell in line.items()}) for line in table))  # type: ignore[arg-type]


def _cell(kind: str, cell: str) -> int | str | None:
    if kind == "str":
        return cell
    return None if cell == "" and kind.endswith("None") else int(cell)


def load(folder: Path = DATA) -> list[Run]:
    """Every run that was kept, by pair and seed, off before on."""
    found = (parse(path.read_text()) for path in folder.glob("*.csv"))
    return sorted(found, key=lambda run: (run.number, run.seed, run.arm))
