"""The table "Where it runs" of docs/design.md, as tests read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_WRITES: Final = re.compile(r"`([^`]+)` (\d{4})(?: (\w+):(\w+))?")


@dataclass(frozen=True, slots=True)
class Writes:
    """A file or folder of the table: mode, and owner and group where they are named there."""

    path: str
    mode: int
    owner: str | None = None
    group: str | None = None


def lines(text: str | None = None) -> list[list[str]]:
    """The cells of every line: host, who, what, writes."""
    text = (ROOT / "docs/design.md").read_text() if text is None else text
    part = text.partition("## Where it runs")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    return cells[2:]


def writes() -> dict[str, Writes]:
    """Every file and folder of the table, by its path."""
    found = (_WRITES.findall(cells[3]) for cells in lines())
    every = [
        Writes(path, int(mode, 8), owner or None, group or None) for row in found for path, mode, owner, group in row
    ]
    return {one.path: one for one in every}
