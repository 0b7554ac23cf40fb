"""What one run of a day left, and its files: tests/data/extend_real/SEED-RISK-ARM.csv, with extending -acts too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.extend_real.arms import ARMS
from tests.matrix.rows import ROOT
from tests.support import run_file

DATA: Final = ROOT / "tests/data/extend_real"
_ACTS: Final = "-acts"


@dataclass(frozen=True, slots=True)
class Row:
    """One run of a job, as slurmdbd had it in the end. Moments are seconds from the beginning."""

    number: int  # of the job
    attempt: int  # 1, and one more for each time that it was put back
    eligible: int
    start: int
    end: int
    state: str
    nodes: str  # as Slurm writes them
    limit: int  # of the job in the end, seconds
    promised: int | None  # the start that Slurm first planned while the job was the head of its queue; of attempt 1


@dataclass(frozen=True, slots=True)
class Act:
    """A line of the action log: what was given, taken back or refused. `behind`: a job's number."""

    at: int
    did: str
    number: int
    was: int | None
    becomes: int | None
    why: str
    behind: int | None
    starts: int | None  # when that job was planned to start


@dataclass(frozen=True, slots=True)
class Run:
    """`head` has seed, risk, arm, digest, release, commit, date, what sdiag counted and how busy the host was."""

    head: Mapping[str, str]
    rows: tuple[Row, ...]
    acts: tuple[Act, ...] = ()

    @property
    def seed(self) -> int:
        return int(self.head["seed"])

    @property
    def risk(self) -> int:
        """Percent."""
        return int(self.head["risk"])

    @property
    def arm(self) -> str:
        return self.head["arm"]


def name(seed: int, risk: int, arm: str) -> str:
    """Of a run's file."""
    return f"{seed}-{risk}-{arm}.csv"


def save(run: Run, folder: Path) -> None:
    """Both files."""
    called = name(run.seed, run.risk, run.arm)
    folder.mkdir(parents=True, exist_ok=True)
    if ARMS[run.arm]:
        (folder / called.replace(".csv", f"{_ACTS}.csv")).write_text(run_file.text({}, run.acts, Act))
    (folder / called).write_text(run_file.text(run.head, run.rows, Row))


def read(path: Path) -> Run:
    """The run of a file; ValueError for another text."""
    head, rows = run_file.parse(path.read_text(), Row)
    acts = path.with_name(path.name.replace(".csv", f"{_ACTS}.csv"))
    return Run(head, rows, run_file.parse(acts.read_text(), Act)[1] if acts.exists() else ())


def load(folder: Path = DATA) -> list[Run]:
    """Every run that was kept, by risk, seed and arm."""
    found = [read(path) for path in folder.glob("*.csv") if not path.stem.endswith(_ACTS)]
    return sorted(found, key=lambda run: (run.risk, run.seed, list(ARMS).index(run.arm)))
