"""What each fault did, counted, and the file it is kept in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tests.matrix.rows import ROOT

FILE: Final = ROOT / "tests/data/faults.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was counted after a fault was healed, and the one line that told of it.

    `runs` is how many sacct lists; `lost` those that the trace lacks, `doubled` those it has besides, `different` those
    with another value in any column. `letters` is how many the mailbox holds, `unsent` those missing, `twice` those
    that are there again without the trace saying that they might be.
    """

    runs: int = 0
    lost: int = 0
    doubled: int = 0
    different: int = 0
    letters: int | None = None
    unsent: int = 0
    twice: int = 0
    line: str = ""
    where: str = ""
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return not (self.lost or self.doubled or self.different or self.unsent or self.twice)


@dataclass(frozen=True, slots=True)
class Result:
    """One fault on one release. `reason` says why it failed."""

    release: str
    fault: str
    slurm: str
    commit: str
    state: str  # passed, failed
    seconds: int
    outcome: Outcome
    reason: str = ""


def count(theirs: Mapping[tuple[int, int], object], ours: Mapping[tuple[int, int], object]) -> Outcome:
    """sacct's runs against the trace's, by (JobIDRaw, Submit)."""
    both = theirs.keys() & ours.keys()
    return Outcome(
        runs=len(theirs),
        lost=len(theirs.keys() - ours.keys()),
        doubled=len(ours.keys() - theirs.keys()),
        different=sum(theirs[key] != ours[key] for key in both),
    )


def load(path: Path = FILE) -> list[Result]:
    """Nothing where nothing was run yet."""
    if not path.exists():
        return []
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return [Result(**{**one, "outcome": _outcome(one["outcome"])}) for one in found]


def keep(new: Result, path: Path = FILE) -> list[Result]:
    """Put `new` in the place of the one before; all there are."""
    kept = [one for one in load(path) if (one.release, one.fault) != (new.release, new.fault)]
    found = sorted([*kept, new], key=lambda one: (one.release, one.fault))
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False) + "\n")
    fresh.replace(path)
    return found


def _outcome(raw: Mapping[str, Any]) -> Outcome:
    return Outcome(**{**raw, "notes": tuple(raw["notes"])})
