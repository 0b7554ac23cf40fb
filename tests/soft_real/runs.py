"""What one run of a day left, and its file: tests/data/soft_real/SEED-ARM.csv, -2 of a second pair, then -default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.matrix.rows import ROOT
from tests.support import run_file

DATA: Final = ROOT / "tests/data/soft_real"
ARMS: Final = ("off", "on")
#: Of soft limits: the first are those of files that name none.
SETTINGS: Final = ("open", "default")


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
    """`head` has seed, arm, settings, digest, release, commit, date, what the guard did and what sdiag counted."""

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
    def settings(self) -> str:
        return self.head.get("settings", SETTINGS[0])

    @property
    def arm(self) -> str:
        return self.head["arm"]


def name(seed: int, arm: str, number: int, settings: str) -> str:
    """Of a run's file."""
    words = [str(seed), arm, str(number) if number > 1 else "", settings if settings != SETTINGS[0] else ""]
    return "-".join(filter(None, words)) + ".csv"


def text(run: Run) -> str:
    """The text of its file."""
    return run_file.text(run.head, run.rows, Row)


def parse(words: str) -> Run:
    """The run of a file's text; ValueError for another text."""
    return Run(*run_file.parse(words, Row))


def load(folder: Path = DATA) -> list[Run]:
    """Every run that was kept, by settings, pair and seed, off before on."""
    found = (parse(path.read_text()) for path in folder.glob("*.csv"))
    return sorted(found, key=lambda run: (SETTINGS.index(run.settings), run.number, run.seed, run.arm))
